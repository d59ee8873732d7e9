//! `agentlogs show`: one session as a timeline.

use std::io::{self, Write};
use std::path::Path;

use agentlogs::analysis::show::{self, SessionKey, TextStyle, Timeline};
use agentlogs::base::zone::zone;
use agentlogs::model::source::path_text;

use super::Outcome;
use super::hints::with_options;
use super::output::{Layout, has_color, print, state_currency, terminal_width};
use super::overview::zoned;
use super::source::{Opened, some_tables};
use crate::cli::args::{DataSource, Format, Show};
use crate::cli::settings::Settings;

/// The width in columns if stdout is not a terminal.
const PAGE: u16 = 100;

pub fn run(args: Show, settings: &Settings) -> anyhow::Result<Outcome> {
    let session = args.session.unwrap_or_else(|| "last".into());
    let (opened, key) = open(args.source, Path::new(&session), args.runtime.as_deref(), settings)?;
    let timeline = Timeline::read(&opened.frames, &key, args.cost.into())?;
    let style = TextStyle {
        width: terminal_width().unwrap_or(PAGE).clamp(40, 240).into(),
        color: has_color(),
        currency: settings.shown_currency(),
        is_whole: args.all,
        is_exact: args.printed.exact,
        limit: args.printed.limit,
        zone: match args.timezone.as_deref().and_then(zone) {
            Some(zone) => zone,
            None => zoned(None, settings)?.time_zone().clone(),
        },
    };
    let text = match args.printed.format {
        Format::Table => timeline.text(&style),
        Format::Markdown => timeline.markdown(&style),
        _ => {
            print(&timeline.frame()?, args.printed, Layout::default())?;
            return Ok(Outcome::Done);
        }
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    opened.state_prices();
    state_currency(settings);
    Ok(Outcome::Done)
}

/// The tables that contain the session, and the session. Without an archive or logs on the command line, the path of a file is
/// read as a log.
fn open(
    source: DataSource,
    path: &Path,
    runtime: Option<&str>,
    settings: &Settings,
) -> anyhow::Result<(Opened, SessionKey)> {
    let is_chosen = source.archive.archive.is_some() || !source.logs.is_empty();
    let text = path_text(path);
    // An error of the path is that of a log: reading it names the reason.
    let is_locked = |error: io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    if !is_chosen && path.try_exists().unwrap_or_else(is_locked) {
        let source = DataSource { logs: vec![path.to_owned()], ..source };
        let opened = some_tables(source, settings, show::TABLES)?;
        // All of its sessions are those of the path.
        let key = match show::find(&opened.frames, "", runtime) {
            Err(show::Error::Ambiguous { found, .. } | show::Error::Runtimes { found, .. }) => {
                return Err(show::Error::Log { text, found }.into());
            }
            Err(show::Error::Missing(_)) => {
                anyhow::bail!("{text} contains no session; `agentlogs inspect {text}` shows why")
            }
            found => found?,
        };
        return Ok((opened, key));
    }
    let opened = some_tables(source, settings, show::TABLES)?;
    let canonical = dunce::canonicalize(path).ok();
    let key = match show::find(&opened.frames, &text, runtime) {
        // The archive names logs by their real paths.
        Err(show::Error::Missing(_)) if let Some(canonical) = canonical => {
            show::find(&opened.frames, &path_text(&canonical), runtime).map_err(|error| match error {
                show::Error::Missing(_) => show::Error::Missing(text),
                other => other,
            })?
        }
        found => found.map_err(|error| anyhow::anyhow!(with_options(&error.to_string(), &opened.options)))?,
    };
    Ok((opened, key))
}
