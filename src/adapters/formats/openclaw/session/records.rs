//! Rows of openclaw's database, records of its cold storage, and entries of its index.

use serde::Deserialize;

use crate::base::text::Symbol;
use crate::json::Raw;
use crate::json::fields::{Pairs, Text};

/// A row of any of the tables.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Row<'a> {
    pub table: Text<'a>,
    pub session_id: Text<'a>,
    pub current_session_id: Text<'a>,
    pub event_json: Raw<'a>,
    /// The same, compressed in the database.
    pub event_zstd: Raw<'a>,
    pub entry_json: Raw<'a>,
    pub session_key: Text<'a>,
    pub spawned_by: Text<'a>,
    pub parent_session_key: Text<'a>,
    pub fork_source_session_id: Text<'a>,
    /// Entries, or records of cold storage.
    pub archive_blob: Raw<'a>,
}

/// A record of cold storage.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Cold<'a> {
    pub kind: Text<'a>,
    pub session_id: Text<'a>,
    pub row: ColdRow<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct ColdRow<'a> {
    /// An entry, as a string.
    pub event_json: Raw<'a>,
}

/// An entry of the index.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Entry<'a> {
    pub session_id: Text<'a>,
    pub spawned_by: Text<'a>,
    pub cli_session_bindings: Pairs<'a, Binding<'a>>,
    pub cli_session_ids: Pairs<'a, Text<'a>>,
    pub claude_cli_session_id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Binding<'a> {
    pub session_id: Text<'a>,
}

impl Entry<'_> {
    /// The sessions of CLIs, each with the provider that messages of the CLI name.
    pub fn delegates(&self) -> Vec<(Symbol, String)> {
        let bindings = self.cli_session_bindings.0.iter().map(|(provider, it)| (provider.as_ref(), &it.session_id));
        let ids = self.cli_session_ids.0.iter().map(|(provider, id)| (provider.as_ref(), id));
        let all = bindings.chain(ids).chain([("claude-cli", &self.claude_cli_session_id)]);
        let mut delegates: Vec<(Symbol, String)> =
            all.filter_map(|(provider, id)| Some((Symbol::new(provider), id.owned()?))).collect();
        delegates.sort();
        delegates.dedup();
        // A message whose provider openclaw did not know names the backend.
        if let [(_, id)] = delegates.as_slice() {
            let id = id.clone();
            delegates.push(("cli".into(), id));
        }
        delegates
    }
}
