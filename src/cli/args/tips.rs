//! What to write in place of a wrong command line: commands and options of other programs, and arguments that are missing.

use std::ffi::OsString;
use std::path::Path;

use agentlogs::analysis::present::in_shell;
use agentlogs::analysis::reports::{self, REPORTS};
use agentlogs::base::width::packed;
use agentlogs::store::archive::Archive;
use clap::Command;

use super::help::LIST_COLUMNS;

/// Commands of other programs, and what does the same here.
const OTHER_COMMANDS: &[(&str, &str)] = &[
    ("budget", "check"),
    ("diff", "compare"),
    ("history", "sessions"),
    ("html", "dashboard"),
    ("import", "ingest"),
    ("list", "sessions"),
    ("ls", "sessions"),
    ("month", "report cost --since month"),
    ("scan", "ingest"),
    ("serve", "dashboard"),
    ("sql", "query"),
    ("stats", "report sessions"),
    ("status", "report sessions --by status"),
    ("today", "report cost --since today"),
    ("tui", "browse"),
    ("version", "--version"),
    ("week", "report cost --since week"),
    ("yesterday", "report cost --since yesterday --until yesterday"),
];

/// What an unknown command is called here: a report without `report`, a command of another program, or a similar name.
pub fn other_command(command: &Command, name: &str) -> Option<String> {
    let name = name.to_lowercase();
    let other = OTHER_COMMANDS.iter().find(|(other, _)| *other == name).map(|(_, here)| (*here).to_owned());
    let report = || Some(format!("report {}", reports::find(&name).ok()?.name));
    let of_other_program = || Some(format!("report {}", reports::other_report(&name)?));
    let similar = || {
        let commands = command.get_subcommands().filter(|it| !it.is_hide_set());
        let commands = commands.map(|it| (it.get_name(), it.get_name().to_owned()));
        let named = commands.chain(REPORTS.iter().map(|it| (it.name, format!("report {}", it.name))));
        // One letter of a short name, two of a longer one.
        let most = if name.len() < 6 { 1 } else { 2 };
        let near = named.map(|(known, here)| (strsim::damerau_levenshtein(&name, known), here));
        near.filter(|(distance, _)| *distance <= most).min_by_key(|(distance, _)| *distance).map(|(_, here)| here)
    };
    Some(format!("agentlogs {}", other.or_else(report).or_else(of_other_program).or_else(similar)?))
}

/// Options of other programs, and what does the same here.
const OTHER_OPTIONS: &[(&str, &str, &str)] = &[
    ("--json", "format", "--format json"),
    ("-j", "format", "--format json"),
    ("--csv", "format", "--format csv"),
    ("--markdown", "format", "--format markdown"),
    ("--md", "format", "--format markdown"),
    ("-o", "format", "--format json"),
    ("--output", "format", "--format json"),
    ("-n", "limit", "--limit N"),
    ("--lines", "limit", "--limit N"),
    ("--count", "limit", "--limit N"),
    ("--days", "last", "--last 7d"),
    ("-d", "last", "--last 7d"),
    ("--weeks", "last", "--last 2w"),
    ("--months", "last", "--last 3mo"),
    ("--hours", "last", "--last 12h"),
    ("--today", "since", "--since today"),
    ("--yesterday", "since", "--since yesterday --until yesterday"),
    ("--from", "since", "--since 2026-11-01"),
    ("--after", "since", "--since 2026-11-01"),
    ("--to", "until", "--until 2026-11-30"),
    ("--before", "until", "--until 2026-11-30"),
    ("--daily", "by", "--by day"),
    ("--weekly", "by", "--by week"),
    ("--monthly", "by", "--by month"),
    ("--group-by", "by", "--by model"),
    ("--breakdown", "by", "--by day,model"),
    ("--order", "sort", "--sort COLUMN"),
    ("--order-by", "sort", "--sort COLUMN"),
    ("--tz", "timezone", "--timezone Europe/Berlin"),
    ("--all", "limit", "--limit 0"),
    ("--format", "kind", "--as KIND"),
    ("--kind", "kind", "--as KIND"),
    ("--type", "kind", "--as KIND"),
];

/// The commands that the arguments name, from the program on. Options and their values may precede the first of them.
fn commands_in<'a>(command: &'a Command, arguments: &[OsString]) -> Vec<&'a Command> {
    let mut found = vec![command];
    for name in arguments.iter().skip(1) {
        match found.last().and_then(|command| command.find_subcommand(name)) {
            Some(subcommand) => found.push(subcommand),
            None if found.len() == 1 || name.to_string_lossy().starts_with('-') => {}
            None => break,
        }
    }
    found
}

/// What can be written for an argument that is missing.
pub fn tip_of_missing(command: &Command, arguments: &[OsString]) -> Option<String> {
    let commands = commands_in(command, arguments);
    match commands.get(1)?.get_name() {
        "report" => {
            let names: Vec<&str> = REPORTS.iter().map(|report| report.name).collect();
            let names = names.join(", ");
            let lines = packed(names.split(' '), LIST_COLUMNS.saturating_sub(4)).join("\n    ");
            Some(format!("'agentlogs report --help' describes the reports:\n    {lines}"))
        }
        "query" => Some("'agentlogs query --list' lists the built-in queries".to_owned()),
        _ => Some(format!("for example, `{}`", example_of(&commands)?)),
    }
}

/// The first example of a command in its help, or in that of the command that it belongs to.
fn example_of(commands: &[&Command]) -> Option<String> {
    let names: Vec<&str> = commands.iter().map(|command| command.get_name()).collect();
    let start = names.join(" ");
    let helps = commands.iter().rev().filter_map(|command| command.get_after_help());
    helps.map(ToString::to_string).find_map(|help| {
        let mut lines = help.lines().map(str::trim);
        lines.find(|line| line.starts_with(&start)).map(str::to_owned)
    })
}

/// What an unknown option of another program is called here, if the command has such an option.
pub fn other_option(command: &Command, arguments: &[OsString], option: &str) -> Option<String> {
    let found = commands_in(command, arguments).pop()?;
    if option == "--archive" && std::ptr::eq(found, command) {
        return Some("AGENTLOGS_ARCHIVE=DIR agentlogs".to_owned());
    }
    let has = |id: &str| found.get_arguments().any(|arg| arg.get_id() == id);
    let names = |name: &str| arguments.iter().any(|it| it.to_string_lossy().starts_with(name));
    if has("archive") && !option.starts_with('-') && !names("--archive") && !names("--logs") {
        return Archive::at(Path::new(option)).exists().then(|| format!("--archive {}", in_shell(option)));
    }
    let at = arguments.iter().position(|argument| argument.to_string_lossy().starts_with(option));
    let text = |at: usize| arguments.get(at).and_then(|argument| argument.to_str());
    if option.strip_prefix('-').is_some_and(|rest| rest.starts_with(|char: char| char.is_ascii_digit())) {
        // A number without its sign, after the option that it was meant for.
        let (before, number) = (text(at?.checked_sub(1)?)?, text(at?)?.trim_start_matches('-'));
        // In other programs a negative limit means all rows, here 0 does.
        let number = if before == "--limit" { "0" } else { number };
        return has(before.strip_prefix("--")?).then(|| format!("{before} {number}"));
    }
    let (_, id, here) = OTHER_OPTIONS.iter().find(|(other, id, _)| *other == option && has(id))?;
    let attached = at.and_then(text).and_then(|argument| argument.strip_prefix(option)).unwrap_or_default();
    let value =
        if attached.is_empty() { at.and_then(|at| text(at + 1)) } else { Some(attached.trim_start_matches('=')) };
    let number =
        value.filter(|value| *id == "last" && !value.is_empty() && value.bytes().all(|it| it.is_ascii_digit()));
    // As many of them as the other option states.
    let unit = here.rsplit(|char: char| char.is_ascii_digit()).next().unwrap_or_default();
    Some(number.map_or_else(|| (*here).to_owned(), |number| format!("--last {number}{unit}")))
}
#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::args::{Cli, command};

    #[test]
    fn reports_and_commands_of_other_programs_have_an_answer() {
        for (name, expected) in [
            ("cost", "agentlogs report cost"),
            ("Waste", "agentlogs report waste"),
            ("behaviour", "agentlogs report behavior"),
            ("daily", "agentlogs report cost --by day"),
            ("today", "agentlogs report cost --since today"),
            ("list", "agentlogs sessions"),
            ("sql", "agentlogs query"),
            ("version", "agentlogs --version"),
            ("sesions", "agentlogs sessions"),
            ("dashbaord", "agentlogs dashboard"),
            ("limts", "agentlogs report limits"),
        ] {
            assert_eq!(other_command(&Cli::command(), name).as_deref(), Some(expected), "{name}");
        }
        for name in ["update", "login", "frobnicate", "x"] {
            assert_eq!(other_command(&Cli::command(), name), None);
        }
    }

    #[test]
    fn a_missing_argument_has_a_tip() {
        let tip = |words: &str| {
            let arguments: Vec<OsString> = words.split(' ').map(OsString::from).collect();
            tip_of_missing(&command(&arguments), &arguments).unwrap_or_default()
        };
        assert!(tip("agentlogs report").contains("\n    cost, tokens, "));
        assert!(tip("agentlogs query").contains("--list"));
        assert!(tip("agentlogs -v report").contains("describes the reports"));
        assert!(tip("agentlogs --color never bill").contains("usage.csv"));
        assert_eq!(tip("agentlogs bill --by day"), "for example, `agentlogs bill usage.csv cost.csv`");
        assert_eq!(
            tip("agentlogs archive forget --archive a"),
            "for example, `agentlogs archive forget --before 2025-01-01`"
        );
        for name in ["compare", "export", "dashboard", "inspect", "verdicts import", "archive merge"] {
            let tip = tip(&format!("agentlogs {name}"));
            assert!(tip.starts_with(&format!("for example, `agentlogs {name}")), "{name}: {tip}");
        }
    }

    #[test]
    fn options_of_other_programs_have_an_answer() {
        let answer = |arguments: &[&str], option: &str| {
            let arguments: Vec<OsString> = ["agentlogs"].iter().chain(arguments).map(OsString::from).collect();
            other_option(&command(&arguments), &arguments, option).unwrap_or_default()
        };
        assert_eq!(answer(&["report", "cost", "--json"], "--json"), "--format json");
        assert_eq!(answer(&["sessions", "-n", "5"], "-n"), "--limit N");
        assert_eq!(answer(&["report", "cost", "--days", "3"], "--days"), "--last 3d");
        assert_eq!(answer(&["report", "cost", "--weeks=4"], "--weeks"), "--last 4w");
        assert_eq!(answer(&["report", "cost", "-d9"], "-d"), "--last 9d");
        assert_eq!(answer(&["report", "cost", "--months", "x"], "--months"), "--last 3mo");
        assert_eq!(answer(&["report", "cost", "--hours"], "--hours"), "--last 12h");
        assert_eq!(answer(&["report", "cost", "--limit", "-1"], "-1"), "--limit 0");
        assert_eq!(answer(&["sessions", "--last", "-12h"], "-1"), "--last 12h");
        assert_eq!(answer(&["sessions", "-1"], "-1"), "");
        assert_eq!(answer(&["ingest", "--json"], "--json"), "");
        assert_eq!(answer(&["--archive", "evals"], "--archive"), "AGENTLOGS_ARCHIVE=DIR agentlogs");
        assert_eq!(answer(&["schema", "--archive", "evals"], "--archive"), "");
        assert_eq!(answer(&["prices", "list", "--json"], "--json"), "--format json");
        assert_eq!(answer(&["export", "out", "--format", "csv"], "--format"), "--as KIND");
        assert_eq!(answer(&["archive", "check", "src"], "src"), "");
    }
}
