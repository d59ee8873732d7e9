//! The content of a configuration file: see docs/configuration.md.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use agentlogs::adapters::UserFormat;
use agentlogs::analysis::budget::{Limit, MeasureBound, Side};
use agentlogs::analysis::present;
use agentlogs::analysis::reports::{Bound, WeekStart};
use agentlogs::base::byte_order_mark::without_mark;
use agentlogs::input::machine::without_tilde;
use agentlogs::input::open::read_file;
use agentlogs::prices::{Entry, Table};
use agentlogs::store::lake::is_url;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use thiserror::Error;
use toml::Spanned;

use super::{formats, projects};
use crate::cli::args::{Content, label, timezone};

/// The name of a configuration file.
pub const NAME: &str = "agentlogs.toml";

/// The size of the largest configuration, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The reason why a configuration file cannot be used.
#[derive(Debug, Error)]
pub enum Error {
    /// It cannot be read.
    #[error("{}: {error}", .path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    /// It is not TOML, has an unknown key, or a value is invalid. The message of the parser contains the line and the key.
    #[error("{}: the configuration is not valid", present::visible(&.path.to_string_lossy()))]
    Invalid { path: PathBuf, source: toml::de::Error },
    /// As [`Self::Invalid`], for a link in a directory that may belong to somebody else: the message would show what it leads to.
    #[error("{}: the configuration is not valid; this is a link, so its content is not shown", .path.display())]
    InvalidLink { path: PathBuf },
    /// A value is invalid for another reason.
    #[error("{}: line {line}: {key}: {problem}", .path.display())]
    Value { path: PathBuf, line: usize, key: String, problem: String },
}

/// The content of a configuration file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct File {
    /// The directory of the archive.
    pub archive: Option<PathBuf>,
    /// More directories with logs, for `ingest` without paths, `watch` and the overview.
    pub logs: Vec<PathBuf>,
    /// How much text of the conversations is kept.
    pub content: Option<Content>,
    /// Whether secrets are removed from the text that is kept.
    pub redact: Option<bool>,
    /// The time zone of reports.
    #[serde(deserialize_with = "timezone_name")]
    pub timezone: Option<String>,
    /// The day on which the weeks of reports begin.
    pub week_start: Option<WeekStart>,
    /// How money is shown in tables.
    #[serde(deserialize_with = "currency")]
    pub currency: Option<Currency>,
    /// Labels of every session that is read.
    #[serde(deserialize_with = "labels")]
    pub labels: Vec<String>,
    /// Names of models in logs, and the names that the catalog has for them.
    pub aliases: BTreeMap<String, Spanned<String>>,
    /// The user's own prices, as in a file for `prices import`.
    pub models: Vec<Spanned<Entry>>,
    /// What `check` compares without options.
    pub budgets: Vec<Spanned<Budget>>,
    /// Names of projects, by patterns of their directories.
    #[serde(rename = "projects")]
    named: BTreeMap<String, Spanned<String>>,
    /// The names of `named`.
    #[serde(skip)]
    pub project_names: projects::Names,
    /// Formats that the user describes.
    #[serde(rename = "format")]
    entries: Vec<Spanned<formats::Entry>>,
    /// The formats of `entries`.
    #[serde(skip)]
    pub formats: Vec<UserFormat>,
}

/// How money is shown in tables. Other formats contain US dollars.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Currency {
    /// The code, such as `EUR`.
    #[serde(deserialize_with = "currency_code")]
    pub code: String,
    /// Units of it for one US dollar.
    #[serde(deserialize_with = "rate")]
    pub rate: f64,
}

/// Bounds of measures, for the sessions that filters select.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// Its name in messages.
    pub name: Option<String>,
    /// The largest permitted values, by measure.
    pub max: BTreeMap<String, Limit>,
    /// The smallest permitted values, by measure.
    pub min: BTreeMap<String, Limit>,
    #[serde(deserialize_with = "parsed")]
    pub since: Option<Bound>,
    #[serde(deserialize_with = "parsed")]
    pub until: Option<Bound>,
    pub runtime: Option<String>,
    pub model: Option<String>,
    pub project: Option<String>,
    pub repository: Option<String>,
    pub status: Option<String>,
    /// Only sessions with these labels.
    #[serde(deserialize_with = "labels")]
    pub labels: Vec<String>,
}

impl Budget {
    /// Checks that it has bounds, and that there are their measures. An error names the key.
    fn check(&self) -> Result<(), (&'static str, String)> {
        if self.max.is_empty() && self.min.is_empty() {
            let problem = "the budget has no bounds; write one of a measure, such as max = { cost_usd = 50 }";
            return Err(("max", problem.to_owned()));
        }
        for (key, bounds, side) in [("max", &self.max, Side::Max), ("min", &self.min, Side::Min)] {
            for (name, limit) in bounds {
                MeasureBound::new(name, side, *limit).map_err(|error| (key, error.to_string()))?;
            }
        }
        Ok(())
    }
}

impl Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let max = self.max.iter().map(|(measure, value)| format!("{measure} <= {value}"));
        let min = self.min.iter().map(|(measure, value)| format!("{measure} >= {value}"));
        let times = [("since", self.since), ("until", self.until)];
        let times = times.into_iter().filter_map(|(name, bound)| Some(format!("{name} {}", bound?)));
        let filters = [
            ("runtime", &self.runtime),
            ("model", &self.model),
            ("project", &self.project),
            ("repository", &self.repository),
            ("status", &self.status),
        ];
        let filters = filters.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value.as_ref()?)));
        let labels = self.labels.iter().map(|label| format!("label {label}"));
        let text: Vec<String> = max.chain(min).chain(times).chain(filters).chain(labels).collect();
        match &self.name {
            Some(name) => write!(f, "{name}: {}", text.join(", ")),
            None => f.write_str(&text.join(", ")),
        }
    }
}

impl File {
    /// Reads a file; `None` if it does not exist. Paths in it are relative to its directory; `~` is the home directory.
    ///
    /// # Errors
    /// When it cannot be read, or a key or value is invalid.
    pub fn read(path: &Path, home: Option<&Path>) -> Result<Option<Self>, Error> {
        let text = match read_file(path, MAX_BYTES) {
            Ok(text) => String::from_utf8_lossy(without_mark(&text)).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::Unreadable { path: path.to_owned(), error }),
        };
        let mut file: Self =
            toml::from_str(&text).map_err(|source| Error::Invalid { path: path.to_owned(), source })?;
        for model in &mut file.models {
            let line = line_of(&text, model.span().start);
            let checked = Table::of_user(vec![model.get_ref().clone()]).map_err(|error| Error::Value {
                path: path.to_owned(),
                line,
                key: "models".to_owned(),
                problem: error.to_string(),
            })?;
            if let Some(entry) = checked.entries.into_iter().next() {
                *model.get_mut() = entry;
            }
        }
        for budget in &file.budgets {
            budget.get_ref().check().map_err(|(key, problem)| Error::Value {
                path: path.to_owned(),
                line: line_of_key(&text, budget.span().start, key),
                key: format!("budgets.{key}"),
                problem,
            })?;
        }
        for entry in std::mem::take(&mut file.entries) {
            let start = entry.span().start;
            let format = entry.into_inner().format().and_then(|format| {
                let is_known = file.formats.iter().any(|known| known.adapter.id == format.adapter.id);
                if is_known { Err(("id", format!("{:?} is described twice", format.adapter.id))) } else { Ok(format) }
            });
            file.formats.push(format.map_err(|(key, problem)| Error::Value {
                path: path.to_owned(),
                line: line_of_key(&text, start, key),
                key: format!("format.{key}"),
                problem,
            })?);
        }
        file.project_names = projects::names(std::mem::take(&mut file.named), home).map_err(|wrong| Error::Value {
            path: path.to_owned(),
            line: line_of(&text, wrong.position),
            key: format!("projects.{:?}", wrong.pattern),
            problem: wrong.problem,
        })?;
        let directory = path.parent().unwrap_or(Path::new(""));
        for path in file.archive.iter_mut().chain(&mut file.logs) {
            if !is_url(path) {
                *path = directory.join(without_tilde(path, home));
            }
        }
        Ok(Some(file))
    }

    /// As [`Self::read`], for a file that was found in the current directory or above it, which may belong to somebody else: a cloned
    /// repository, an unpacked archive. Settings that it may not have are removed and returned: see docs/configuration.md.
    ///
    /// # Errors
    /// Those of [`Self::read`].
    pub fn read_found(path: &Path, home: Option<&Path>) -> Result<Option<(Self, Vec<&'static str>)>, Error> {
        let read = Self::read(path, home).map_err(|error| match error {
            Error::Invalid { .. } | Error::Value { .. } if path.is_symlink() => {
                Error::InvalidLink { path: path.to_owned() }
            }
            other => other,
        });
        let Some(mut file) = read? else { return Ok(None) };
        let directory = path.parent().unwrap_or(Path::new(""));
        let mut ignored = Vec::new();
        if file.archive.as_ref().is_some_and(|archive| !is_inside(archive, directory)) {
            file.archive = None;
            ignored.push("archive");
        }
        let count = file.logs.len();
        file.logs.retain(|logs| is_inside(logs, directory));
        if file.logs.len() < count {
            ignored.push("logs");
        }
        if file.content.is_some_and(|content| content != Content::None) {
            file.content = None;
            ignored.push("content");
        }
        if file.redact == Some(false) {
            file.redact = None;
            ignored.push("redact");
        }
        Ok(Some((file, ignored)))
    }

    /// The error of an alias in the file at `path`.
    pub fn alias_error(path: &Path, name: &str, target: &Spanned<String>) -> Error {
        let text = String::from_utf8(read_file(path, MAX_BYTES).unwrap_or_default()).unwrap_or_default();
        Error::Value {
            path: path.to_owned(),
            line: line_of(&text, target.span().start),
            key: format!("aliases.{name}"),
            problem: format!("no model in the catalog is named {:?}", target.get_ref()),
        }
    }
}

/// Whether a path is below a directory, also after links are followed.
fn is_inside(path: &Path, directory: &Path) -> bool {
    let is_below = !is_url(path)
        && path
            .strip_prefix(directory)
            .is_ok_and(|rest| rest.components().all(|name| matches!(name, Component::Normal(_))));
    let real = |path: &Path| path.ancestors().find_map(|path| dunce::canonicalize(path).ok());
    is_below
        && match (real(path), dunce::canonicalize(directory)) {
            (Some(path), Ok(directory)) => path.starts_with(directory),
            _ => false,
        }
}

/// The line of a position in a text, from 1.
fn line_of(text: &str, position: usize) -> usize {
    text.bytes().take(position).filter(|byte| *byte == b'\n').count() + 1
}

/// The line of a key in the table that begins at a position; that of the table if the key is not at the beginning of a line.
fn line_of_key(text: &str, start: usize, key: &str) -> usize {
    let first = line_of(text, start);
    let is_key = |line: &str| {
        let rest = line.trim_start().strip_prefix(key);
        rest.is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    let lines = text.lines().enumerate().skip(first);
    let mut own = lines.take_while(|(_, line)| !line.trim_start().starts_with("[["));
    own.find(|(_, line)| is_key(line)).map_or(first, |(index, _)| index + 1)
}

fn parsed<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(deserializer: D) -> Result<Option<T>, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(|error| D::Error::custom(format!("{text:?} is {error}")))
}

fn timezone_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    timezone(&String::deserialize(deserializer)?).map(Some).map_err(D::Error::custom)
}

fn currency<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Currency>, D::Error> {
    let currency = Currency::deserialize(deserializer)?;
    if present::Currency::new(&currency.code, currency.rate).is_some() {
        Ok(Some(currency))
    } else {
        Err(D::Error::custom("the rate of USD is 1: amounts are US dollars"))
    }
}

fn currency_code<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let code = String::deserialize(deserializer)?;
    if present::Currency::new(&code, 1.0).is_some() {
        Ok(code)
    } else {
        Err(D::Error::custom(format!("{code:?} is not a currency; a code has three capital letters, such as EUR")))
    }
}

fn rate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let rate = f64::deserialize(deserializer)?;
    if present::Currency::new("EUR", rate).is_some() {
        Ok(rate)
    } else {
        Err(D::Error::custom("a rate is a number above 0"))
    }
}

/// A table of labels, as `key=value`.
fn labels<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let labels = BTreeMap::<String, String>::deserialize(deserializer)?;
    labels.into_iter().map(|(key, value)| label(&format!("{key}={value}")).map_err(D::Error::custom)).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(text: &str) -> Result<File, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(NAME);
        fs::write(&path, text).unwrap();
        let read = File::read(&path, Some(Path::new("/home/ann")));
        let text = |error: Error| {
            format!("{:#}", anyhow::Error::from(error)).replace(&directory.path().display().to_string(), "DIR")
        };
        read.map(Option::unwrap_or_default).map_err(text)
    }

    #[test]
    fn a_complete_file() {
        let file = read(
            r#"
            archive = "~/archive"
            logs = ["/srv/ci", "~/runs"]
            timezone = "Europe/Berlin"
            content = "text"
            redact = true
            week_start = "sunday"
            currency = { code = "EUR", rate = 0.92 }
            labels = { team = "shop" }
            aliases = { house = "claude-sonnet-4-5" }
            projects = { "~/src/shop*" = "shop", "/srv/cafe" = "cafe" }
            [[models]]
            provider = "Anthropic"
            model = "own"
            prices = [{ input = 1, output = 2 }]
            [[budgets]]
            name = "week"
            since = "7d"
            labels = { team = "shop" }
            max = { cost_usd = 50, "tools.error_rate" = "10%" }
            "#,
        );
        let file = file.unwrap();
        assert_eq!(file.archive, Some(PathBuf::from("/home/ann/archive")));
        assert_eq!(file.logs, ["/srv/ci", "/home/ann/runs"].map(PathBuf::from));
        assert_eq!(file.week_start, Some(WeekStart::Sunday));
        assert_eq!(file.labels, ["team=shop"]);
        let projects = [("/home/ann/src/shop*", "shop"), ("/srv/cafe", "cafe")];
        assert_eq!(file.project_names, projects.map(|(pattern, name)| (pattern.to_owned(), name.to_owned())).into());
        assert_eq!((file.content, file.redact), (Some(Content::Text), Some(true)));
        assert_eq!(file.models[0].get_ref().provider, "anthropic");
        assert_eq!(
            file.budgets[0].get_ref().to_string(),
            "week: cost_usd <= 50, tools.error_rate <= 10%, since 7d, label team=shop"
        );
    }

    #[test]
    fn an_error_names_the_file_the_line_and_the_key() {
        let cases = [
            ("timezone = \"Mars\"", "line 1", "timezone"),
            ("\narchiv = \"x\"", "line 2", "archiv"),
            ("content = \"all\"", "line 1", "content"),
            ("currency = { code = \"euro\", rate = 1 }", "line 1", "code"),
            ("currency = { code = \"EUR\", rate = 0 }", "line 1", "rate"),
            ("\n[currency]\ncode = \"USD\"\nrate = 2", "line 2", "the rate of USD is 1"),
            ("week_start = \"friday\"", "line 1", "week_start"),
            ("[[budgets]]\nsince = \"soon\"", "line 2", "since"),
            ("[[budgets]]\nmax = { cost_usd = \"many\" }", "line 2", "cost_usd"),
            ("[[budgets]]\nname = \"week\"", "line 1", "budgets.max"),
            ("\n[[budgets]]\nname = \"week\"\nmax = { cost = 5 }", "line 4", "no report has a measure \"cost\""),
            ("[[budgets]]\nmin = { error_rate = 10 }", "line 2", "budgets.min"),
            ("\n[labels]\n\"a\\u001b\" = \"x\"", "line 2", "label"),
            ("[projects]\n\"~/src\" = \"\"", "line 2", "projects"),
            ("[projects]\n\n\"\" = \"shop\"", "line 3", "projects"),
            ("[projects]\n\"/w\" = \"a\\u001b\"", "line 2", "projects"),
            ("[projects]\n\"/w\" = 1", "line 2", "/w"),
            ("\n\n[[models]]\nmodel = \"m\"\nprices = [{ input = -1, output = 2 }]", "line 3", "models"),
            ("x", "line 1", "x"),
            ("[[format]]\nid = \"a\"\nruntime = \"b\"\nhas = [\"x\"]\nkost = \"c\"", "line 5", "kost"),
            ("[[format]]\nid = \"a\"\nruntime = \"b\"\nhas = [\"x\"]\n cost = \"a..b\"", "line 5", "format.cost"),
            ("\n[[format]]\nid = \"a\"\nruntime = \"b\"\ncost = \"c\"", "line 2", "format.has"),
            (
                "[[format]]\nid = \"a\"\nruntime = \"b\"\nhas = [\"x\"]\ncost = \"c\"\n[[format]]\nid = \"a\"\nruntime = \"b\"\nhas = [\"x\"]\ncost = \"c\"",
                "line 7",
                "format.id",
            ),
        ];
        for (text, line, key) in cases {
            let error = read(text).unwrap_err();
            let has_all = ["DIR", NAME, line, key].iter().all(|part| error.contains(part));
            assert!(has_all, "{text}: {error}");
        }
    }
}
