//! Reconciles the sessions of all files into tables, and computes costs. docs/accounting.md has the rules.
//!
//! ```text
//! reconcile        the steps in their order
//! links            ids by which files can share sessions or responses
//! grouping         connected components of files that share links
//! part             what one file contains of one session
//! duplicates       copies of files and of recordings
//! joins            sessions that appear under several ids or runtimes
//! precedence       summaries of runs, programs that run another agent
//! migrated         sessions that an earlier version of the runtime began
//! views            several views of one session: the most detailed one provides the rows
//! threads          names of responses that forks repeat
//! copied_histories histories that a session copied from another one
//! copied_names     names of responses in other copied histories
//! ownership        responses that several sessions contain
//! event_id         which events are copies of each other
//! merge            the parts of a session -> its rows
//! delegates        turns that another program ran
//! subagent_sums    sums of subagents that have sessions of their own
//! inherited_totals totals that begin with that of another session
//! forked_totals    totals of forks that begin with that of their parent
//! started_agents   turns that agents ran whose sessions are not named
//! metered          requests with all counts, beside logs that leave some out
//! totals           totals that logs state, against the responses
//! parents          which session started which
//! trials           results of trials whose logs are present
//! verdicts         the sessions of imported verdicts
//! costs            prices for the rows
//! trees            sessions with the sessions that they started
//! renumber         removes rows to which others refer by index
//! history          commits of repositories
//! ```

mod copied_histories;
mod copied_names;
pub mod costs;
mod delegates;
mod duplicates;
mod event_id;
mod forked_totals;
mod grouping;
pub mod history;
mod inherited_totals;
mod joins;
mod links;
mod merge;
mod metered;
mod migrated;
mod ownership;
mod parents;
mod part;
mod precedence;
mod reconcile;
mod renumber;
mod started_agents;
mod subagent_sums;
mod threads;
mod totals;
pub mod trees;
mod trials;
mod verdicts;
mod views;

pub use grouping::groups;
pub use links::{distinct, links, links_of};
pub use reconcile::{reconcile, reconcile_into};
pub use verdicts::{NoMatch, Repeated, SessionKey, SessionKeys, Unmatched, find_sessions, find_sessions_in};
