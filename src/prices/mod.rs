//! The price of a response: the rates of its model, at its time, multiplied by its tokens. See docs/prices.md.
//!
//! ```text
//! catalog       all models by name: the built-in table and a user's own
//! entry         one model at one provider
//! rates, clock  prices by kind of token, day, hour and size
//! share, tier   prices of service tiers, as shares of the standard prices
//! spelling      how names are compared, and the names of providers
//! model_name    removes the parts of a logged name that do not belong to the model
//! canonical     a logged model -> the one name for all spellings of the model
//! lookup        a logged provider and model -> the models of the catalog, and by which rules
//! rule          how a logged name led to a model
//! pricing       tokens of a model -> US dollars
//! import        a user's table -> entries: litellm, genai_prices, an own TOML; validate checks them. `scripts/make_catalog` makes the
//!               built-in table with the same functions
//! ```
//!
//! Pricing performs no I/O and never guesses: a name that no rule leads to a model has no price.

mod canonical;
mod catalog;
mod clock;
mod entry;
mod genai_prices;
mod import;
mod litellm;
mod lookup;
mod model_name;
mod pricing;
mod rates;
mod rule;
mod share;
mod spelling;
mod tier;
mod validate;

pub use catalog::Catalog;
pub use clock::Clock;
pub use entry::Entry;
pub use import::{ImportError, Table, TableKind};
pub use lookup::Found;
pub use model_name::{maker_of, without_host};
pub use pricing::{Priced, Pricer, Request, Terms, Unpriced};
pub use rates::{LongContext, Period, Rates};
pub use rule::Rule;
pub use share::Share;
pub use spelling::fold;
