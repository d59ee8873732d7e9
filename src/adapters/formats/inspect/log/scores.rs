//! The scores of a sample as verdicts, one for each scorer: see docs/formats/inspect.md#inspect-log.

use serde::Deserialize;

use crate::json::Raw;
use crate::json::fields::{Flag, Number, Pairs, Text};
use crate::model::verdict::Verdict;

/// The score of one scorer.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Score<'a> {
    value: Raw<'a>,
}

/// The verdicts of the scores of a sample; `of_sample` has what they have in common. A scorer whose value is an object judges
/// several aspects.
pub(super) fn verdicts(scores: Raw<'_>, of_sample: &Verdict) -> Vec<Verdict> {
    let scores: Pairs<'_, Score<'_>> = scores.read();
    let mut verdicts = Vec::new();
    for (scorer, score) in &scores.0 {
        let mut add = |name: String, value: Raw<'_>| {
            let (passed, score) = judged(value);
            if passed.is_some() || score.is_some() {
                let judge = Some(scorer.clone().into_owned());
                verdicts.push(Verdict { name, passed, score, judge, ..of_sample.clone() });
            }
        };
        if score.value.is_object() {
            let aspects: Pairs<'_, Raw<'_>> = score.value.read();
            for (aspect, value) in aspects.0 {
                add(format!("{scorer}/{aspect}"), value);
            }
        } else {
            add(scorer.clone().into_owned(), score.value);
        }
    }
    verdicts
}

/// Whether a value is a passed sample, and the score that it is. Inspect's letters are C, correct; I, incorrect; P, partial; N, no
/// answer. Only C, I, Booleans, 1 and 0 state whether a sample passed: what another number means depends on the scorer.
fn judged(value: Raw<'_>) -> (Option<bool>, Option<f64>) {
    let flag: Flag = value.read();
    if let Some(passed) = flag.0 {
        return (Some(passed), Some(if passed { 1.0 } else { 0.0 }));
    }
    let number: Number = value.read();
    if let Some(score) = number.0.filter(|score| score.is_finite()) {
        let is = |value: f64| (score - value).abs() < f64::EPSILON;
        let passed = if is(1.0) { Some(true) } else { is(0.0).then_some(false) };
        return (passed, Some(score));
    }
    let text: Text<'_> = value.read();
    match text.as_str() {
        "C" => (Some(true), Some(1.0)),
        "I" => (Some(false), Some(0.0)),
        "P" => (None, Some(0.5)),
        "N" => (None, Some(0.0)),
        _ => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_verdicts() {
        for (value, expected) in [
            (r#""C""#, Some((Some(true), Some(1.0)))),
            (r#""I""#, Some((Some(false), Some(0.0)))),
            (r#""P""#, Some((None, Some(0.5)))),
            (r#""N""#, Some((None, Some(0.0)))),
            ("true", Some((Some(true), Some(1.0)))),
            ("false", Some((Some(false), Some(0.0)))),
            ("1", Some((Some(true), Some(1.0)))),
            ("1.0", Some((Some(true), Some(1.0)))),
            ("0", Some((Some(false), Some(0.0)))),
            ("0.75", Some((None, Some(0.75)))),
            ("7", Some((None, Some(7.0)))),
            (r#""good""#, None),
            ("null", None),
            ("[1]", None),
        ] {
            let scores = format!(r#"{{"match": {{"value": {value}, "answer": "12"}}}}"#);
            let of_sample = Verdict { task: Some("t/1".into()), trial: Some("2".into()), ..Verdict::default() };
            let found = verdicts(Raw(scores.as_bytes()), &of_sample);
            let stated = found.first().map(|verdict| (verdict.passed, verdict.score));
            assert_eq!(stated, expected, "{value}");
            for verdict in &found {
                assert_eq!((verdict.name.as_str(), verdict.judge.as_deref()), ("match", Some("match")));
                assert_eq!((verdict.task.as_deref(), verdict.trial.as_deref()), (Some("t/1"), Some("2")));
            }
        }
        let scores = br#"{"a": {"value": "C"}, "rubric": {"value": {"style": 0.5, "facts": 1}}}"#;
        let found = verdicts(Raw(scores), &Verdict::default());
        let stated: Vec<_> = found.iter().map(|it| (it.name.as_str(), it.judge.as_deref(), it.passed)).collect();
        let expected = [
            ("a", Some("a"), Some(true)),
            ("rubric/style", Some("rubric"), None),
            ("rubric/facts", Some("rubric"), Some(true)),
        ];
        assert_eq!(stated, expected);
        assert_eq!(verdicts(Raw(b"{}"), &Verdict::default()), []);
        assert_eq!(verdicts(Raw(b""), &Verdict::default()), []);
    }
}
