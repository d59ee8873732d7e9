//! The arguments of `prices`.

use std::path::PathBuf;

use clap::Subcommand;

use super::shared::{ArchiveDirectory, DataSource, Printed};

#[derive(Debug, Subcommand)]
pub enum Prices {
    /// List models with the current prices, in US dollars per million tokens
    List {
        /// Only models whose name or provider contains this text
        #[arg(value_name = "TEXT")]
        text: Option<String>,
        #[command(flatten)]
        archive: ArchiveDirectory,
        #[command(flatten)]
        printed: Printed,
    },
    /// Show the model that a name in a log refers to, and the history of its prices
    Show {
        /// The name, as logs contain it
        model: String,
        /// The provider, as logs contain it
        #[arg(long, value_name = "P")]
        provider: Option<String>,
        #[command(flatten)]
        archive: ArchiveDirectory,
        #[command(flatten)]
        printed: Printed,
    },
    /// Show how the cost of a session is computed: tokens times price, turn by turn
    Explain {
        /// The id of the session, or its beginning; `last` is the newest one, 2 the second of `agentlogs sessions`
        session: String,
        #[command(flatten)]
        source: DataSource,
        #[command(flatten)]
        printed: Printed,
    },
    /// Import your own prices into the archive, and recompute its costs
    ///
    /// FILE is the price table of LiteLLM (`model_prices_and_context_window.json`) or genai-prices (`data.json`), or a TOML
    /// file as described in docs/prices.md. Imported prices have precedence over the built-in ones. An import replaces earlier
    /// imported prices of the same models.
    Import {
        /// The price table; - is standard input
        #[arg(required_unless_present = "clear")]
        file: Option<PathBuf>,
        /// Remove all prices that were imported before
        #[arg(long)]
        clear: bool,
        #[command(flatten)]
        archive: ArchiveDirectory,
    },
}
