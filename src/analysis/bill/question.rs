//! What is compared, and how.

use super::key::By;
use crate::analysis::rows::CostBasis;
use crate::analysis::selection::Scope;
use crate::prices::Catalog;
use crate::store::frames::{sessions, turns};

/// The tables that the comparison reads.
pub const TABLES: &[&str] = &[sessions::TABLE, turns::TABLE];

/// What is compared, and how.
#[derive(Debug)]
pub struct Question<'a> {
    /// By what both sides are grouped; `None` for the day and the model, as far as the bill states them.
    pub by: Option<Vec<By>>,
    /// The share by which two numbers may differ.
    pub tolerance: f64,
    /// The number of days before and after a day that may explain a difference.
    pub delay: u16,
    /// Only lines of the bill with this key. `*` matches any text.
    pub key: Option<&'a str>,
    /// Only lines of the bill with this project, workspace or team.
    pub workspace: Option<&'a str>,
    /// Which cost of the archive is compared.
    pub cost: CostBasis,
    /// The rows of the ledger. Its bounds of time, as whole days of UTC, and its model apply to the bill, too. Without bounds the
    /// period is that of the bill.
    pub scope: &'a Scope,
    /// For the names of models, and who sells them.
    pub catalog: &'a Catalog,
}
