//! Responses that several sessions contain, because a resume or a fork copied history, belong to one of these sessions:
//! see docs/accounting.md#shared-responses.

mod election;
mod owners;
mod results;
mod shared_responses;
mod transfer;

pub(super) use owners::give_each_response_to_one_session;
