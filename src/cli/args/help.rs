//! The command line with the help that fits its arguments: commands and options in groups, and what one report has.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

use agentlogs::analysis::present::in_shell;
use agentlogs::analysis::reports::{self, DIMENSIONS, REPORTS, Report};
use agentlogs::base::width::packed;
use agentlogs::store::archive::Archive;
use clap::builder::styling::Styles;
use clap::{Arg, Command, CommandFactory};

use super::Cli;

/// The commands in groups, the daily ones first. A command that is in none is in the last.
const GROUPS: &[(&str, &[&str])] = &[
    ("Daily", &["sessions", "show", "browse", "report", "query", "watch", "dashboard", "compare", "check", "bill"]),
    ("Data", &["ingest", "archive", "export", "verdicts", "git", "prices"]),
    ("Setup", &["runtimes", "config", "statusline", "mcp", "skill", "schema", "completions", "man"]),
    ("Plumbing", &["inspect", "bench", "extract"]),
];

/// The options that filter rows, other than by the runtime.
const FILTERS: &[&str] = &[
    "since",
    "until",
    "last",
    "undated",
    "model",
    "project",
    "repository",
    "session",
    "status",
    "verdict",
    "task",
    "failure",
    "usage",
    "labels",
];

/// Other options that decide which rows there are.
const SOURCES: &[&str] = &["timezone", "runtime", "archive", "logs"];

/// The headings of options that many commands have, and lists of their names. Options without one are about the command itself.
const HEADINGS: &[(&str, &[&[&str]])] = &[
    ("Which rows", &[FILTERS, SOURCES]),
    ("How they are printed", &[&["sort", "limit", "wide", "human", "exact", "chart", "svg", "format", "bom", "color"]]),
];

/// The options that only one report has.
const OF_ONE_REPORT: &[(&str, &str)] = &[
    ("price_as", "cost"),
    ("tree", "sessions"),
    ("k", "outcomes"),
    ("unjudged", "outcomes"),
    ("within", "shipped"),
    ("top", "waste"),
    ("active", "limits"),
];

/// The options of reports that a report without dimensions, or one about whole files, does not accept.
const NOT_OF: &[(&str, &[&[&str]])] = &[("limits", &[&["by", "undated"]]), ("health", &[FILTERS, &["by", "cost"]])];

/// The command line. `arguments` are those of the program: the help of `report NAME` is about this report.
pub fn command(arguments: &[OsString]) -> Command {
    let command = Cli::command();
    let template = format!(
        "{{about-section}}\n{{usage-heading}} {{usage}}\n\nWithout a command: read your runtimes' logs, \
         and show the last days.\n\n{}{}\n{{options}}{{after-help}}",
        groups(&command),
        heading("Options")
    );
    let names: Vec<String> = command.get_subcommands().map(|it| it.get_name().to_owned()).collect();
    let mut command = command.help_template(template);
    for name in names {
        command = command.mut_subcommand(name, |subcommand| match subcommand.get_name() {
            "report" => of_report(with_headings(subcommand), report_in(arguments)),
            _ => with_headings(subcommand),
        });
    }
    command
}

/// A heading, as clap styles its own.
fn heading(text: &str) -> String {
    let styles = Styles::styled();
    let style = styles.get_header();
    format!("{style}{text}:{style:#}")
}

/// The list of commands.
fn groups(command: &Command) -> String {
    let all: Vec<&Command> = command.get_subcommands().filter(|it| !it.is_hide_set()).collect();
    let width = all.iter().map(|it| it.get_name().len()).max().unwrap_or_default();
    let is_grouped = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let mut out = String::new();
    for (index, (title, names)) in GROUPS.iter().enumerate() {
        let named = names.iter().filter_map(|name| all.iter().find(|it| it.get_name() == *name));
        let others = all.iter().filter(|it| index + 1 == GROUPS.len() && !is_grouped(it.get_name()));
        let _ = writeln!(out, "{}", heading(title));
        for it in named.chain(others) {
            let about = it.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(out, "  {:width$}  {about}", it.get_name());
        }
        out.push('\n');
    }
    out
}

/// The command with its options below headings, if it selects rows.
fn with_headings(command: Command) -> Command {
    let has = |id: &str| command.get_arguments().any(|arg| arg.get_id() == id);
    if !has("since") {
        return command;
    }
    command.mut_args(|arg| {
        let id = arg.get_id().as_str().to_owned();
        let found = HEADINGS.iter().find(|(_, lists)| lists.iter().any(|ids| ids.contains(&id.as_str())));
        match found {
            Some((heading, _)) if !arg.is_positional() => arg.help_heading(*heading),
            _ => arg,
        }
    })
}

/// The report that the arguments name.
fn report_in(arguments: &[OsString]) -> Option<&'static Report> {
    let mut names = arguments.iter().skip(1).filter_map(|argument| argument.to_str());
    names.find(|name| *name == "report")?;
    names.find_map(|name| reports::find(name).ok())
}

/// `report` with the help of one report, or of all.
fn of_report(command: Command, report: Option<&Report>) -> Command {
    let is_hidden = |arg: &Arg| {
        let id = arg.get_id().as_str();
        let other =
            OF_ONE_REPORT.iter().any(|(option, name)| *option == id && report.is_none_or(|it| it.name != *name));
        let refused = NOT_OF.iter().any(|(name, lists)| {
            report.is_some_and(|it| it.name == *name) && lists.iter().any(|ids| ids.contains(&id))
        });
        arg.is_hide_set() || other || refused
    };
    let command = command.mut_args(|arg| {
        let hidden = is_hidden(&arg) || (report.is_some() && arg.is_positional());
        arg.hide(hidden)
    });
    if let Some(report) = report {
        return command
            .about(report.about)
            .long_about(report.about)
            .override_usage(format!("agentlogs report {} [OPTIONS]", report.name))
            .after_help(after_report(report));
    }
    let all: Vec<(&str, String)> = REPORTS.iter().map(|it| (it.name, it.about.to_owned())).collect();
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}\n{}\n\n{{all-args}}{{after-help}}",
        heading("Reports"),
        listed(&all)
    );
    command.help_template(template).after_help(after_reports())
}

/// What follows the options of `report --help`.
fn after_reports() -> String {
    let mut dimensions: Vec<(&str, String)> = Vec::new();
    for dimension in DIMENSIONS {
        dimensions.push((dimension.name, format!("{} ({})", dimension.about, dimension.reports_as_text())));
    }
    dimensions.push(("label:KEY", "Value of the session's label KEY (all but limits, health)".to_owned()));
    format!(
        "{}\n{}\n\n{}\n  \
         agentlogs report cost --by week,model --last 30d\n  \
         agentlogs report cost --by session --project shop --limit 20\n  \
         agentlogs report tools --by mcp_server,tool --runtime claude --sort errors\n  \
         agentlogs report sessions --by label:experiment --format csv\n  \
         agentlogs report cost --by week,runtime --chart --svg weeks.svg\n\n\
         agentlogs report NAME --help shows the columns, dimensions and own options of one report, such as \
         report outcomes --k, report waste --top, report sessions --tree and report cost --price-as.",
        heading("Dimensions, and the reports that have them"),
        listed(&dimensions),
        heading("Examples"),
    )
}

/// What follows the options of `report NAME --help`.
fn after_report(report: &Report) -> String {
    let mut out = String::new();
    let columns: Vec<(&str, String)> = report.measures().iter().map(|it| (it.name, it.about.to_owned())).collect();
    if !columns.is_empty() {
        let _ = write!(out, "{}\n{}\n\n", heading("Columns, some of them only with --wide"), listed(&columns));
    }
    let dimensions: Vec<(&str, String)> = report.dimensions().map(|it| (it.name, it.about.to_owned())).collect();
    if !dimensions.is_empty() {
        let labels = [("label:KEY", "Value of the session's label KEY".to_owned())];
        let all: Vec<_> = dimensions.into_iter().chain(labels).collect();
        let _ = write!(out, "{}\n{}\n\n", heading("Dimensions"), listed(&all));
    }
    let examples = examples(report.name);
    let _ = write!(out, "{}\n  {}", heading("Examples"), examples.join("\n  "));
    out
}

fn examples(report: &str) -> Vec<String> {
    let own: &[&str] = match report {
        "cost" => &["--by week,model --last 30d", "--by model --price-as gpt-5.1-codex"],
        "tools" => &["--by mcp_server,tool --sort errors"],
        "sessions" => &["--by model --last 7d", "--tree --since week"],
        "skills" => &["--last 30d --wide", "--by plugin,skill", "--by mcp_server"],
        "shipped" => &["--by outcome --last 30d", "--by author,week --wide"],
        "agents" => &["--by agent,model --last 30d", "--by project,agent --wide"],
        "requests" => &["--by model --last 30d", "--by project,month --wide"],
        "outcomes" => &["--by label:experiment,model --k 3", "--by task --verdict failed"],
        "failures" => &["--by model,failure_class", "--by task --failure unverified"],
        "waste" => &["--by project,cause --last 30d", "--top 3"],
        "limits" => &["--active", "--since week --wide"],
        "health" => &["--runtime claude"],
        "tokens" | "turns" | "models" | "files" | "integrity" | "errors" | "behavior" | "trends" | "reconcile" => {
            &["--by model --last 7d", "--by project --since month --format csv"]
        }
        _ => &[],
    };
    own.iter().map(|options| format!("agentlogs report {report} {options}")).collect()
}

/// The width of lists, that of most terminals.
const LIST_COLUMNS: usize = 80;

/// Names with their descriptions, whose further lines are indented as the first.
fn listed(names: &[(&str, String)]) -> String {
    let width = names.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let indent = " ".repeat(width + 4);
    let lines = names.iter().map(|(name, about)| {
        let about = packed(about.split(' '), LIST_COLUMNS.saturating_sub(indent.len()));
        format!("  {name:width$}  {}", about.join(&format!("\n{indent}")))
    });
    lines.collect::<Vec<_>>().join("\n")
}

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
    use super::*;

    fn help(arguments: &[&str]) -> String {
        let arguments: Vec<OsString> = ["agentlogs"].iter().chain(arguments).map(OsString::from).collect();
        let error = command(&arguments).term_width(80).try_get_matches_from(&arguments).unwrap_err();
        assert_eq!(error.kind(), clap::error::ErrorKind::DisplayHelp, "{error}");
        error.render().to_string()
    }

    #[test]
    fn every_report_has_examples() {
        for report in REPORTS {
            assert!(!examples(report.name).is_empty(), "{}: give `examples` options that its readers use", report.name);
        }
    }

    #[test]
    fn every_command_is_in_one_group() {
        let command = Cli::command();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut all: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        grouped.sort_unstable();
        all.sort_unstable();
        assert_eq!(grouped, all);
        command.debug_assert();
        let text = help(&["--help"]);
        let first: Vec<&str> = text.lines().take(24).collect();
        assert!(first.iter().any(|line| line.starts_with("  check ")), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    /// The options of one report are in its help, and in no other; those that it refuses are not.
    #[test]
    fn options_of_one_report_belong_to_it() {
        for report in REPORTS {
            let text = help(&["report", report.name, "--help"]);
            for (id, name) in OF_ONE_REPORT {
                let option = format!("--{}", id.replace('_', "-"));
                let is_listed = text.lines().any(|line| line.trim_start().starts_with(&option));
                assert_eq!(is_listed, report.name == *name, "{} {option}\n{text}", report.name);
            }
            assert!(text.contains(&format!("agentlogs report {} [OPTIONS]", report.name)), "{text}");
            assert!(report.measures().iter().all(|measure| text.contains(&format!("\n  {} ", measure.name))), "{text}");
        }
        let all = help(&["report", "--help"]);
        assert!(
            all.find("Reports:") < all.find("Which rows:") && all.find("Which rows:") < all.find("Dimensions"),
            "{all}"
        );
        assert!(!help(&["report", "health", "--help"]).contains("--since"));
        for text in [all, help(&["report", "outcomes", "--help"]), help(&["report", "skills", "--help"])] {
            assert!(text.lines().all(|line| line.chars().count() <= LIST_COLUMNS), "{text}");
        }
    }

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
