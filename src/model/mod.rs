//! The data that all layers above share: sessions, sources, tables.

mod call;
mod capabilities;
mod cost;
pub mod errors;
mod event;
pub mod health;
pub mod history;
pub mod id_hash;
mod identity;
pub mod known_places;
mod limit;
mod missing;
mod offer;
pub mod places;
pub mod repository;
pub mod retention;
pub mod session;
mod sign;
pub mod source;
pub mod sqlite_schema;
pub mod tables;
mod tokens;
mod total;
pub mod trial;
mod turn;
pub mod unknown;
pub mod verdict;
