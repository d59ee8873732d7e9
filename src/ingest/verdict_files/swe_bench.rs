//! Reports of SWE-bench: of a run (`RUN.json`, `results.json`), and of single instances (`report.json`).

use foldhash::HashSet;
use serde_json::Value;

use crate::model::verdict::{ImportedVerdict, Verdict};

/// Lists of instances in reports of a run, and whether these are solved. An instance is solved if any list with solved ones has it.
const LISTS: [(&str, bool); 7] = [
    ("resolved_ids", true),
    ("resolved", true),
    ("unresolved_ids", false),
    ("error_ids", false),
    ("empty_patch_ids", false),
    // Of submissions to the leaderboard.
    ("generated", false),
    ("no_generation", false),
];

/// The verdicts of a report; `None` if the document is another one.
pub fn parse(document: &Value) -> Option<Vec<ImportedVerdict>> {
    let document = document.as_object()?;
    let list = |name: &str| document.get(name).and_then(Value::as_array);
    if list("resolved_ids").is_some() || list("resolved").is_some() {
        let mut known = HashSet::default();
        let tasks = LISTS.iter().flat_map(|(name, passed)| {
            let tasks = list(name).into_iter().flatten().filter_map(Value::as_str);
            tasks.map(|task| (task, *passed))
        });
        let first = tasks.filter(|(task, _)| known.insert(*task));
        return Some(first.map(|(task, passed)| verdict(task, passed)).collect());
    }
    let instance = |(task, report): (&String, &Value)| Some(verdict(task, report.get("resolved")?.as_bool()?));
    let verdicts: Vec<ImportedVerdict> = document.iter().filter_map(instance).collect();
    (!verdicts.is_empty()).then_some(verdicts)
}

fn verdict(task: &str, passed: bool) -> ImportedVerdict {
    ImportedVerdict {
        verdict: Verdict {
            task: Some(task.to_owned()),
            passed: Some(passed),
            judge: Some("swe-bench".to_owned()),
            ..Verdict::default()
        },
        ..ImportedVerdict::default()
    }
}
