//! Formats of OpenTelemetry.

pub(crate) mod export;
