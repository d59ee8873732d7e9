//! The documents that a client can read.

use agentlogs::store::frames;
use serde_json::{Value, json};

/// A document.
struct Resource {
    uri: &'static str,
    name: &'static str,
    about: &'static str,
    kind: &'static str,
    text: fn() -> String,
}

static RESOURCES: &[Resource] = &[
    Resource {
        uri: "agentlogs://schema",
        name: "schema",
        about: "The tables and columns for query, with their types and meanings",
        kind: "text/plain",
        text: schema,
    },
    Resource {
        uri: "agentlogs://words",
        name: "words",
        about: "The words of the tables and reports",
        kind: "text/markdown",
        text: || include_str!("../../../../docs/words.md").to_owned(),
    },
];

impl Resource {
    fn described(&self) -> Value {
        json!({"uri": self.uri, "name": self.name, "description": self.about, "mimeType": self.kind})
    }
}

/// All documents.
pub(super) fn listed() -> Vec<Value> {
    RESOURCES.iter().map(Resource::described).collect()
}

/// The content of the document with this address.
pub(super) fn read(uri: &str) -> Option<Value> {
    let resource = RESOURCES.iter().find(|resource| resource.uri == uri)?;
    Some(json!({"contents": [{"uri": resource.uri, "mimeType": resource.kind, "text": (resource.text)()}]}))
}

/// A line for each column, below its table.
fn schema() -> String {
    let columns: Vec<_> = frames::all_columns().collect();
    let of_table = |table: &str| -> String {
        let columns = columns.iter().filter(|column| column.table == table);
        let lines = columns.map(|it| format!("  {} {}: {}\n", it.column, it.type_name(), it.about));
        [format!("{table}\n")].into_iter().chain(lines).collect()
    };
    frames::names_of_tables().into_iter().map(of_table).collect()
}
