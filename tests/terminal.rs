//! What commands that print rows show on a terminal, at several sizes. `AGENTLOGS_TERMINAL=80x24` makes standard output count as one.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

use agentlogs::analysis::reports::REPORTS;
use agentlogs::base::width::width;

use crate::root;

/// The sizes of terminals.
const SIZES: [(usize, usize); 3] = [(80, 24), (100, 30), (200, 50)];

/// Runs the program with standard output as a terminal of this size, or as a pipe.
fn run(archive: &Path, arguments: &[&str], size: Option<(usize, usize)>, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
    let home = archive.parent().unwrap().join("home");
    command.args(arguments).current_dir(root()).env("HOME", home).env("TZ", "UTC").env("NO_COLOR", "1");
    for variable in
        ["COLUMNS", "LINES", "TERM", "LC_ALL", "LC_CTYPE", "LANG", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE"]
    {
        command.env_remove(variable);
    }
    command.env("AGENTLOGS_ARCHIVE", archive).env_remove("AGENTLOGS_TERMINAL");
    if let Some((width, height)) = size {
        command.env("AGENTLOGS_TERMINAL", format!("{width}x{height}"));
    }
    command.envs(variables.iter().copied());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn text(output: &[u8]) -> String {
    String::from_utf8(output.to_vec()).unwrap()
}

/// The commands that print rows, apart from those whose rows depend on the machine.
fn commands() -> Vec<Vec<String>> {
    let mut commands: Vec<Vec<String>> =
        REPORTS.iter().map(|report| words(&format!("report {}", report.name))).collect();
    let others = [
        "report cost --by project,session --wide",
        "report tools --by mcp_server,tool",
        "report cost --by day",
        "report waste --top 3",
        "query --list",
        "query runaway-sessions",
        "query what-fills-the-context",
        "query why-sessions-fail",
        "query slow-tools",
        "compare --a runtime=claude --b runtime=codex",
        "prices list sonnet",
        "prices show claude-sonnet-4-5",
        "runtimes --formats",
        "schema",
        "schema turns",
        "check --max cost_usd=1000 --max tools.calls=100000",
        "bill tests/bill/anthropic-usage.csv tests/bill/anthropic-cost.csv",
        "config",
    ];
    commands.extend(others.iter().map(|command| words(command)));
    commands.push(vec!["query".to_owned(), "SELECT * FROM turns ORDER BY cost_usd DESC LIMIT 1".to_owned()]);
    commands.push(vec!["query".to_owned(), "SELECT * FROM sessions ORDER BY cost_usd DESC".to_owned()]);
    commands
}

fn words(command: &str) -> Vec<String> {
    command.split(' ').map(str::to_owned).collect()
}

/// No line is wider than the terminal, no word is broken inside, the main measure is there, and one line at most names what is hidden.
#[test]
fn rows_fit_every_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("archive");
    run(&archive, &["ingest", "sample-logs"], None, &[]);
    for command in commands() {
        let arguments: Vec<&str> = command.iter().map(String::as_str).collect();
        let known = known_words(&text(
            &run(&archive, &[&arguments[..], &["--format", "csv", "--limit", "0"]].concat(), None, &[]).stdout,
        ));
        for size in SIZES {
            let output = run(&archive, &arguments, Some(size), &[]);
            let (rows, notes) = (text(&output.stdout), text(&output.stderr));
            let shown = || format!("{arguments:?} at {size:?}:\n{rows}{notes}");
            assert!(rows.lines().all(|line| width(line) <= size.0), "{}", shown());
            assert!(notes.lines().filter(|line| line.contains("hidden: ")).count() <= 1, "{}", shown());
            let broken = rows.split_whitespace().find(|word| {
                // A count of one has its unit in the singular on a terminal only.
                is_name(word) && !is_known(word, &known) && !is_known(&format!("{word}s"), &known)
            });
            assert_eq!(broken, None, "{}", shown());
            if let [_, name] = &arguments[..]
                && let Some(report) = REPORTS.iter().find(|report| report.name == *name)
                && !report.measures().is_empty()
            {
                // The first measure of some reports is shown with --wide only.
                let mains = report.measures().get(..2).unwrap_or_default();
                let is_main = |word: &str| word.len() > 2 && mains.iter().any(|main| main.name.starts_with(word));
                assert!(rows.is_empty() || rows.split_whitespace().any(is_main), "{}", shown());
            }
        }
    }
}

/// What a person sees of the demo, at each size.
#[test]
fn the_demo_on_terminals() {
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("archive");
    run(&archive, &["ingest", "demo"], None, &[]);
    let others = [
        "report cost --by project,session --limit 4",
        "report cost --by day --limit 4",
        "report tools --wide --limit 2",
        "compare --a runtime=claude --b runtime=codex",
        "compare --a label:prompt=a --b label:prompt=b",
        "sessions --limit 4 --now 2026-11-20T17:00:00Z",
        "query runaway-sessions --limit 4",
        "query slow-tools --limit 4",
        "prices explain 01a1c4b2 --limit 4",
        "check --max cost_usd=100 --max tools.calls=1000",
    ];
    let reports = REPORTS.iter().filter(|report| report.name != "health");
    let reports = reports.map(|report| format!("report {} --limit 4", report.name));
    let commands: Vec<String> = reports.chain(others.map(str::to_owned)).collect();
    for size in SIZES {
        let shown = |command: &String| {
            let mut arguments = words(command);
            if command.starts_with("report") {
                arguments.extend(["--now".to_owned(), "2026-11-20T17:00:00Z".to_owned()]);
            }
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            format!("$ agentlogs {command}\n{}\n", text(&run(&archive, &arguments, Some(size), &[]).stdout))
        };
        let shown: String = commands.iter().map(shown).collect();
        insta::assert_snapshot!(format!("terminal-{}x{}", size.0, size.1), shown);
    }
}

/// Whether a word consists of letters and underscores: not a number with a unit, and not shortened.
fn is_name(word: &str) -> bool {
    word.len() > 3 && word.chars().all(|char| char.is_ascii_alphabetic() || char == '_')
}

fn known_words(csv: &str) -> BTreeSet<String> {
    // Schema on a terminal lists names of columns; the empty value of a group has a name.
    let separators = |char: char| char.is_whitespace() || "\",;()`'".contains(char);
    csv.split(separators)
        .chain(["unknown", "total", "points", "columns", "sources", "file_changes", "events"])
        .map(str::to_owned)
        .collect()
}

/// Whether a word is one of the rows, or the part of a name of a column before or after an underscore.
fn is_known(word: &str, known: &BTreeSet<String>) -> bool {
    let is_part = |name: &String| {
        name.match_indices(word).any(|(at, _)| {
            let before = name[..at].ends_with('_') || at == 0;
            before && (word.ends_with('_') || at + word.len() == name.len())
        })
    };
    known.contains(word) || known.iter().any(is_part)
}

/// A terminal shows up to 20 rows of an answer, so that the header stays visible, and states how many more there are; elsewhere all
/// rows are printed.
#[test]
fn a_terminal_gets_as_many_rows_as_fit_it() {
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("archive");
    run(&archive, &["ingest", "sample-logs"], None, &[]);
    let terminal = Some((120, 50));
    let count = |arguments: &[&str], size| {
        let output = run(&archive, arguments, size, &[]);
        (text(&output.stdout).lines().count(), text(&output.stderr))
    };
    let all = "SELECT session_id, cost_usd FROM sessions ORDER BY session_id";
    let (whole, notes) = count(&["query", all], None);
    assert!(whole > 100 && !notes.contains("more"), "{notes}");
    let (short, notes) = count(&["query", all], terminal);
    assert!(short == 22 && notes.contains(&format!("{} more (--limit 0)", whole - 22)), "{short} {notes}");
    for (height, rows) in [(24, 13), (30, 19), (31, 20), (10, 5)] {
        assert_eq!(count(&["query", all], Some((120, height))).0, rows + 2, "{height}");
    }
    assert_eq!(count(&["query", all, "--limit", "0"], terminal).0, whole);
    assert_eq!(count(&["query", all, "--limit", "3"], None).0, 5);
    assert_eq!(count(&["query", &format!("{all} LIMIT 30")], terminal).0, 32);
    assert!(count(&["schema", "sessions"], terminal).0 > 40, "a list of columns is whole");
    let report = count(&["report", "cost", "--by", "session"], terminal);
    assert!(report.0 == 23 && report.1.contains(" more (--limit 0)"), "{report:?}");
    assert_eq!(count(&["report", "cost", "--by", "hour_of_day"], terminal).1.matches(" more").count(), 0);
    // The latest days are first, in the order of time elsewhere.
    let days = |size| {
        let rows = text(&run(&archive, &["report", "cost", "--by", "day", "--limit", "0"], size, &[]).stdout);
        let day = |line: &str| line.split_whitespace().next().filter(|word| word.starts_with("20")).map(str::to_owned);
        rows.lines().filter_map(day).collect::<Vec<_>>()
    };
    let (mut on_terminal, elsewhere) = (days(terminal), days(None));
    assert!(on_terminal.len() > 20 && on_terminal[0] > on_terminal[1], "{on_terminal:?}");
    on_terminal.reverse();
    assert_eq!(on_terminal, elsewhere);
}

/// Numbers are abbreviated on a terminal, and exact elsewhere and with `--exact`.
#[test]
fn a_terminal_gets_numbers_for_people() {
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("archive");
    run(&archive, &["ingest", "sample-logs/claude-transcript"], None, &[]);
    let rows =
        |arguments: &[&str], size| text(&run(&archive, &[&["report", "cost"], arguments].concat(), size, &[]).stdout);
    let terminal = Some((120, 24));
    assert!(rows(&[], terminal).contains(" $"), "{}", rows(&[], terminal));
    for (arguments, size) in [(&["--exact"][..], terminal), (&[], None), (&["--format", "markdown"], terminal)] {
        assert!(!rows(arguments, size).contains('$'), "{}", rows(arguments, size));
    }
    assert!(rows(&["--human"], None).contains(" $"));
}

/// What is not there is stated, and is not an error.
#[test]
fn nothing_that_matches_is_a_sentence() {
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("archive");
    run(&archive, &["ingest", "sample-logs/claude-transcript"], None, &[]);
    for (arguments, expected) in [
        (&["report", "cost", "--model", "nosuch"][..], "no rows: no session has the model \"nosuch\""),
        (&["report", "tools", "--label", "passed=false"], "no rows: no session has the label \"passed\""),
        (&["report", "reconcile", "--model", "nosuch"], "no rows: no session has the model"),
        (&["report", "cost", "--since", "1999-01-01", "--until", "1999-01-02"], "no rows"),
        (&["query", "SELECT session_id FROM sessions WHERE model = 'nosuch'"], "no rows"),
    ] {
        for size in [Some((80, 24)), None] {
            let output = run(&archive, arguments, size, &[]);
            assert!(text(&output.stderr).contains(expected), "{arguments:?}: {output:?}");
            assert_eq!(output.stdout.is_empty(), size.is_some(), "{arguments:?}: {output:?}");
        }
    }
}

/// A dumb terminal and one whose locale is ASCII get ASCII, except for text of logs. Colours follow the variables and `--color`.
#[test]
fn terminals_differ() {
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("archive");
    run(&archive, &["ingest", "sample-logs/claude-transcript"], None, &[]);
    let size = Some((60, 24));
    let rows = |variables: &[(&str, &str)], options: &[&str]| {
        text(&run(&archive, &[&["report", "tools"], options].concat(), size, variables).stdout)
    };
    assert!(rows(&[], &[]).contains('─'));
    for variable in [("TERM", "dumb"), ("LC_ALL", "C")] {
        assert!(rows(&[variable], &[]).is_ascii(), "{}", rows(&[variable], &[]));
    }
    for by in ["tool", "day"] {
        assert!(rows(&[], &["--chart", "--by", by]).contains('█'));
        assert!(rows(&[("LC_ALL", "C")], &["--chart", "--by", by]).is_ascii());
    }
    for (variables, options, expected) in [
        (&[("NO_COLOR", "1")][..], &[][..], false),
        (&[("NO_COLOR", "")], &[], true),
        (&[("NO_COLOR", "1")], &["--color", "always"], true),
        (&[("NO_COLOR", "")], &["--color", "never"], false),
        (&[("NO_COLOR", ""), ("CLICOLOR", "0")], &[], false),
        (&[("NO_COLOR", ""), ("TERM", "dumb")], &[], false),
        (&[("NO_COLOR", ""), ("TERM", "dumb"), ("FORCE_COLOR", "1")], &[], true),
    ] {
        assert_eq!(rows(variables, options).contains('\u{1b}'), expected, "{variables:?} {options:?}");
    }
    let before_the_command = run(&archive, &["--color", "always", "report", "tools"], None, &[]);
    assert!(text(&before_the_command.stdout).contains('\u{1b}'));
}

/// The size is that of the terminal, unless `COLUMNS` and `LINES` name another one.
#[cfg(target_os = "linux")]
#[test]
fn the_size_is_that_of_the_terminal() {
    use std::io::Read as _;
    use std::process::Stdio;

    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("archive");
    run(&archive, &["ingest", "sample-logs/claude-transcript"], None, &[]);
    let rows_of = |columns: &str| {
        // `script` of util-linux runs a command in a pseudo-terminal.
        let program = env!("CARGO_BIN_EXE_agentlogs");
        let command =
            format!("stty cols 90 rows 30; {columns} '{program}' query 'SELECT * FROM turns LIMIT 9' 2>/dev/null");
        let mut script = Command::new("script");
        // The working directory of the tests may be gone: `commands` runs in a temporary one.
        script.current_dir(root());
        script.args(["-qec", &command, "/dev/null"]).env("AGENTLOGS_ARCHIVE", &archive).env("HOME", directory.path());
        script.env_remove("COLUMNS").env_remove("LINES").env("TERM", "xterm").env_remove("AGENTLOGS_TERMINAL");
        let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
        // Open until the end: `script` writes an end of input into the terminal, which the terminal echoes as `^D`.
        let stdin = child.stdin.take();
        let mut rows = String::new();
        child.stdout.take()?.read_to_string(&mut rows).unwrap();
        drop(stdin);
        child.wait().unwrap();
        Some(rows.replace("\u{1b}[1m", "").replace("\u{1b}[0m", ""))
    };
    let widest = |rows: &str| rows.lines().map(|line| width(line.trim_end())).max().unwrap_or_default();
    // Not every machine has it.
    if let Some(rows) = rows_of("") {
        assert!((60..=90).contains(&widest(&rows)), "{rows:?}");
        let rows = rows_of("COLUMNS=50").unwrap();
        assert!((1..=50).contains(&widest(&rows)), "{rows:?}");
    }
}
