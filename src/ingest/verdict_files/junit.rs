//! JUnit XML: one verdict for all tests of a file, or one for each test case that names a session or a task of its own.
//!
//! A property of a suite or of a test case is a column of the same name: `session_id`, `task`, `trial`, `label`, `log`.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::content::Content;
use super::fields::Fields;

/// The tests so far, as far as they belong together.
#[derive(Default)]
struct Tests {
    passed: usize,
    failed: Vec<String>,
    fields: Fields,
}

impl Tests {
    fn add(&mut self, case: &Case) {
        match case.result {
            CaseResult::Passed => self.passed += 1,
            CaseResult::Failed => self.failed.push(case.name.clone()),
            CaseResult::Skipped => {}
        }
    }

    /// The verdict; no tests are no verdict.
    fn add_to(mut self, content: &mut Content) {
        /// Names of failed tests in a message.
        const MAX_NAMES: usize = 5;
        let count = self.passed + self.failed.len();
        if count == 0 {
            return;
        }
        let passed = self.failed.is_empty();
        self.fields.set("passed", if passed { "true" } else { "false" });
        self.fields.set("score", &(self.passed as f64 / count as f64).to_string());
        if !passed {
            let names: Vec<&str> = self.failed.iter().take(MAX_NAMES).map(String::as_str).collect();
            let more = if self.failed.len() > MAX_NAMES { ", …" } else { "" };
            self.fields
                .set("message", &format!("{} of {count} tests failed: {}{more}", self.failed.len(), names.join(", ")));
        }
        content.add(0, self.fields);
    }
}

#[derive(Default, PartialEq)]
enum CaseResult {
    #[default]
    Passed,
    Failed,
    Skipped,
}

/// A test case.
#[derive(Default)]
struct Case {
    name: String,
    result: CaseResult,
    fields: Fields,
}

/// Parses a file.
pub fn parse(bytes: &[u8]) -> Result<Content, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    let mut reader = Reader::from_str(text);
    let mut content = Content::default();
    let mut all = Tests::default();
    let mut case: Option<Case> = None;
    let mut has_suite = false;
    let mut open = 0_usize;
    loop {
        let event = reader.read_event().map_err(|error| error.to_string())?;
        let is_empty = matches!(event, Event::Empty(_));
        match event {
            Event::Start(element) | Event::Empty(element) => {
                open += usize::from(!is_empty);
                match element.local_name().as_ref() {
                    b"testsuites" => has_suite = true,
                    b"testsuite" => {
                        has_suite = true;
                        if let Some(time) = attribute(&element, "timestamp") {
                            // Many programs write a local time without a zone, which is no point in time.
                            if time.parse::<jiff::Timestamp>().is_ok() {
                                all.fields.set("judged_at", &time);
                            }
                        }
                    }
                    b"testcase" => {
                        let name = attribute(&element, "name").unwrap_or_default();
                        case = Some(Case { name, ..Case::default() });
                        if is_empty {
                            end(case.take(), &mut all, &mut content);
                        }
                    }
                    b"failure" | b"error" => case.iter_mut().for_each(|case| case.result = CaseResult::Failed),
                    b"skipped" => case.iter_mut().for_each(|case| case.result = CaseResult::Skipped),
                    b"property" => {
                        let name = attribute(&element, "name").unwrap_or_default();
                        let value = attribute(&element, "value").unwrap_or_default();
                        let fields = case.as_mut().map_or(&mut all.fields, |case| &mut case.fields);
                        if !matches!(name.as_str(), "passed" | "score" | "name") {
                            fields.set(&name, &value);
                        }
                    }
                    _ => {}
                }
            }
            Event::End(element) => {
                open = open.saturating_sub(1);
                if element.local_name().as_ref() == b"testcase" {
                    end(case.take(), &mut all, &mut content);
                }
            }
            Event::Eof => break,
            _ => {}
        }
    }
    if open > 0 {
        return Err("the XML ends inside an element".to_owned());
    }
    if !has_suite {
        return Err("the XML contains no testsuite".to_owned());
    }
    all.add_to(&mut content);
    if content.verdicts.is_empty() {
        return Err("it contains no test that was run".to_owned());
    }
    Ok(content)
}

/// Adds a test case to the tests of the file, or as a verdict of its own.
fn end(case: Option<Case>, all: &mut Tests, content: &mut Content) {
    let Some(case) = case else { return };
    if case.fields.is_empty() {
        all.add(&case);
    } else {
        let mut own = Tests { fields: case.fields.clone(), ..Tests::default() };
        own.add(&case);
        own.add_to(content);
    }
}

fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    let attribute = element.try_get_attribute(name).ok()??;
    attribute.unescape_value().ok().map(std::borrow::Cow::into_owned)
}
