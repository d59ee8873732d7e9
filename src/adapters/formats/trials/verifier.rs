//! What the verifier of a trial writes beside its result: the tests that failed.

use foldhash::{HashSet, HashSetExt as _};
use serde::Deserialize;

use crate::json::fields::{Maybe, Text};
use crate::json::{self, Raw};

/// The names that a message contains at most.
const MAX_NAMES: usize = 20;

/// The report of a test runner in the Common Test Report Format: <https://ctrf.io>.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Report<'a> {
    results: Maybe<Results<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Results<'a> {
    tests: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Test<'a> {
    name: Text<'a>,
    status: Text<'a>,
}

/// The tests that failed, as the message of a verdict; `None` if the output names none. It is a report in the Common Test Report
/// Format, or the output of pytest.
pub fn failed_tests(output: &[u8]) -> Option<String> {
    message_of_failed(&in_report(output).unwrap_or_else(|| in_text(output)))
}

/// The message about tests that failed; `None` if there are none.
pub fn message_of_failed(names: &[String]) -> Option<String> {
    if names.is_empty() {
        return None;
    }
    let more = names.len().saturating_sub(MAX_NAMES);
    let shown = names.get(..MAX_NAMES.min(names.len())).unwrap_or_default().join(", ");
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    Some(format!("failed: {shown}{more}"))
}

fn in_report(output: &[u8]) -> Option<Vec<String>> {
    let report: Report<'_> = json::from_slice(output.trim_ascii()).ok()?;
    let tests: Vec<Test<'_>> = report.results.get()?.tests.read();
    let failed = tests.iter().filter(|test| test.status.as_str() == "failed");
    Some(failed.filter_map(|test| test.name.owned()).collect())
}

/// The summary of pytest: `FAILED tests/test_x.py::test_y - AssertionError`.
fn in_text(output: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(output);
    let failed = text.lines().filter_map(|line| line.trim().strip_prefix("FAILED "));
    let names = failed.filter_map(|line| line.split(" - ").next()?.split_whitespace().next());
    let mut seen = HashSet::new();
    names.filter(|name| name.contains("::") && seen.insert(*name)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_tests_have_their_names() {
        let report = br#"{"results":{"tool":{"name":"pytest"},"summary":{"tests":3},"tests":[
            {"name":"test_a","status":"passed"},{"name":"test_b","status":"failed"},{"name":"test_c","status":"failed"}]}}"#;
        assert_eq!(failed_tests(report).as_deref(), Some("failed: test_b, test_c"));
        let text = b"..F\nFAILED tests/test_x.py::test_y - AssertionError: assert None == 200\nFAILED (failures=1)\n= 1 failed =\n";
        assert_eq!(failed_tests(text).as_deref(), Some("failed: tests/test_x.py::test_y"));
        for none in [&b"= 4 passed ="[..], b"{}", br#"{"results":{"tests":[]}}"#, b"", b"\xff"] {
            assert_eq!(failed_tests(none), None);
        }
        let many: Vec<String> = (0..25).map(|it| format!("FAILED a.py::t{it}")).collect();
        assert!(failed_tests(many.join("\n").as_bytes()).unwrap().ends_with("a.py::t19 and 5 more"));
    }
}
