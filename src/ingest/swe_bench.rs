//! Reports of SWE-bench: of a run (`RUN.json`, `results.json`), and of single instances (`report.json`).

use foldhash::HashSet;
use serde_json::{Map, Value};

use crate::adapters;
use crate::base::byte_order_mark::without_mark;
use crate::model::verdict::{DEFAULT_NAME, ImportedVerdict, Verdict};

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

/// Keys that a report of a run has beside the list of solved instances, by which it is recognised without being named.
const BESIDE_RESOLVED: [&str; 4] = ["unresolved_ids", "submitted_instances", "completed_instances", "no_generation"];

/// The same of the report of an instance.
const BESIDE_INSTANCE: [&str; 3] = ["patch_successfully_applied", "patch_exists", "tests_status"];

/// The largest file that is searched for a report.
const LARGEST: usize = 64 << 20;

/// The verdicts of a file that `ingest` has found, if it is a report.
pub fn of_file(content: &[u8], path: &str) -> Vec<ImportedVerdict> {
    let content = without_mark(content);
    let may_be_report = content.len() <= LARGEST
        && content.trim_ascii_start().first() == Some(&b'{')
        && memchr::memmem::find(content, b"\"resolved").is_some()
        // Lock files of npm have that key, too.
        && BESIDE_RESOLVED.iter().chain(&BESIDE_INSTANCE).any(|key| memchr::memmem::find(content, key.as_bytes()).is_some());
    let document = may_be_report.then(|| serde_json::from_slice::<Value>(content).ok()).flatten();
    let Some(document) = document.filter(is_report) else { return Vec::new() };
    let mut verdicts = parse(&document, path).unwrap_or_default();
    for imported in &mut verdicts {
        DEFAULT_NAME.clone_into(&mut imported.verdict.name);
        imported.beside = Some(path.to_owned());
    }
    verdicts
}

/// Whether a document is a report, by its content alone.
fn is_report(document: &Value) -> bool {
    let Some(document) = document.as_object() else { return false };
    let is_run = || {
        let lists = ["resolved_ids", "resolved"].map(|key| document.get(key).is_some_and(Value::is_array));
        lists.contains(&true) && has_any(document, &BESIDE_RESOLVED)
    };
    is_instance(document) || is_run() || document.values().filter_map(Value::as_object).any(is_instance)
}

/// Whether it is the report of an instance.
fn is_instance(report: &Map<String, Value>) -> bool {
    report.get("resolved").is_some_and(Value::is_boolean) && has_any(report, &BESIDE_INSTANCE)
}

fn has_any(report: &Map<String, Value>, keys: &[&str]) -> bool {
    keys.iter().any(|key| report.contains_key(*key))
}

/// The verdicts of a report at a path; `None` if the document is another one.
pub fn parse(document: &Value, path: &str) -> Option<Vec<ImportedVerdict>> {
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
    if is_instance(document) {
        // Only its directory names the instance.
        let task = path.rsplit(['/', '\\']).nth(1).filter(|task| !task.is_empty())?;
        return of_instance(task, document).map(|verdict| vec![verdict]);
    }
    let instance = |(task, report): (&String, &Value)| of_instance(task, report.as_object()?);
    let verdicts: Vec<ImportedVerdict> = document.iter().filter_map(instance).collect();
    (!verdicts.is_empty()).then_some(verdicts)
}

/// The verdict of an instance, with the tests that failed.
fn of_instance(task: &str, report: &Map<String, Value>) -> Option<ImportedVerdict> {
    let passed = report.get("resolved")?.as_bool()?;
    let mut imported = verdict(task, passed);
    if !passed {
        imported.verdict.message = failed_tests(report);
    }
    Some(imported)
}

/// The tests that had to pass and did not.
fn failed_tests(report: &Map<String, Value>) -> Option<String> {
    let of_kind = |kind: &str| -> Vec<String> {
        let failed = report.get("tests_status").and_then(|tests| tests.get(kind)?.get("failure")?.as_array());
        failed.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
    };
    adapters::message_of_failed(&[of_kind("FAIL_TO_PASS"), of_kind("PASS_TO_PASS")].concat())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_recognised_without_being_named() {
        let shown = |content: &str| -> Vec<String> {
            let verdicts = of_file(content.as_bytes(), "/runs/a/logs/shop__sums-3/report.json");
            let text = |text: Option<String>| text.unwrap_or_default();
            let shown = verdicts.into_iter().map(|it| {
                assert_eq!(it.beside.as_deref(), Some("/runs/a/logs/shop__sums-3/report.json"));
                format!("{} {:?} {}", text(it.verdict.task), it.verdict.passed, text(it.verdict.message))
            });
            shown.collect()
        };
        let tests = r#""tests_status":{"FAIL_TO_PASS":{"success":["t1"],"failure":["t2"]},"PASS_TO_PASS":{"success":[],"failure":["t3"]}}"#;
        let flat = format!(r#"{{"patch_exists":true,"resolved":false,{tests}}}"#);
        assert_eq!(shown(&flat), ["shop__sums-3 Some(false) failed: t2, t3"]);
        assert_eq!(shown(&format!(r#"{{"blog__feed-12":{flat}}}"#)), ["blog__feed-12 Some(false) failed: t2, t3"]);
        assert_eq!(
            shown(
                r#"{"submitted_instances":2,"resolved_ids":["a__b-1"],"unresolved_ids":["a__b-2"],"incomplete_ids":["a__b-3"]}"#
            ),
            ["a__b-1 Some(true) ", "a__b-2 Some(false) "]
        );
        for other in [
            r#"{"resolved":true}"#,
            r#"{"resolved":["a"],"packages":[]}"#,
            r#"{"issue":{"resolved":true}}"#,
            r#"{"resolved_ids":["#,
            r#"[{"resolved":true}]"#,
            "",
        ] {
            assert!(shown(other).is_empty(), "{other}");
        }
    }
}
