//! The overview of `agentlogs` without a command: its numbers, its text, and its message without logs.

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::analysis::overview::{Look, Overview, Space, Sums, Top};
use agentlogs::analysis::present::Currency;
use agentlogs::analysis::reports::{self, Frames, Options, Scope};
use agentlogs::analysis::show;
use agentlogs::store::frames::frames;
use jiff::Zoned;
use polars::prelude::*;

use crate::{facts, reconciled};

/// The most columns of a line.
const WIDTH: usize = 80;

fn tables() -> Frames {
    let tables = reconciled(facts(Retention::None));
    frames(&tables).unwrap().into_iter().map(|(name, frame)| (name, frame.lazy())).collect()
}

fn now(text: &str) -> Zoned {
    text.parse().unwrap()
}

#[test]
fn the_overview_as_text() {
    let overview = Overview::of(&tables(), &now("2026-10-05T14:30:00[UTC]")).unwrap();
    let look = Look { archive_option: " --archive evals".to_owned(), ..Look::default() };
    let text = overview.text(&look);
    assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
    insta::assert_snapshot!("overview", text);
    let currency = Currency::new("EUR", 0.92).unwrap();
    let colored = overview.text(&Look { color: true, currency, ..Look::default() });
    insta::assert_snapshot!("overview_with_colors_in_euros", colored.replace('\u{1b}', "ESC"));
}

/// A terminal of 80 × 24 shows the command, all of the overview, and the prompt after it; larger ones show more.
#[test]
fn the_overview_fits_its_terminal() {
    let overview = Overview::of(&tables(), &now("2026-10-05T14:30:00[UTC]")).unwrap();
    for (width, height) in [(80, 24), (100, 30), (200, 50)] {
        let look = Look { space: Some(Space { width, height: height - 2 }), ..Look::default() };
        let text = overview.text(&look);
        assert!(text.lines().count() <= height - 2 && text.lines().all(|line| line.chars().count() <= width), "{text}");
        insta::assert_snapshot!(format!("overview_{width}x{height}"), text);
    }
    let lines = |width, height| {
        overview
            .text(&Look { space: Some(Space { width, height }), ..Look::default() })
            .lines()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    for width in [20, 50, 79, 81, 159, 160, 400] {
        for height in [1, 3, 10, 21, 23, 60, 500] {
            let lines = lines(width, height);
            assert!(lines.len() <= height && lines.iter().all(|line| line.chars().count() <= width), "{lines:#?}");
        }
    }
    let ascii = overview.text(&Look { is_ascii: true, ..Look::default() });
    assert!(ascii.is_ascii(), "{ascii}");
}

/// The names of IANA have up to 32 characters.
#[test]
fn the_time_zone_is_whole_and_apart() {
    for zone in ["UTC", "Europe/Berlin", "America/New_York", "America/Los_Angeles", "America/Argentina/ComodRivadavia"]
    {
        let overview = Overview::of(&tables(), &now(&format!("2026-10-05T14:30:00[{zone}]"))).unwrap();
        for space in [None, Some(20), Some(40), Some(60), Some(80), Some(100), Some(200)] {
            let space = space.map(|width| Space { width, height: 48 });
            let text = overview.text(&Look { space, ..Look::default() });
            let is_apart = text.split([' ', '\n']).any(|word| word == zone);
            // 20 columns have the name in two lines.
            assert!(is_apart || space.is_some_and(|space| zone.len() > space.width), "{zone} {space:?}\n{text}");
        }
    }
}

/// A narrow terminal has the same values in other lines, not their beginnings.
#[test]
fn narrow_terminals_cut_nothing() {
    let overview = Overview::of(&tables(), &now("2026-10-05T14:30:00[UTC]")).unwrap();
    let archive_option = " --archive /home/ann/archives/of-the-whole-team".to_owned();
    for width in [20, 30, 40, 50, 60, 72, 80, 159, 200] {
        let space = Some(Space { width, height: 500 });
        let text = overview.text(&Look { space, archive_option: archive_option.clone(), ..Look::default() });
        let joined: String = text.split_whitespace().collect();
        for period in &overview.periods {
            let cost = Currency::default().amount(period.now.cost().unwrap());
            assert!(joined.contains(&cost) && text.contains(&period.sessions.to_string()), "{width} {cost}\n{text}");
        }
        for session in overview.sessions.iter().take(3) {
            let model = session.model.as_deref().unwrap_or("(unknown)").split_whitespace().collect::<String>();
            assert!(joined.contains(&model) && joined.contains(&session.short_id), "{width} {model}\n{text}");
        }
        assert!(
            joined.contains("agentlogsreporthealth--archive/home/ann/archives/of-the-whole-team"),
            "{width}\n{text}"
        );
    }
    // What a person sees in 24 lines.
    for width in [20, 40, 60] {
        let look = Look {
            space: Some(Space { width, height: 22 }),
            archive_option: " --archive evals".to_owned(),
            ..Look::default()
        };
        insta::assert_snapshot!(format!("overview_{width}x24"), overview.text(&look));
    }
}

/// The ids are those that `agentlogs show` takes.
#[test]
fn the_most_expensive_sessions_are_found_by_their_short_ids() {
    let tables = tables();
    let overview = Overview::of(&tables, &now("2026-10-05T14:30:00[UTC]")).unwrap();
    assert!(overview.sessions.len() > 3);
    assert!(overview.sessions.is_sorted_by(|a, b| a.sums.cost_usd >= b.sums.cost_usd));
    for session in &overview.sessions {
        let found = show::find(&tables, &session.short_id, session.runtime.as_deref()).unwrap();
        assert_eq!((found.id, Some(found.runtime)), (session.id.clone(), session.runtime.clone()));
    }
}

/// Ids that have a long beginning in common leave space for the other columns, and `agentlogs show` finds what is left of them.
#[test]
fn long_ids_are_shortened() {
    let long = || (lit("swebench-verified-2026-11-20-claude-sonnet-4-5-") + col("session_id")).alias("session_id");
    let tables = tables().map(|name, frame| match name {
        "sessions" | "turns" | "tool_calls" => frame.with_column(long()),
        _ => frame,
    });
    let overview = Overview::of(&tables, &now("2026-10-05T14:30:00[UTC]")).unwrap();
    for width in [60, 80, 100, 200] {
        let space = Some(Space { width, height: 60 });
        let text = overview.text(&Look { space, ..Look::default() });
        let rows: Vec<&str> = text.lines().filter_map(|line| line.find("swebe").map(|at| &line[at..])).collect();
        assert!(rows.len() > 3, "{text}");
        for (row, session) in rows.iter().zip(&overview.sessions) {
            let cost = Currency::default().amount(session.sums.cost_usd.unwrap());
            let model = session.model.as_deref().unwrap_or("(unknown)");
            let shown = row.split(' ').next().unwrap();
            assert!(row.contains(&format!(" {cost}  {model}")) && shown.chars().count() <= width / 3, "{text}");
            if width >= 80 {
                let found = show::find(&tables, shown, session.runtime.as_deref());
                assert_eq!(found.unwrap_or_else(|error| panic!("{error}")).id, session.id, "{text}");
            }
        }
    }
}

/// Long before and long after the logs it is empty.
#[test]
fn a_time_without_logs_has_zeros() {
    for time in ["2020-01-01T00:00:00[UTC]", "2030-01-01T00:00:00[Europe/Berlin]"] {
        let overview = Overview::of(&tables(), &now(time)).unwrap();
        assert!(overview.periods.iter().all(|period| period.now.rows == 0 && period.sessions_before == 0));
        assert!(overview.models.is_empty() && overview.tools.is_empty() && overview.limits.is_empty());
        let text = overview.text(&Look::default());
        assert!(text.contains("today                  $0.00") && !text.contains("cost per day"), "{text}");
        assert!(text.contains("agentlogs report cost --by month"), "{text}");
    }
}

/// A period is what the report of cost shows since its first day.
#[test]
fn the_periods_are_those_of_reports() {
    let tables = tables();
    for time in
        ["2026-10-05T23:59:59[UTC]", "2026-10-01T00:00:00[Asia/Kolkata]", "2026-09-30T12:00:00[America/New_York]"]
    {
        let now = now(time);
        let overview = Overview::of(&tables, &now).unwrap();
        for period in &overview.periods {
            let scope = Scope {
                since: Some(format!("{}d", period.days).parse().unwrap()),
                timezone: now.time_zone().iana_name().unwrap().to_owned(),
                now: now.timestamp(),
                ..Scope::default()
            };
            let options = Options { scope, total: true, wide: true, ..Options::default() };
            let total = reports::find("cost").unwrap().run(&tables, &options).unwrap().total.unwrap();
            let number =
                |name: &str| total.column(name).unwrap().cast(&DataType::Float64).unwrap().f64().unwrap().get(0);
            let close = |a: Option<f64>, b: Option<f64>| (a.unwrap_or(0.0) - b.unwrap_or(0.0)).abs() < 1e-6;
            assert!(close(period.now.cost_usd, number("cost_usd")), "{time} {period:?}");
            let tokens = period.now.total_tokens.map(|tokens| tokens as f64);
            assert!(close(tokens, number("total_tokens")), "{time} {period:?}");
            assert!(close(Some(period.sessions as f64), number("sessions")), "{time} {period:?}");
        }
        let top = overview.periods.iter().find(|period| period.days == overview.top_days).unwrap().now;
        for names in [&overview.models, &overview.projects] {
            check_sums(names, top);
        }
        let days: f64 = overview.days.iter().filter_map(|day| day.sums.cost_usd).sum();
        assert!((days - overview.periods[2].now.cost_usd.unwrap_or(0.0)).abs() < 1e-6);
    }
}

/// The rows of all names are those of the period.
fn check_sums(names: &[Top], period: Sums) {
    let all = || names.iter().map(|name| name.sums);
    assert_eq!(all().map(|sums| sums.rows).sum::<u64>(), period.rows);
    assert_eq!(all().filter_map(|sums| sums.total_tokens).sum::<i64>(), period.total_tokens.unwrap_or(0));
    let cost: f64 = all().filter_map(|sums| sums.cost_usd).sum();
    assert!((cost - period.cost_usd.unwrap_or(0.0)).abs() < 1e-9);
}

/// A lake of another program may have turns of sessions that its table of sessions lacks.
#[test]
fn turns_of_unknown_sessions_have_no_project() {
    let now = now("2026-10-05T23:59:59[UTC]");
    let tables = tables().map(|name, frame| match name {
        "sessions" => frame.filter(lit(false)),
        _ => frame,
    });
    let overview = Overview::of(&tables, &now).unwrap();
    let [top] = overview.projects.as_slice() else { panic!("{:?}", overview.projects) };
    assert_eq!((&top.name, top.sums), (&None, overview.periods[1].now));
    assert!(top.sums.rows > 0);
}

#[cfg(unix)]
mod program {
    use std::fs;
    use std::path::Path;

    use agentlogs::input::machine::{Machine, System};

    use super::*;
    use crate::places::program::{run, text};
    use crate::places::{fill_home, variables};

    const OVERVIEW: &[&str] = &["--now", "2026-10-05T14:30:00Z"];

    fn machine(home: &Path) -> Machine {
        let system = if cfg!(target_os = "macos") { System::MacOs } else { System::Linux };
        Machine::new(system, variables(system, home))
    }

    #[test]
    fn it_reads_all_places_and_shows_the_last_days() {
        let directory = tempfile::tempdir().unwrap();
        let home = dunce::canonicalize(directory.path()).unwrap();
        fill_home(&machine(&home));
        // An archive of something else in the current directory is neither read nor written.
        let other = home.join("agentlogs-archive");
        fs::create_dir(&other).unwrap();
        fs::create_dir_all(home.join(".config/agentlogs")).unwrap();
        fs::write(home.join(".config/agentlogs/agentlogs.toml"), "currency = { code = \"EUR\", rate = 2 }").unwrap();
        let output = run(&home, &home, OVERVIEW);
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{stderr}");
        for part in
            ["today", "last 7 days", "last 30 days", "models", "claude-sonnet-4-5", "EUR", "agentlogs report health"]
        {
            assert!(stdout.contains(part), "{part}: {stdout}");
        }
        assert!(!stdout.contains('\u{1b}') && !stdout.contains('$'), "{stdout}");
        // A path of the archive has any length.
        let mut lines = stdout.lines().filter(|line| !line.contains("--archive"));
        assert!(lines.all(|line| line.chars().count() <= WIDTH), "{stdout}");
        assert_eq!(fs::read_dir(&other).unwrap().count(), 0);
        // An unchanged archive is not written again.
        let archive = machine(&home).own_data().unwrap().join("archive");
        let current = || dunce::canonicalize(archive.join("current")).unwrap();
        let before = current();
        let again = run(&home, &home, OVERVIEW);
        assert_eq!((text(&again.stdout), current()), (stdout, before));
        assert!(stderr.contains(&format!("archive: {}", archive.display())), "{stderr}");
    }

    /// Also an account that may write everything cannot make a directory there.
    #[cfg(target_os = "linux")]
    #[test]
    fn an_archive_that_cannot_be_written_does_not_stop_it() {
        let directory = tempfile::tempdir().unwrap();
        let home = dunce::canonicalize(directory.path()).unwrap();
        fill_home(&machine(&home));
        let stored = text(&run(&home, &home, OVERVIEW).stdout);
        fs::create_dir_all(home.join(".config/agentlogs")).unwrap();
        fs::write(home.join(".config/agentlogs/agentlogs.toml"), "archive = \"/sys/agentlogs\"").unwrap();
        let output = run(&home, &home, OVERVIEW);
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{stderr}");
        assert!(stderr.contains("/sys/agentlogs") && stderr.contains("AGENTLOGS_ARCHIVE=DIR"), "{stderr}");
        let numbers =
            |text: &str| text.lines().take_while(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(numbers(&stdout), numbers(&stored));
    }

    #[test]
    fn without_logs_it_names_what_to_do() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path();
        for has_empty_directory in [false, true] {
            if has_empty_directory {
                fs::create_dir_all(home.join(".claude/projects")).unwrap();
            }
            let output = run(home, home, &[]);
            let stderr = text(&output.stderr);
            assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
            for part in ["agentlogs runtimes --all", "agentlogs ingest PATH"] {
                assert!(stderr.contains(part), "{part}: {stderr}");
            }
            // A runtime that is here without logs is named.
            assert_eq!(stderr.contains(".claude/projects"), has_empty_directory, "{stderr}");
            assert!(!stderr.contains(".codex"), "{stderr}");
            assert!(!home.join(".local/share/agentlogs/archive/agentlogs.json").exists());
        }
    }

    #[test]
    fn a_wrong_option_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        for args in [["--now", "yesterday"].as_slice(), &["--now", "2026-10-05T14:30:00Z", "schema"], &["--chart"]] {
            let output = run(directory.path(), directory.path(), args);
            assert_eq!(output.status.code(), Some(2), "{args:?}: {}", text(&output.stderr));
        }
    }

    #[test]
    fn the_archive_outlives_the_logs() {
        let directory = tempfile::tempdir().unwrap();
        let home = dunce::canonicalize(directory.path()).unwrap();
        fill_home(&machine(&home));
        let before = text(&run(&home, &home, OVERVIEW).stdout);
        for entry in fs::read_dir(&home).unwrap().map(|entry| entry.unwrap().path()) {
            let is_of_archive = entry.ends_with(".local") || entry.ends_with("Library");
            if !is_of_archive && entry.is_dir() {
                fs::remove_dir_all(entry).unwrap();
            } else if !is_of_archive {
                fs::remove_file(entry).unwrap();
            }
        }
        let output = run(&home, &home, OVERVIEW);
        assert!(output.status.success() && text(&output.stdout) == before, "{}", text(&output.stderr));
    }

    #[test]
    fn a_damaged_archive_is_reported_with_what_repairs_it() {
        let directory = tempfile::tempdir().unwrap();
        let home = dunce::canonicalize(directory.path()).unwrap();
        fill_home(&machine(&home));
        assert!(run(&home, &home, OVERVIEW).status.success());
        let archive = machine(&home).own_data().unwrap().join("archive");
        let failed = |expected: &str| {
            let output = run(&home, &home, OVERVIEW);
            let stderr = text(&output.stderr);
            assert!(output.status.code() == Some(1) && stderr.contains(expected), "{stderr}");
        };
        fs::write(archive.join("current/manifest.json"), "{").unwrap();
        failed(&format!("agentlogs archive repair --archive {}", archive.display()));
        assert!(run(&home, &home, &["archive", "repair", "--archive", archive.to_str().unwrap()]).status.success());
        assert!(run(&home, &home, OVERVIEW).status.success());
        fs::write(archive.join("agentlogs.json"), "{\"version\":1}").unwrap();
        failed(&format!("mv {0} {0}.old && agentlogs", archive.display()));
        fs::write(archive.join("agentlogs.json"), "{\"version\":1000}").unwrap();
        failed("use a newer agentlogs");
    }
}
