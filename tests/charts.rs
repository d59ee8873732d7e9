//! Charts: their title, axes and gaps.

use agentlogs::analysis::present::chart::Chart;
use polars::prelude::*;

#[test]
fn bars_have_their_values_and_unknown_values_are_left_out() {
    let rows = df!(
        "model" => [Some("a<b>&\u{1b}"), None, Some("c"), Some("")],
        "cost_usd" => [Some(2.0), Some(1.0), None, Some(0.0)]
    );
    let chart = Chart::of(&rows.unwrap(), &["model"], "cost_usd").unwrap();
    assert_eq!((chart.unknown, chart.undated, chart.beyond), (1, 0, 0));
    insta::assert_snapshot!("chart_of_bars", chart.text(50));
    let svg = chart.svg();
    assert!(svg.contains("a&lt;b&gt;&amp;\\u{1b}") && !svg.contains("<b>") && !svg.contains('\u{1b}'), "{svg}");
    assert!(svg.contains("cost_usd (US dollars) by model"), "{svg}");
}

/// A chart of turns by a dimension of time, and by runtime if there are runtimes.
fn over_time(dimension: &str, times: &[Option<&str>], runtimes: &[&str], values: &[i64]) -> Chart {
    let mut rows = df!(dimension => times, "turns" => values).unwrap();
    let mut dimensions = vec![dimension];
    if !runtimes.is_empty() {
        rows.with_column(Column::new("runtime".into(), runtimes)).unwrap();
        dimensions.push("runtime");
    }
    Chart::of(&rows, &dimensions, "turns").unwrap()
}

/// Hours, days, weeks and months with a gap, alone and by runtime.
#[test]
fn periods_without_data_are_zero() {
    let mut texts = String::new();
    for (dimension, times) in [
        ("hour", ["2026-10-05 22:00", "2026-10-05 23:00", "2026-10-06 03:00"]),
        ("day", ["2026-02-27", "2026-02-28", "2026-03-04"]),
        ("week", ["2026-09-28", "2026-10-05", "2026-11-02"]),
        ("month", ["2025-11", "2025-12", "2026-04"]),
    ] {
        let rows: Vec<Option<&str>> = times.into_iter().map(Some).chain([None]).collect();
        for runtimes in [&[][..], &["pi", "zag", "pi", "pi"]] {
            let chart = over_time(dimension, &rows, runtimes, &[12_000, 500, 6000, 9]);
            assert_eq!((chart.unknown, chart.undated, chart.beyond), (0, 1, 0));
            texts.push_str(&chart.text(60));
            texts.push('\n');
            let svg = chart.svg();
            assert!(svg.contains("turns by") && svg.contains(times[0]), "{svg}");
            // A column for each period.
            assert!(svg.matches("<rect").count() > 6, "{svg}");
        }
    }
    insta::assert_snapshot!("charts_over_time", texts);
}

#[test]
fn one_period_and_none_are_charts_too() {
    let none = df!("tool" => [""; 0], "calls" => [0_i64; 0]).unwrap();
    let charts = [
        over_time("day", &[Some("2026-10-05")], &[], &[7]),
        over_time("hour", &[Some("2026-10-05 22:00")], &[], &[0]),
        over_time("month", &[], &[], &[]),
        over_time("week", &[None], &["pi"], &[1]),
        Chart::of(&none, &["tool"], "calls").unwrap(),
    ];
    insta::assert_snapshot!("charts_of_few_periods", charts.each_ref().map(|chart| chart.text(60)).join("\n"));
    for chart in charts {
        assert!(chart.svg().contains("<svg"));
    }
}

/// Many periods share a column, which has their maximum: none disappears, and no memory is spent on the others.
#[test]
fn a_long_time_fits_the_width() {
    let chart = over_time("hour", &[Some("1970-01-01 00:00"), Some("9999-12-31 23:00")], &[], &[3, 6]);
    insta::assert_snapshot!("chart_of_millennia", chart.text(80));
    assert!(chart.svg().contains("each column is the largest value"));
    for width in 0..120 {
        for chart in [&chart, &over_time("month", &[Some("2020-01"), Some("2026-01")], &["a", "b"], &[1, 2])] {
            let text = chart.text(width);
            assert!(text.lines().all(|line| line.chars().count() <= usize::from(width).max(70)), "{text}");
        }
    }
}

#[test]
fn negative_values_are_named() {
    let rows = df!("day" => ["2026-10-05", "2026-10-06"], "difference_usd" => [-1.5, 0.5]).unwrap();
    let chart = Chart::of(&rows, &["day"], "difference_usd").unwrap();
    insta::assert_snapshot!("chart_of_negative_values", chart.text(60));
}
