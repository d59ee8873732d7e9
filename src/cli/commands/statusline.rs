//! `agentlogs statusline`: one line about a running session of Claude Code.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

use agentlogs::analysis::statusline::{
    Context, Input, Limit, Line, Question, Session, Spent, Usage, WindowLeft, session, usage,
};
use agentlogs::base::time::Time;
use agentlogs::base::zone::zone;

use super::output::complain;
use super::reading::start_threads;
use super::{Outcome, WrongCommandLine};
use crate::cli::args::Statusline;
use crate::cli::settings::{Settings, archive_at};

/// The setting of Claude Code.
const USAGE: &str = "statusline reads the JSON that Claude Code writes to standard input; add \"statusLine\": {\"type\": \
                     \"command\", \"command\": \"agentlogs statusline\"} to ~/.claude/settings.json";

pub fn run(args: &Statusline, settings: &Settings) -> anyhow::Result<Outcome> {
    if io::stdin().is_terminal() {
        return Err(WrongCommandLine(USAGE.to_owned()).into());
    }
    let note = |message: &dyn std::fmt::Display| {
        if args.verbose {
            complain(format_args!("{message}"));
        }
    };
    let input = Input::read(io::stdin().lock()).unwrap_or_else(|| {
        note(&"standard input contains no JSON object");
        Input::default()
    });
    let now = args.now.unwrap_or_else(jiff::Timestamp::now);
    let timezone = args.timezone.as_deref().unwrap_or(&settings.timezone.value);
    let zone = zone(timezone).unwrap_or_else(|| {
        note(&format_args!("no time zone {timezone:?}: UTC is used"));
        jiff::tz::TimeZone::UTC
    });
    let logged =
        input.transcript.as_deref().map_or_else(Session::default, |path| of_transcript(path, &input, settings, note));
    // The log of the session has the current state, unlike the archive, and Claude Code estimates a cost.
    let of_log = Spent::of(logged.cost_usd, logged.is_lower_bound);
    let cost = of_log.filter(|cost| !cost.is_least).or(Spent::of(input.cost_usd, false)).or(of_log);
    let archived = {
        let session = input.session_id.as_deref().filter(|_| cost.is_none());
        let question = Question { now: now.to_zoned(zone), timezone, session };
        of_archive(args, settings, &question).unwrap_or_else(|error| {
            note(&format_args!("{error:#}"));
            Usage::default()
        })
    };
    let now = Time::from(now);
    let current = |limit: Option<Limit>| limit.filter(|limit| limit.resets_at.is_none_or(|reset| now < reset));
    let stated = current(input.five_hour).map(|limit| WindowLeft {
        used_percent: Some(limit.used_percent),
        cost: None,
        ends_at: limit.resets_at,
    });
    let context_of = |tokens| Context::of(tokens, input.context_window.or(logged.context_window));
    let line = Line {
        session: cost.or(archived.session),
        today: archived.today,
        five_hour: stated.or(archived.five_hour),
        week_percent: current(input.seven_day).map(|limit| limit.used_percent).or(archived.week_percent),
        context: (input.context_percent.map(Context::Percent))
            .or_else(|| context_of(input.context_tokens.or(logged.context_tokens))),
        model: input.model,
    };
    let mut out = io::stdout().lock();
    writeln!(out, "{}", line.text(settings.shown_currency(), now))?;
    out.flush()?;
    Ok(Outcome::Done)
}

/// What the log of the session contains.
fn of_transcript(path: &Path, input: &Input, settings: &Settings, note: impl Fn(&dyn std::fmt::Display)) -> Session {
    let problem = match path.metadata() {
        Ok(metadata) if metadata.is_file() => None,
        Err(error) if error.kind() != io::ErrorKind::NotFound => Some(error.to_string()),
        _ => Some("no such file".to_owned()),
    };
    if let Some(problem) = problem {
        note(&format_args!("{}: {problem}", path.display()));
        return Session::default();
    }
    // More threads only take time to start.
    match start_threads(Some(1)).and_then(|()| settings.catalog()) {
        Ok(catalog) => session(path, input.session_id.as_deref(), &catalog),
        Err(error) => {
            note(&format_args!("{error:#}"));
            Session::default()
        }
    }
}

/// What the archive contains. No archive is not an error.
fn of_archive(args: &Statusline, settings: &Settings, question: &Question<'_>) -> anyhow::Result<Usage> {
    let directory = match &args.archive.archive {
        Some(directory) => directory.clone(),
        None => settings.users_directory()?.value,
    };
    let cache = settings.machine.own_cache();
    Ok(usage(&archive_at(directory)?, cache.as_deref(), question)?)
}
