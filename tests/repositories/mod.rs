//! `agentlogs git`: repositories with known histories, whose rows are computed by hand. They are made with gix: the program `git` is
//! not needed.

mod bad_repositories;
pub mod builder;
mod copies;
mod histories;
mod stored;
