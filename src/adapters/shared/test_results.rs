//! Whether the result of a command that ran tests states that tests failed. The exit status does not show it after a pipe, as in
//! `pytest | tail`.

mod counts;
mod markers;
mod plain;

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::Regex;

use crate::json::Raw;

/// The bytes at the end of a result that are read: programs print their summaries there.
const TAIL: usize = 6 << 10;
/// The bytes at the beginning that are read of a result that is longer than both.
const HEAD: usize = 2 << 10;
/// A longer line is not a summary.
const LONGEST_LINE: usize = 300;
/// The same of a line as it is written in JSON, where colours and other characters are escaped.
const LONGEST_WRITTEN_LINE: usize = 2 * LONGEST_LINE;

/// Each line that states that tests failed contains one of these. Searching for them is faster than reading every line.
static SIGNS_OF_FAILURE: LazyLock<Regex> = LazyLock::new(|| signs("ail|AIL|rror|RROR|not ok|×|✕|u00[dD]7|u2715"));
/// Each line that states that tests passed contains one of these.
static SIGNS_OF_SUCCESS: LazyLock<Regex> = LazyLock::new(|| signs("ass|ASS|ok|OK|ucce|UCCE|ail|AIL"));

#[expect(clippy::expect_used, reason = "the patterns are constant, and tests compile them")]
fn signs(texts: &str) -> Regex {
    Regex::new(texts).expect("a valid pattern")
}

/// Whether a result states that tests failed. `None` if it contains no line that states so, nor one that states that they passed.
pub fn failed_tests(result: Raw<'_>) -> Option<bool> {
    let bytes = result.0;
    let is_cut = bytes.len() > HEAD + TAIL;
    let head = bytes.get(..HEAD).filter(|_| is_cut).unwrap_or_default();
    let tail = if is_cut { bytes.len() - TAIL } else { 0 };
    let tail = bytes.get(tail..).unwrap_or_default();
    // The last line of the head and the first one of the tail may be cut.
    let head = plain::last_break(head).map_or(&[][..], |(end, _)| head.get(..end).unwrap_or_default());
    let first = if is_cut { plain::first_break(tail).map_or(tail.len(), |(_, next)| next) } else { 0 };
    let tail = tail.get(first..).unwrap_or_default();
    let states = |signs: &Regex, failed: bool| {
        [tail, head].into_iter().any(|text| lines_with(signs, text).any(|line| of_written(line) == Some(failed)))
    };
    if states(&SIGNS_OF_FAILURE, true) {
        return Some(true);
    }
    states(&SIGNS_OF_SUCCESS, false).then_some(false)
}

/// The lines that contain one of the signs, from the last one on: summaries are at the end.
fn lines_with<'t>(signs: &Regex, text: &'t [u8]) -> impl Iterator<Item = &'t [u8]> {
    let places: Vec<usize> = signs.find_iter(text).map(|sign| sign.start()).collect();
    let mut before = text.len();
    places.into_iter().rev().filter_map(move |place| {
        // A line may contain several signs.
        let line = (place < before).then(|| line_around(text, place)).flatten()?;
        before = line.start;
        text.get(line)
    })
}

/// The line that contains a byte, unless it is too long for a summary.
fn line_around(text: &[u8], at: usize) -> Option<Range<usize>> {
    let earliest = at.saturating_sub(LONGEST_WRITTEN_LINE);
    let start = match plain::last_break(text.get(earliest..at)?) {
        Some((_, next)) => earliest + next,
        None if earliest == 0 => 0,
        None => return None,
    };
    let latest = text.len().min(at + LONGEST_WRITTEN_LINE + 1);
    let end = plain::first_break(text.get(at..latest)?).map_or(latest, |(end, _)| at + end);
    Some(start..end)
}

/// [`of_line`] of a line as it is written in JSON. Some of its escapes are ends of lines, too.
fn of_written(line: &[u8]) -> Option<bool> {
    plain::text(line).split('\n').find_map(of_line)
}

fn of_line(line: &str) -> Option<bool> {
    let line = line.trim();
    if line.is_empty() || line.len() > LONGEST_LINE {
        return None;
    }
    let line = ["[INFO]", "[ERROR]", "[WARNING]", "[info]", "[error]"]
        .iter()
        .find_map(|level| line.strip_prefix(level))
        .map_or(line, str::trim_start);
    counts::of_line(line).or_else(|| markers::of_line(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<bool> {
        failed_tests(Raw(serde_json::to_string(text).unwrap().as_bytes()))
    }

    /// The output of each program for failed and for passed tests.
    #[test]
    fn summaries_of_programs_are_known() {
        for (program, failed, passed) in [
            (
                "cargo test",
                "test a ... FAILED\n\nfailures:\n    a\n\ntest result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\nerror: test failed, to rerun pass `--lib`",
                "test a ... ok\n\ntest result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out; finished in 0.00s",
            ),
            (
                "cargo nextest",
                "     Summary [   0.105s] 5 tests run: 4 passed, 1 failed, 0 skipped",
                "     Summary [   0.105s] 5 tests run: 5 passed (1 slow), 0 skipped",
            ),
            (
                "pytest",
                "=================== 1 failed, 2 passed, 3 warnings in 0.12s (0:00:12) ====================",
                "=================== 2 passed, 1 xfailed, 3 warnings in 0.12s ====================",
            ),
            (
                "pytest -q",
                "FAILED tests/test_a.py::test_b - assert 1 == 2\n1 failed in 0.01s",
                "..s.\n3 passed, 1 skipped in 0.01s",
            ),
            ("pytest -v", "tests/a.py::test_b FAILED      [ 50%]", "tests/a.py::test_b PASSED\n2 passed in 0.01s"),
            ("pytest, collection", "ERROR tests/a.py\n1 error in 0.10s", "1 passed in 0.10s"),
            (
                "unittest",
                "Ran 3 tests in 0.001s\n\nFAILED (failures=1, errors=1)",
                "Ran 3 tests in 0.001s\n\nOK (skipped=1)",
            ),
            (
                "jest",
                "FAIL src/a.test.ts\n  ✕ adds (3 ms)\nTests:       1 failed, 4 passed, 5 total\nSnapshots:   0 total\nTime:        1.2 s",
                "PASS src/a.test.ts\nTest Suites: 1 passed, 1 total\nTests:       5 passed, 5 total\nTime:        1.2 s, estimated 2 s",
            ),
            (
                "vitest",
                " Test Files  1 failed | 2 passed (3)\n      Tests  1 failed | 5 passed (6)\n   Duration  1.2s (transform 3ms)",
                " Test Files  3 passed (3)\n      Tests  6 passed (6)",
            ),
            (
                "go test",
                "--- FAIL: TestA (0.00s)\nFAIL\nFAIL\texample.org/a\t0.005s\nFAIL",
                "ok  \texample.org/a\t0.005s",
            ),
            ("go test -v", "--- FAIL: TestA (0.00s)", "--- PASS: TestA (0.00s)\nPASS\nok  \texample.org/a\t(cached)"),
            ("gotestsum", "DONE 5 tests, 1 failure in 0.105s", "DONE 5 tests in 0.105s\nPASS"),
            ("mocha", "  4 passing (12ms)\n  1 failing", "  5 passing (12ms)\n  1 pending"),
            ("JUnit", "Tests run: 5, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.1 s", "OK (5 tests)"),
            (
                "Maven",
                "[ERROR] Tests run: 5, Failures: 0, Errors: 1, Skipped: 0\n[INFO] BUILD FAILURE",
                "[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS",
            ),
            (
                "Gradle",
                "> Task :app:test FAILED\n\n5 tests completed, 1 failed\n\nBUILD FAILED in 2s",
                "BUILD SUCCESSFUL in 2s\n3 actionable tasks",
            ),
            (
                "dotnet",
                "Failed!  - Failed:     1, Passed:     4, Skipped:     0, Total:     5, Duration: 12 ms - a.dll (net8.0)",
                "Passed!  - Failed:     0, Passed:     5, Skipped:     0, Total:     5, Duration: 12 ms - a.dll (net8.0)",
            ),
            (
                "dotnet, detailed",
                "Total tests: 5\n     Passed: 4\n     Failed: 1\n Total time: 1.2 Seconds",
                "Test Run Successful.\nTotal tests: 5\n     Passed: 5",
            ),
            ("rspec", "5 examples, 1 failure, 2 pending", "5 examples, 0 failures"),
            (
                "minitest",
                "5 runs, 7 assertions, 0 failures, 1 errors, 0 skips",
                "5 runs, 7 assertions, 0 failures, 0 errors, 0 skips",
            ),
            ("PHPUnit", "FAILURES!\nTests: 5, Assertions: 9, Failures: 1.", "OK (5 tests, 9 assertions)"),
            ("Pest", "  Tests:    1 failed, 4 passed (9 assertions)", "  Tests:    5 passed (9 assertions)"),
            ("ctest", "60% tests passed, 2 tests failed out of 5", "100% tests passed, 0 tests failed out of 5"),
            ("GoogleTest", "[  PASSED  ] 4 tests.\n[  FAILED  ] 1 test, listed below:", "[  PASSED  ] 5 tests."),
            ("Catch2", "test cases: 5 | 4 passed | 1 failed", "All tests passed (9 assertions in 5 test cases)"),
            ("node --test", "# tests 5\n# pass 4\n# fail 1", "ℹ tests 5\nℹ pass 5\nℹ fail 0"),
            (
                "bun test",
                " 4 pass\n 1 fail\nRan 5 tests across 1 file. [12.00ms]",
                " 5 pass\n 0 fail\n 9 expect() calls",
            ),
            ("deno test", "FAILED | 2 passed | 1 failed (12ms)", "ok | 3 passed | 0 failed (12ms)"),
            (
                "swift test",
                "Executed 5 tests, with 1 failure (0 unexpected) in 0.1 (0.2) seconds",
                "Executed 5 tests, with 0 failures (0 unexpected) in 0.1 (0.2) seconds",
            ),
            ("xcodebuild", "** TEST FAILED **", "** TEST SUCCEEDED **"),
            ("mix test", "5 tests, 1 failure", "5 doctests, 5 tests, 0 failures"),
            ("TAP", "ok 1 - a\nnot ok 2 - b", "ok 1 - a\nnot ok 2 - b # TODO later"),
            ("prove", "Result: FAIL", "All tests successful.\nResult: PASS"),
            (
                "sbt",
                "[error] Failed: Total 5, Failed 1, Errors 0, Passed 4",
                "[info] Passed: Total 5, Failed 0, Errors 0, Passed 5",
            ),
            ("testthat", "[ FAIL 1 | WARN 0 | SKIP 0 | PASS 5 ]", "[ FAIL 0 | WARN 0 | SKIP 0 | PASS 5 ]"),
            (
                "ginkgo",
                "FAIL! -- 2 Passed | 1 Failed | 0 Pending | 0 Skipped",
                "SUCCESS! -- 3 Passed | 0 Failed | 0 Pending | 0 Skipped",
            ),
            ("cucumber", "2 scenarios (1 failed, 1 passed)", "2 scenarios (2 passed)"),
            ("playwright", "  1 failed\n  4 passed (5.1s)", "  5 passed (5.1s)"),
            ("flutter", "00:01 +4 -1: Some tests failed.", "00:01 +5: All tests passed!"),
        ] {
            assert_eq!((of(failed), of(passed)), (Some(true), Some(false)), "{program}");
        }
    }

    #[test]
    fn other_output_states_nothing_about_tests() {
        for text in [
            "",
            "Compiling a v0.1.0\nerror[E0308]: mismatched types\nerror: could not compile `a` (lib) due to 1 previous error",
            "bash: pytest: command not found",
            "no tests ran in 0.01s",
            "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out; finished in 0.00s",
            "3",
            "Found 2 errors.",
            "✖ 2 problems (2 errors, 0 warnings)",
            "collected 5 items",
            "INFO retrying after 3 failed attempts",
            "OK, so far",
            "FAILED to connect to the database",
            "ERROR shop::db: refused",
            "5 tests collected in 0.10s",
            "12 failed_tests",
            "99999999999999999999999999 errors",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    /// Results are strings, lists of texts, objects, or JSON within a string; text may be coloured.
    #[test]
    fn the_form_of_the_result_does_not_matter() {
        let summary = "a\r\n\u{1b}[31m\u{1b}[1m1 failed\u{1b}[0m, \u{1b}[32m2 passed\u{1b}[0m in 0.12s";
        let within = serde_json::json!({"output": summary, "metadata": {"exit_code": 0}}).to_string();
        for value in [
            serde_json::json!(summary),
            serde_json::json!([{"type": "text", "text": summary}]),
            serde_json::json!({"stdout": summary, "stderr": ""}),
            serde_json::json!(within),
        ] {
            assert_eq!(failed_tests(Raw(value.to_string().as_bytes())), Some(true), "{value}");
        }
        assert_eq!(failed_tests(Raw(summary.as_bytes())), Some(true));
        assert_eq!(failed_tests(Raw(b"\"\\u2715 adds (3 ms)\"")), Some(true));
        for damaged in [&b"\\"[..], b"\"\\u", b"\"\\u12\"", b"\x1b", b"\x1b[", b"\xff\xfe", b"\\\\\\", b"null"] {
            assert_eq!(failed_tests(Raw(damaged)), None);
        }
    }

    /// Of a long result the beginning and the end are read.
    #[test]
    fn the_work_is_bounded() {
        let long = "a line of a test's own output\n".repeat(10_000);
        assert_eq!(of(&format!("{long}1 failed, 2 passed in 0.12s\n")), Some(true));
        assert_eq!(of(&format!("1 failed, 2 passed in 0.12s\n{long}")), Some(true));
        assert_eq!(of(&format!("{long}1 failed, 2 passed in 0.12s\n{long}")), None);
        // The cut line is not read.
        let cut = format!("{}1 failed\n{}", "x".repeat(TAIL), "y".repeat(TAIL - "1 failed\n".len()));
        assert_eq!(failed_tests(Raw(cut.as_bytes())), None);
    }
}
