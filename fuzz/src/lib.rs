//! What the targets share: the rules, and the samples that they begin from.

use std::panic;
use std::path::Path;
use std::sync::{LazyLock, Once};

use agentlogs::adapters::TABLES;
use agentlogs::input::database;
use agentlogs::input::open::{Budget, Limit};

#[path = "../../tests/rules.rs"]
pub mod rules;

/// All sample logs as adapters see them, in a fixed order.
pub static SAMPLES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sample-logs");
    let files = walkdir::WalkDir::new(directory).sort_by_file_name().into_iter().filter_map(Result::ok);
    let logs = files.filter(|it| it.file_type().is_file() && !it.path().to_string_lossy().ends_with(".meta.json"));
    logs.map(|it| {
        let bytes = std::fs::read(it.path()).unwrap();
        if database::is_database(&bytes) {
            database::read(Some(it.path()), &bytes, TABLES, &Budget::new(Limit::Usual, 0)).unwrap().text
        } else {
            bytes
        }
    })
    .collect()
});

/// libFuzzer ends the process at every panic; from here on only at those of this project. A library's panic the program
/// catches, and answers with an error.
pub fn let_libraries_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let project = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let end = panic::take_hook();
        panic::set_hook(Box::new(move |it| {
            if it.location().is_some_and(|it| Path::new(it.file()).starts_with(project)) {
                end(it);
            }
        }));
    });
}
