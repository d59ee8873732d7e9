//! Paths from a record to its values (docs/configuration.md#paths).
//!
//! A path is keys with dots between them. In an array, a part is an index, or `key=text`: the elements with this text. `*` is each
//! element of an array and each value of an object, `@` is the first key of an object. `a|b` is `b` where `a` finds nothing. A path
//! that begins with `^.` starts at the document around the record, where the records are elements of an array inside of one. An
//! empty path finds nothing.

use std::borrow::Cow;
use std::ops::ControlFlow;

use crate::adapters::engine::Probe;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Count, Number, When};

/// A record, and the document around it.
#[derive(Clone, Copy)]
pub(super) struct Place<'r, 'a> {
    pub(super) document: Option<&'r Probe<'a>>,
    pub(super) record: &'r Probe<'a>,
}

/// Receives values, until it breaks.
type Visit<'v, 'a> = dyn FnMut(Raw<'a>) -> ControlFlow<()> + 'v;

impl<'r, 'a> Place<'r, 'a> {
    /// A line, a document, or an element of a list.
    pub(super) const fn of(record: &'r Probe<'a>) -> Self {
        Self { document: None, record }
    }

    /// The first value at a path that is neither absent nor null; else an empty one.
    pub(super) fn raw(self, path: &str) -> Raw<'a> {
        let mut first = Raw::default();
        self.visit(path, &mut |raw| {
            first = raw;
            ControlFlow::Break(())
        });
        first
    }

    /// All values at a path.
    pub(super) fn values(self, path: &str) -> Vec<Raw<'a>> {
        let mut values = Vec::new();
        self.visit(path, &mut |raw| {
            values.push(raw);
            ControlFlow::Continue(())
        });
        values
    }

    /// The elements of the arrays at a path, and its values that are not arrays.
    pub(super) fn list(self, path: &str) -> Vec<Raw<'a>> {
        let mut elements = Vec::new();
        self.visit(path, &mut |raw| {
            match raw.0.first() {
                Some(b'[') => elements.append(&mut raw.read::<Vec<Raw<'a>>>()),
                _ => elements.push(raw),
            }
            ControlFlow::Continue(())
        });
        elements
    }

    /// The text at a path, unless it is empty. A number is its digits.
    pub(super) fn text(self, path: &str) -> Option<Cow<'a, str>> {
        let raw = self.raw(path);
        let is_scalar = !raw.is_empty() && !matches!(raw.0.first(), Some(b'{' | b'['));
        is_scalar.then(|| raw.text()).filter(|text| !text.is_empty())
    }

    pub(super) fn count(self, path: &str) -> Count {
        self.raw(path).read()
    }

    pub(super) fn number(self, path: &str) -> Number {
        self.raw(path).read()
    }

    pub(super) fn time(self, path: &str) -> Option<Time> {
        self.raw(path).read::<When>().0
    }

    fn visit(self, path: &str, visit: &mut Visit<'_, 'a>) {
        for path in path.split('|').filter(|path| !path.is_empty()) {
            let (start, path) = match path.strip_prefix("^.") {
                Some(path) => (self.document, path),
                None => (Some(self.record), path),
            };
            let mut finds_any = false;
            let _ = start.map(|start| {
                visit_in(start, path, &mut |raw| {
                    finds_any = true;
                    visit(raw)
                })
            });
            if finds_any {
                return;
            }
        }
    }
}

/// Visits the values at a path of an object.
fn visit_in<'a>(object: &Probe<'a>, path: &str, visit: &mut Visit<'_, 'a>) -> ControlFlow<()> {
    let (part, rest) = first_part(path);
    match part {
        "*" => object.pairs().try_for_each(|(_, raw)| visit_below(*raw, rest, visit)),
        "@" => match object.pairs().next() {
            Some((Cow::Borrowed(key), _)) => visit_below(Raw(key.as_bytes()), rest, visit),
            _ => ControlFlow::Continue(()),
        },
        _ => match (object.raw(part), rest) {
            // Its keys are found once for all paths.
            (Raw([b'{', ..]), Some(rest)) => visit_in(&object.object(part), rest, visit),
            (raw, rest) => visit_below(raw, rest, visit),
        },
    }
}

/// Visits a value, or with a path the values there.
fn visit_below<'a>(raw: Raw<'a>, path: Option<&str>, visit: &mut Visit<'_, 'a>) -> ControlFlow<()> {
    let Some(path) = path else {
        return if raw.is_empty() { ControlFlow::Continue(()) } else { visit(raw) };
    };
    match (raw.0.first(), first_part(path)) {
        (Some(b'{'), _) => match Probe::new(raw.0, "") {
            Some(object) => visit_in(&object, path, visit),
            None => ControlFlow::Continue(()),
        },
        (Some(b'['), (part, rest)) => {
            let (index, pair) = (part.parse(), part.split_once('='));
            let has = |element: Raw<'a>, key, value| {
                Probe::new(element.0, "").is_some_and(|it| Place::of(&it).text(key).as_deref() == Some(value))
            };
            let mut elements = raw.read::<Vec<Raw<'a>>>().into_iter().enumerate();
            elements.try_for_each(|(place, element)| {
                let is_selected =
                    part == "*" || index == Ok(place) || pair.is_some_and(|(key, value)| has(element, key, value));
                if is_selected { visit_below(element, rest, visit) } else { ControlFlow::Continue(()) }
            })
        }
        _ => ControlFlow::Continue(()),
    }
}

fn first_part(path: &str) -> (&str, Option<&str>) {
    path.split_once('.').map_or((path, None), |(part, rest)| (part, Some(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_finds_values() {
        let record = Probe::new(
            br#"{"usage":{"in":5,"none":null},"list":[{"kind":"a","n":1},{"kind":"b","n":2},{"kind":"b","n":[3,4]}],
                 "by_id":{"x":{"n":6},"y":{"n":7}},"0":{"n":8},"text":""}"#,
            "",
        );
        let (record, document) = (record.unwrap(), Probe::new(br#"{"usage":{"in":9}}"#, "").unwrap());
        let place = Place { document: Some(&document), record: &record };
        let cases: [(&str, &[&str]); 20] = [
            ("usage.in", &["5"]),
            ("usage.none", &[]),
            ("usage.none|usage.in", &["5"]),
            ("usage.in|list.0.n", &["5"]),
            ("usage.none|^.usage.in", &["9"]),
            ("^.usage.in|usage.in", &["9"]),
            ("list.1.n", &["2"]),
            ("list.3.n", &[]),
            ("list.n", &[]),
            ("list.kind=b.n", &["2", "3", "4"]),
            ("list.kind=c.n", &[]),
            ("list.kind=a", &[r#"{"kind":"a","n":1}"#]),
            ("list.2.n.1", &["4"]),
            ("list.*.n", &["1", "2", "3", "4"]),
            ("by_id.*.n", &["6", "7"]),
            ("by_id.@", &["x"]),
            ("@", &["usage"]),
            ("0.n", &["8"]),
            ("usage.in.more", &[]),
            ("", &[]),
        ];
        for (path, expected) in cases {
            let found = place.list(path).into_iter().map(|raw| raw.text().into_owned()).collect::<Vec<_>>();
            assert_eq!(found, expected, "{path}");
            let first = place.values(path).first().copied().unwrap_or_default();
            assert_eq!(place.raw(path), first, "{path}");
        }
        assert_eq!(
            (place.text("text"), place.text("by_id"), place.text("by_id.@").as_deref()),
            (None, None, Some("x"))
        );
    }
}
