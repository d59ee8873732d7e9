//! What a response cost: a price for its model, at its time, times its tokens. See docs/prices.md.
//!
//! ```text
//! catalog   models, names, prices since when; the built-in table and a user's own over it
//! names     a logged provider and model -> a model of the catalog, and by which rules
//! spelling  how names are compared, and the names of providers
//! pricing   tokens of a model -> what they cost
//! import    a user's table: LiteLLM's, genai-prices' or an own TOML -> entries of the catalog
//! ```
//!
//! Pricing does no I/O and never guesses: a name that no rule leads to a model has no price.

mod catalog;
mod import;
mod names;
mod pricing;
mod spelling;

pub use catalog::{Catalog, Clock, Entry, LongContext, Period, Rates, Share};
pub use import::{ImportError, Table, TableKind};
pub use names::{Found, Rule};
pub use pricing::{Priced, Pricer, Request, Terms, Unpriced};
