//! `report requests` and `report agents`, and the measures of caches and prefill: docs/behavior.md.

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::analysis::reports::{Frames, Options, Scope, find};
use agentlogs::store::frames::frames;
use polars::prelude::*;

use crate::{facts, reconciled};

/// A value of a report over the sample session `session`.
fn value(report: &str, session: &str, measure: &str) -> Option<f64> {
    let tables = reconciled(facts(Retention::None));
    let tables: Frames = frames(&tables).unwrap().into_iter().map(|(name, frame)| (name, frame.lazy())).collect();
    let scope = Scope { only: vec![("session".to_owned(), session.to_owned())], ..Scope::default() };
    let options = Options { scope, wide: true, ..Options::default() };
    let rows = find(report).unwrap().run(&tables, &options).unwrap().rows;
    assert_eq!(rows.height(), 1, "{report} {session}");
    rows.column(measure).unwrap().cast(&DataType::Float64).unwrap().f64().unwrap().get(0)
}

/// Six responses: two with calls and an answer, the summary of a compaction, one with a call and an answer.
#[test]
fn the_requests_of_a_session_have_its_responses() {
    let of = |measure| value("requests", "01a0c857-ea80-7269-8ef2-a74de452e6b4", measure);
    for (measure, expected) in [
        ("requests", 2.0),
        ("answered_rate", 1.0),
        // 3 and 2; the summary is not a step.
        ("p50_steps", 3.0),
        ("p90_steps", 3.0),
        ("p50_calls", 2.0),
        // From 09:00:00 to the summary at 09:00:52; from 09:00:52 to 09:01:13.
        ("max_duration_ms", 52_000.0),
        // 6,224 + 6,677 + 6,734 and the summary's 6,820; 972 + 1,054.
        ("max_tokens", 26_455.0),
        ("max_cost_usd", 0.054_952),
        ("cost_usd", 0.059_926),
        ("edited", 1.0),
        ("edited_rate", 0.5),
    ] {
        let found = of(measure).unwrap_or_else(|| panic!("{measure}"));
        assert!((found - expected).abs() < 1e-6, "{measure}: {found}");
    }
}

/// The prompts of that session, after the first: 6,537, 6,696, 6,700, 900 and 1,023 tokens, of which 6,120, 6,532, 0, 0 and 900 were
/// read from a cache.
#[test]
fn tokens_are_processed_again() {
    let of = |measure| value("behavior", "01a0c857-ea80-7269-8ef2-a74de452e6b4", measure);
    for (measure, expected) in [
        ("appended_tokens", 417.0 + 164.0 + 6700.0 + 900.0 + 123.0),
        // Growth of 409, 159, 4, 0 and 123, less outputs of 96, 140, 38, 120 and 72.
        ("fresh_tokens", 695.0 - 466.0),
        ("prefill_amplification", 8304.0 / 229.0),
        ("hit_rate_within_5min", 13_552.0 / 21_856.0),
        ("long_call_time_share", 0.0),
    ] {
        let found = of(measure).unwrap_or_else(|| panic!("{measure}"));
        assert!((found - expected).abs() < 1e-6, "{measure}: {found}");
    }
    assert_eq!(of("hit_rate_within_1h"), None);
}

/// A run in the log of its parent, and a session that another one started.
#[test]
fn runs_of_subagents_have_their_cost_and_result() {
    // Two responses of 0.007802 dollars and 10,287 tokens.
    let of = |measure| value("agents", "8a6a63ec-24ed-46a4-ab4c-b2424a23d596", measure);
    for (measure, expected) in [("runs", 1.0), ("cost_usd", 0.007_802), ("total_tokens", 10_287.0), ("turns", 2.0)] {
        let found = of(measure).unwrap_or_else(|| panic!("{measure}"));
        assert!((found - expected).abs() < 1e-6, "{measure}: {found}");
    }
    assert_eq!(value("agents", "ses_2a91c*", "runs"), Some(1.0));
    assert_eq!(value("agents", "ses_2a91c*", "cost_usd"), Some(0.003));
    // Two calls have the id of the call that started it; the other one has 15 bytes.
    assert_eq!(value("agents", "ses_2a91c*", "result_bytes"), Some(52.0));
    // A fork is not a subagent.
    let tables = reconciled(facts(Retention::None));
    let tables: Frames = frames(&tables).unwrap().into_iter().map(|(name, frame)| (name, frame.lazy())).collect();
    let scope = Scope { only: vec![("runtime".to_owned(), "pi".to_owned())], ..Scope::default() };
    let by = vec!["session".to_owned()];
    let rows = find("agents").unwrap().run(&tables, &Options { scope, by, ..Options::default() }).unwrap().rows;
    let sessions = rows.column("session").unwrap().str().unwrap().clone();
    assert!(sessions.iter().all(|session| session != Some("01a0cd62-cf40-76f0-8316-00a35a099950")), "{rows}");
}
