//! Reports, comparisons, the dashboard and exports, and how they are printed.

pub mod chart;
pub mod compare;
pub mod dashboard;
pub mod export;
pub mod measure;
pub mod render;
pub mod reports;
