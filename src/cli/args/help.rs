//! The command line with the help that fits its arguments: commands and options in groups, and what one report has.

use std::ffi::OsString;
use std::fmt::Write as _;

use agentlogs::analysis::reports::{self, DIMENSIONS, REPORTS, Report};
use agentlogs::base::width::packed;
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
pub(super) const LIST_COLUMNS: usize = 80;

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
}
