//! Sessions as traces and metrics of OpenTelemetry, in lines of OTLP's JSON: see docs/otlp.md.
//!
//! ```text
//! export   the sessions of an archive -> lines
//! traces   a session -> its spans
//! metrics  a session -> its metrics
//! tables   the columns that spans are made of
//! span     a span, and its attributes
//! endpoint sends lines to a receiver
//! ```

#[cfg(feature = "cloud")]
mod endpoint;
mod export;
mod metrics;
mod span;
mod tables;
mod traces;

#[cfg(feature = "cloud")]
pub use endpoint::{Endpoint, EndpointError, Sent, Signal};
pub use export::Traces;
