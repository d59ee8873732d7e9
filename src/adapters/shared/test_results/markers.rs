//! Lines without numbers that state whether tests failed.

/// Lines that begin so state that tests failed.
const FAILED: &[&str] = &[
    "(fail) ",
    "FAIL ",
    "FAIL: ",
    "--- FAIL",
    "FAILED (",
    "FAILED |",
    "FAILURES!",
    "Failed! ",
    "Result: FAIL",
    "Some tests failed",
    "Test Run Failed",
    "Test suite failed to run",
    "There are test failures",
    "There were failing tests",
    "[  FAILED  ]",
    "error: doctest failed",
    "error: test failed",
    "test result: FAILED",
    "× ",
    "✕ ",
];

/// Lines that begin so state that tests passed, if no other line states that some failed.
const PASSED: &[&str] = &[
    "All tests passed",
    "All tests successful",
    "BUILD SUCCESS",
    "OK (",
    "PASS ",
    "Passed! ",
    "Result: PASS",
    "Test Run Successful",
    "[  PASSED  ]",
    "ok ",
];

/// Whether a line states that tests failed.
pub(super) fn of_line(line: &str) -> Option<bool> {
    let begins = |starts: &[&str]| starts.iter().any(|start| line.starts_with(start));
    let is_decoration = |it: char| matches!(it, '=' | '*' | '>' | '●' | '-' | '_' | '#' | ' ');
    let bare = line.trim_matches(is_decoration);
    if begins(FAILED)
        || matches!(bare, "FAIL" | "FAILED" | "FAILURES" | "failures:" | "TEST FAILED")
        || FAILED.iter().any(|start| bare.starts_with(start))
        || is_failed_test(line)
        || is_failed_task(bare)
        || ends_flutter(line, "Some tests failed.")
    {
        return Some(true);
    }
    let has_passed =
        begins(PASSED) || matches!(bare, "PASS" | "OK" | "TEST SUCCEEDED") || ends_flutter(line, "All tests passed!");
    has_passed.then_some(false)
}

/// The line of one failed test: `test a ... FAILED`, `tests/a.py::b FAILED`, `FAILED tests/a.py::b - …`, `not ok 2 - b`.
fn is_failed_test(line: &str) -> bool {
    if let Some(test) = line.strip_prefix("not ok ") {
        let directive = test.rsplit_once('#').map_or("", |(_, directive)| directive.trim_start());
        return !directive.get(..4).is_some_and(|word| ["todo", "skip"].contains(&word.to_ascii_lowercase().as_str()));
    }
    let is_python = |path: &str| path.rsplit_once('.').is_some_and(|(_, extension)| extension == "py");
    // `tests/a.py`, `tests/a.py::b`; programs also log `ERROR module::name: …`.
    let of_pytest = |rest: &str| rest.split([' ', ':']).next().is_some_and(is_python);
    (line.starts_with("test ") && line.ends_with("... FAILED"))
        || ["FAILED ", "ERROR "].iter().filter_map(|word| line.strip_prefix(word)).any(of_pytest)
        || is_failed_name(line)
}

/// `tests/a.py::b FAILED`.
fn is_failed_name(line: &str) -> bool {
    // A search for two characters is much faster than splitting, and few lines contain them.
    let is_name = |test: &str| test.contains("::") && !test.contains(' ');
    line.contains("::") && line.split_once(" FAILED").is_some_and(|(test, _)| is_name(test))
}

/// `Task :app:test FAILED`.
fn is_failed_task(line: &str) -> bool {
    line.strip_prefix("Task :")
        .and_then(|task| task.strip_suffix(" FAILED"))
        .is_some_and(|task| task.rsplit(':').next().is_some_and(|name| name.to_ascii_lowercase().contains("test")))
}

/// `00:01 +4 -1: Some tests failed.`
fn ends_flutter(line: &str, end: &str) -> bool {
    line.strip_suffix(end)
        .is_some_and(|start| start.starts_with(|it: char| it.is_ascii_digit()) && start.ends_with(": "))
}
