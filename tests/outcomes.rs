//! `report outcomes`: properties of its counts and estimates, for any sessions and verdicts.

use agentlogs::analysis::outcomes::statistics::{pass_at_k, pass_hat_k};
use agentlogs::analysis::reports::{self, Frames, Options};
use agentlogs::store::frames::time_type;
use polars::prelude::*;
use proptest::prelude::*;

/// Sessions of two runtimes, and verdicts on them: whether each session passed, in the order of the sessions. A session has a
/// task by its number, so that each of `tasks` tasks has the same number of trials.
fn tables(passed: &[Option<bool>], tasks: usize) -> Frames {
    let count = passed.len();
    let ids: Vec<String> = (0..count).map(|index| format!("s{index}")).collect();
    let runtimes: Vec<&str> = (0..count).map(|index| if index % 3 == 0 { "pi" } else { "codex" }).collect();
    let unknown = |name: &str, dtype: DataType| Series::full_null(name.into(), count, &dtype).into_column();
    let mut sessions = df!("runtime" => &runtimes, "session_id" => &ids).unwrap();
    for column in [
        unknown("parent_session_id", DataType::String),
        unknown("cost_usd", DataType::Float64),
        unknown("total_tokens", DataType::Int64),
        unknown("turns", DataType::Int64),
        unknown("duration_ms", DataType::Int64),
        unknown("started_at", time_type()),
    ] {
        sessions.with_column(column).unwrap();
    }
    let task: Vec<String> = (0..count).map(|index| format!("t{}", index % tasks)).collect();
    let trial: Vec<String> = (0..count).map(|index| format!("{}", index / tasks)).collect();
    let verdicts = df!(
        "runtime" => &runtimes,
        "session_id" => &ids,
        "task" => task,
        "trial" => trial,
        "name" => vec!["verdict"; count],
        "source_path" => vec!["verdicts.csv"; count],
        "matched_by" => vec!["session_id"; count],
        "passed" => passed,
        "score" => vec![None::<f64>; count],
        "judged_at" => vec![None::<i64>; count],
        "message" => vec![None::<&str>; count],
    );
    Frames::from_iter([("sessions", sessions.lazy()), ("verdicts", verdicts.unwrap().lazy())])
}

/// The total of the report, and its groups by runtime.
fn answer(tables: &Frames, k: u32) -> (DataFrame, DataFrame) {
    let options = Options { by: vec!["runtime".into()], k: Some(k), wide: true, total: true, ..Options::default() };
    let answer = reports::find("outcomes").unwrap().run(tables, &options).unwrap();
    (answer.total.unwrap(), answer.rows)
}

fn number(frame: &DataFrame, name: &str, row: usize) -> Option<f64> {
    frame.column(name).unwrap().cast(&DataType::Float64).unwrap().f64().unwrap().get(row)
}

/// The dimensions of verdicts: each trial is in the group of its verdict, its task and its name.
#[test]
fn verdicts_are_dimensions_and_filters() {
    let tables = tables(&[Some(true), Some(false), None, Some(true), Some(true), None], 3);
    let groups = |by: &str, only: &[(&str, &str)]| {
        let only = only.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let scope = reports::Scope { only, ..reports::Scope::default() };
        let options =
            Options { by: vec![by.into()], scope, sort: Some(format!("+{by}")), wide: true, ..Options::default() };
        let report = reports::find("outcomes").unwrap();
        assert!(report.tables_for(&options).contains(&"verdicts"));
        let rows = report.run(&tables, &options).unwrap().rows;
        let names = rows.column(by).unwrap().cast(&DataType::String).unwrap();
        let names: Vec<String> = names.str().unwrap().iter().map(|name| name.unwrap_or("?").to_owned()).collect();
        let trials =
            (0..rows.height()).map(|row| format!("{}", number(&rows, "trials", row).unwrap()).parse().unwrap());
        names.into_iter().zip(trials).collect::<Vec<_>>()
    };
    let of =
        |groups: &[(&str, u32)]| groups.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect::<Vec<_>>();
    assert_eq!(groups("verdict", &[]), of(&[("failed", 1), ("passed", 3), ("unjudged", 2)]));
    assert_eq!(groups("task", &[]), of(&[("t0", 2), ("t1", 2), ("t2", 2)]));
    assert_eq!(groups("trial", &[("task", "t1")]), of(&[("0", 1), ("1", 1)]));
    assert_eq!(groups("task", &[("verdict", "passed")]), of(&[("t0", 2), ("t1", 1)]));
    assert_eq!(groups("runtime", &[("passed", "false")]), of(&[("codex", 1)]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn trials_are_passed_failed_or_unjudged(
        passed in prop::collection::vec(prop::option::of(any::<bool>()), 1..40),
        tasks in 1..6_usize,
        k in 1..5_u32,
    ) {
        let (total, groups) = answer(&tables(&passed, tasks), k);
        let counts = |frame: &DataFrame, row: usize| {
            ["trials", "passed", "failed", "unjudged"]
                .map(|name| frame.column(name).unwrap().cast(&DataType::Int64).unwrap().i64().unwrap().get(row).unwrap())
        };
        let mut sums = [0_i64; 4];
        for (frame, row) in (0..groups.height()).map(|row| (&groups, row)).chain([(&total, 0)]) {
            let [trials, passed, failed, unjudged] = counts(frame, row);
            prop_assert_eq!(passed + failed + unjudged, trials);
            let rate = number(frame, "pass_rate", row);
            prop_assert_eq!(rate.is_some(), passed + failed > 0);
            if let Some(rate) = rate {
                let [low, high] = ["pass_rate_low", "pass_rate_high"].map(|name| number(frame, name, row).unwrap());
                prop_assert!(0.0 <= low && low <= rate + 1e-9 && rate <= high + 1e-9 && high <= 1.0, "{low} {rate} {high}");
            }
        }
        for row in 0..groups.height() {
            for (sum, count) in sums.iter_mut().zip(counts(&groups, row)) {
                *sum += count;
            }
        }
        prop_assert_eq!(sums, counts(&total, 0));
        let count = |of: Option<bool>| passed.iter().filter(|it| **it == of).count();
        let expected = [passed.len(), count(Some(true)), count(Some(false)), count(None)];
        prop_assert_eq!(counts(&total, 0).map(|count| usize::try_from(count).unwrap()), expected);
    }

    /// With equally many judged trials of each task, one of k more likely passes the larger k is, and all of k less likely.
    #[test]
    fn estimates_are_monotonic_in_k(
        passed in prop::collection::vec(any::<bool>(), 1..6).prop_flat_map(|first| {
            (Just(first.len()), prop::collection::vec(any::<bool>(), first.len() * 4))
        }),
    ) {
        let (tasks, passed) = passed;
        let passed: Vec<Option<bool>> = passed.into_iter().map(Some).collect();
        let tables = tables(&passed, tasks);
        let of = |k: u32| {
            let (total, _) = answer(&tables, k);
            ["pass_at_1", "pass_at_k", "pass_hat_k", "tasks_with_k"].map(|name| number(&total, name, 0))
        };
        let all: Vec<_> = (1..=5).map(of).collect();
        for pair in all[..4].windows(2) {
            let [first, second] = [pair[0], pair[1]];
            prop_assert!(second[1].unwrap() >= first[1].unwrap() - 1e-9, "{all:?}");
            prop_assert!(second[2].unwrap() <= first[2].unwrap() + 1e-9, "{all:?}");
            prop_assert_eq!(second[3], Some(tasks as f64));
        }
        prop_assert!((all[0][0].unwrap() - all[0][1].unwrap()).abs() < 1e-9);
        prop_assert!((all[0][1].unwrap() - all[0][2].unwrap()).abs() < 1e-9);
        // No task has five trials.
        prop_assert_eq!((all[4][1], all[4][2], all[4][3]), (None, None, Some(0.0)));
    }
}

proptest! {
    #[test]
    fn estimates_are_probabilities(count in 1..60_u64, passed in 0..60_u64, k in 1..60_u64) {
        let passed = passed.min(count);
        let (at, hat) = (pass_at_k(count, passed, k), pass_hat_k(count, passed, k));
        prop_assert_eq!(at.is_some(), k <= count);
        if let (Some(at), Some(hat)) = (at, hat) {
            prop_assert!((0.0..=1.0).contains(&at) && (0.0..=1.0).contains(&hat) && hat <= at + 1e-12);
            prop_assert!(pass_at_k(count, passed, k + 1).is_none_or(|more| more >= at - 1e-12));
            prop_assert!(pass_hat_k(count, passed, k + 1).is_none_or(|more| more <= hat + 1e-12));
        }
    }
}
