//! `agentlogs mcp`: a server of the Model Context Protocol over standard input and output. It answers questions about an archive, and
//! changes nothing. docs/mcp.md describes it.
//!
//! ```text
//! run        the commands
//! server     the loop: lines of JSON-RPC -> answers
//! methods    the methods of the protocol
//! tools      the list of tools with their arguments
//! call       a call of a tool, within its time
//! arguments  the arguments of a call
//! paging     the size of an answer, and its cursor
//! answer     rows -> text of a limited size, with a cursor
//! data       the tables, without text unless it is allowed
//! overall    tools about many sessions
//! single     tools about one session
//! resources  documents that a client can read
//! install    the settings of clients
//! merge      a setting is added to a file
//! ```

mod answer;
mod arguments;
mod call;
mod data;
mod install;
mod merge;
mod methods;
mod overall;
mod paging;
mod resources;
mod run;
mod server;
mod single;
mod tools;

pub use run::{run, skill};
