//! The data that all layers above share: sessions, sources, tables.

pub mod errors;
pub mod health;
pub mod name;
pub mod retention;
pub mod session;
pub mod source;
pub mod sqlite_schema;
pub mod tables;
