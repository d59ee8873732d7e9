//! `agentlogs watch`: reads logs into the archive as they are written, and shows the overview.

use std::collections::HashMap;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use agentlogs::analysis::overview::{Overview, Period, Space};
use agentlogs::base::width::{cut, padded};
use agentlogs::model::source::{STDIN, SourceStatus};
use agentlogs::store::archive::Archive;
use jiff::Timestamp;

use super::hints::option_of;
use super::ingest::read_into;
use super::output::{complain, say};
use super::overview::{explained, look, overview, zoned};
use super::reading::options;
use super::summary::{Ingested, Losses, report_damage};
use super::watcher::{Waited, Waker, Watcher};
use super::{Outcome, WrongCommandLine, places};
use crate::cli::args::Watch;
use crate::cli::screen::{self, Input, Screen};
use crate::cli::settings::Settings;

/// How often to check for places that did not exist before.
const CHECK_PLACES: Duration = Duration::from_secs(30);

/// How often to check for a path that was removed: it may be made again, as when a volume is mounted.
const CHECK_LOST: Duration = Duration::from_secs(2);

/// How often the overview is shown again without an update: its times until limits reset become wrong.
const REDRAW: Duration = Duration::from_mins(1);

pub fn run(mut args: Watch, settings: &Settings) -> anyhow::Result<Outcome> {
    if args.paths.iter().any(|path| path.as_os_str() == STDIN) {
        let message = "standard input cannot be followed; `agentlogs ingest -` reads it";
        return Err(WrongCommandLine(message.to_owned()).into());
    }
    let names_paths = !args.paths.is_empty();
    // Without paths --runtime selects the places.
    let runtime = if names_paths { None } else { args.reading.runtime.take() };
    let archive = match args.archive.archive.take() {
        None if !names_paths => settings.users_archive()?,
        named => settings.archive_or_local(named)?,
    };
    let mut roots = if names_paths { args.paths.clone() } else { places::existing(settings, runtime.as_deref())? };
    if let Some(missing) = roots.iter().find(|path| !path.try_exists().unwrap_or(true)) {
        anyhow::bail!("{}: no such file or directory", missing.display());
    }
    if roots.is_empty() {
        places::say_searched(settings, runtime.as_deref());
        say(&format!("watching for them every {} seconds", CHECK_PLACES.as_secs()));
    }
    // The first update comes after the watches, so that no change between them is missed.
    let mut watcher = Watcher::new(&roots, archive.directory(), args.poll.map(Duration::from_secs));
    let mut view = View {
        archive: &archive,
        settings,
        now: args.now,
        is_terminal: io::stdout().is_terminal(),
        screen: None,
        waker: Some(watcher.waker()),
        lost: HashMap::new(),
    };
    let mut earliest = update(&roots, &args, &mut view, true)?;
    let mut shown = Instant::now();
    loop {
        let mut patience = if view.is_terminal { CHECK_PLACES.min(REDRAW) } else { CHECK_PLACES };
        if watcher.has_lost() {
            patience = patience.min(CHECK_LOST);
        }
        let mut is_changed = match watcher.wait(patience, earliest) {
            Waited::Asked(Input::Quit) => return Ok(Outcome::Done),
            Waited::Asked(Input::Resized) => {
                view.show(None)?;
                continue;
            }
            waited => waited == Waited::Changed,
        };
        is_changed |= watcher.follow();
        if !names_paths {
            let existing = places::existing(settings, runtime.as_deref())?;
            let new: Vec<PathBuf> = existing.into_iter().filter(|path| !roots.contains(path)).collect();
            if !new.is_empty() {
                watcher.add(&new);
                roots.extend(new);
                is_changed = true;
            }
        }
        if is_changed {
            earliest = update(&roots, &args, &mut view, false)?;
            shown = Instant::now();
        } else if view.is_terminal && shown.elapsed() >= REDRAW {
            view.show(None)?;
            shown = Instant::now();
        }
    }
}

/// Reads what is new, and shows it. Returns when to do it again at the earliest: after as much time as it took, so that it uses at
/// most half of the time.
fn update(roots: &[PathBuf], args: &Watch, view: &mut View<'_>, is_first: bool) -> anyhow::Result<Instant> {
    let start = Instant::now();
    if roots.is_empty() {
        return Ok(start);
    }
    let options = options(roots.to_vec(), Some(view.archive.directory().to_owned()), &args.reading, view.settings)?;
    let Some(run) = explained(read_into(view.archive, options), view.archive)? else {
        return Ok(Instant::now() + start.elapsed());
    };
    report_damage(view.archive, &run.written);
    view.state_losses(&run);
    let count = logs_read(&run);
    if count > 0 || is_first {
        view.show(Some(count))?;
    }
    if count > 0
        && let Some(command) = &args.exec
    {
        execute(command);
        if view.screen.is_some() {
            view.show(None)?;
        }
    }
    Ok(Instant::now() + start.elapsed())
}

/// The number of logs that were read. Other files do not count: the command of `--exec` may write some, such as a dashboard,
/// and would be run for them again and again.
fn logs_read(run: &Ingested) -> usize {
    let is_log = |status| !matches!(status, SourceStatus::Unrecognised | SourceStatus::Empty);
    run.written.sources().filter(|(path, source)| run.files.is_read(path) && is_log(source.status)).count()
}

/// Runs the user's command. An error does not end the watch.
fn execute(command: &str) {
    let (shell, option) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let mut command_of_shell = Command::new(shell);
    command_of_shell.args([option, command]);
    match run_beside(&mut command_of_shell) {
        Ok(status) if status.success() => {}
        Ok(status) => complain(format_args!("--exec: {command}: {status}")),
        Err(error) => complain(format_args!("--exec: {shell}: {error}")),
    }
}

/// Runs a command. While the overview has all of the terminal, what the command prints is kept with the other messages.
fn run_beside(command: &mut Command) -> io::Result<ExitStatus> {
    if !screen::is_shown() {
        return command.status();
    }
    let output = command.stdin(Stdio::null()).output()?;
    for text in [output.stdout, output.stderr] {
        String::from_utf8_lossy(&text).lines().for_each(say);
    }
    Ok(output.status)
}

/// Where updates are shown.
struct View<'a> {
    archive: &'a Archive,
    settings: &'a Settings,
    /// The time that counts as now.
    now: Option<Timestamp>,
    is_terminal: bool,
    /// All of the terminal, from the first overview on.
    screen: Option<Screen>,
    /// Ends waiting when a key is pressed.
    waker: Option<Waker>,
    /// Rejected lines by the paths of their logs; `None` for a log that could not be read. They are stated once.
    lost: HashMap<String, Option<i64>>,
}

impl View<'_> {
    /// Prints what was lost of logs, if it was not printed before. On a terminal the overview contains it.
    fn state_losses(&mut self, run: &Ingested) {
        let mut losses = Losses::default();
        for (path, source) in run.written.sources() {
            let lines = source.rejected_lines();
            let lost = (source.status != SourceStatus::Unreadable).then_some(lines);
            let is_known = self.lost.get(path).copied().unwrap_or(Some(0)) == lost;
            if !is_known && (run.files.is_read(path) || run.files.is_unchanged(path)) {
                losses.add_parts(path, source.status, None, lines, source.rejects.iter().copied());
                self.lost.insert(path.to_owned(), lost);
            }
        }
        if !self.is_terminal {
            losses.state(&format!("agentlogs report health{}", option_of(self.archive, self.settings)));
        }
    }

    /// Shows the overview on a terminal; elsewhere a line, if logs were read.
    fn show(&mut self, read: Option<usize>) -> anyhow::Result<()> {
        let overview = explained(overview(self.archive, self.now, self.settings), self.archive)?;
        let mut look = look(self.archive, self.settings);
        if self.is_terminal && self.screen.is_none() {
            self.screen = Screen::enter();
            if let (Some(_), Some(waker)) = (&self.screen, self.waker.take()) {
                Screen::follow_keys(waker);
            }
        }
        if self.screen.is_some() {
            let (width, height) = Screen::size();
            // The last line is for messages, with an empty one above it.
            look.space = Some(Space { width, height: height.saturating_sub(2) });
            Screen::draw(&overview.text(&look), &self.bottom(width)?)?;
            return Ok(());
        }
        let mut out = io::stdout().lock();
        if self.is_terminal {
            write!(out, "\n{}", overview.text(&look))?;
        } else if let Some(read) = read {
            let time = zoned(self.now, self.settings)?.strftime("%Y-%m-%d %H:%M:%S");
            let cost = today(&overview).map_or_else(|| "unknown".to_owned(), |cost| look.currency.amount(cost));
            let logs = agentlogs::analysis::present::counted(read, "log");
            writeln!(out, "{time}  {logs} read, cost today {cost}")?;
        }
        Ok(out.flush()?)
    }

    /// The last line of the screen: the last message, or when the overview was made.
    fn bottom(&self, width: usize) -> anyhow::Result<String> {
        const KEYS: &str = "  q quits";
        let updated = || -> anyhow::Result<String> {
            Ok(zoned(self.now, self.settings)?.strftime("updated %H:%M:%S").to_string())
        };
        let text = screen::last_message().map_or_else(updated, Ok)?;
        let space = width.saturating_sub(KEYS.len());
        Ok(format!("{}{KEYS}", padded(&cut(&text, space), space)))
    }
}

/// The cost of today; `None` if it is unknown.
fn today(overview: &Overview) -> Option<f64> {
    let Period { now, .. } = overview.periods.first()?;
    now.cost()
}
