//! The settings that apply, and the archive that a command uses.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use agentlogs::adapters::UserFormat;
use agentlogs::analysis::present;
use agentlogs::analysis::reports::{ProjectNames, WeekStart};
use agentlogs::base::zone::of_system;
use agentlogs::input::machine::Machine;
use agentlogs::prices::{Catalog, Entry};
use agentlogs::store::archive::Archive;
use agentlogs::store::lake::{Lake, is_url, shown};
use anyhow::{Context, bail};
use toml::Spanned;

use super::file::{self, Budget, Currency, File};
use super::origin::{Chosen, Origin};
use crate::cli::args::Content;
use crate::cli::stderr::say;
use crate::cli::terminal;

/// The variable that names the archive.
pub const ARCHIVE_VARIABLE: &str = "AGENTLOGS_ARCHIVE";
/// The variable that names the configuration file, in place of those that are searched for.
pub const CONFIGURATION_VARIABLE: &str = "AGENTLOGS_CONFIG";
/// The variable that names the time zone of the system.
const ZONE_VARIABLE: &str = "TZ";
/// The name of an archive in the current directory.
pub const LOCAL_ARCHIVE: &str = "agentlogs-archive";
/// The name of the user's archive in the directory for the data of agentlogs.
const OWN_ARCHIVE: &str = "archive";

/// The settings that apply.
#[derive(Debug)]
pub struct Settings {
    /// This machine.
    pub machine: Machine,
    /// The configuration files that were read, the one that takes precedence first.
    pub files: Vec<PathBuf>,
    /// The archive of the environment or of a configuration file.
    pub archive: Option<Chosen<PathBuf>>,
    /// More directories with logs.
    pub logs: Vec<Chosen<PathBuf>>,
    /// How much text of the conversations is kept.
    pub content: Chosen<Content>,
    /// Whether secrets are removed from the text that is kept.
    pub redact: Chosen<bool>,
    /// The time zone of reports.
    pub timezone: Chosen<String>,
    /// The day on which the weeks of reports begin.
    pub week_start: Chosen<WeekStart>,
    /// How money is shown in tables; `None` in US dollars.
    pub currency: Option<Chosen<Currency>>,
    /// Labels of every session that is read, as `key=value`, by key.
    pub labels: BTreeMap<String, Chosen<String>>,
    /// Names of models in logs, and their names in the catalog.
    pub aliases: BTreeMap<String, Chosen<Spanned<String>>>,
    /// The user's own prices.
    pub models: Vec<Chosen<Entry>>,
    /// What `check` compares.
    pub budgets: Vec<Chosen<Budget>>,
    /// Names of projects, by patterns of their directories.
    pub projects: BTreeMap<String, Chosen<String>>,
    /// The formats that the user describes.
    pub formats: &'static [UserFormat],
    /// Their ids, and the files that describe them.
    pub format_ids: Vec<Chosen<&'static str>>,
}

impl Default for Settings {
    /// The settings without configuration files.
    fn default() -> Self {
        Self::without_files(Machine::current())
    }
}

impl Settings {
    /// The settings of this process: those of the nearest `agentlogs.toml` in the current directory and its parents take
    /// precedence over those in the user's directory for configuration.
    ///
    /// # Errors
    /// When a configuration file is invalid.
    pub fn load() -> anyhow::Result<Self> {
        let machine = Machine::current();
        let mut found = None;
        let paths = if let Some(named) = machine.variable(CONFIGURATION_VARIABLE) {
            let path = PathBuf::from(named);
            // A file that is searched for may be missing, one that is named may not.
            path.metadata().with_context(|| format!("${CONFIGURATION_VARIABLE}: {}", path.display()))?;
            vec![path]
        } else {
            let current = std::env::current_dir().unwrap_or_default();
            let near = current.ancestors().map(|directory| directory.join(file::NAME)).find(|path| path.is_file());
            let own = machine.own_configuration().map(|own| own.join(file::NAME));
            found = near.clone().filter(|near| own.as_ref() != Some(near));
            near.into_iter().chain(own).collect()
        };
        let mut settings = Self::without_files(machine);
        let home = settings.machine.home();
        let mut formats: Vec<UserFormat> = Vec::new();
        for path in paths {
            if settings.files.contains(&path) {
                continue;
            }
            let file = if found.as_ref() == Some(&path) {
                File::read_found(&path, home.as_deref())?.map(|(file, ignored)| {
                    settings.warn_of(&path, &ignored);
                    file
                })
            } else {
                File::read(&path, home.as_deref())?
            };
            if let Some(file) = file {
                formats.extend(settings.add(file, path));
            }
        }
        // The settings live as long as the process.
        settings.formats = Box::leak(formats.into_boxed_slice());
        Ok(settings)
    }

    /// Names the settings of a file that was found and that only the user's own may have.
    fn warn_of(&self, path: &Path, ignored: &[&str]) {
        if ignored.is_empty() {
            return;
        }
        say(&format!(
            "{}: ignored {}, which a file in this place may not set (docs/configuration.md); use your own {}, or ${CONFIGURATION_VARIABLE}",
            path.display(),
            ignored.join(", "),
            self.own_file(),
        ));
    }

    /// The user's own configuration file, which need not exist.
    pub fn own_file(&self) -> String {
        let own = self.machine.own_configuration().map(|own| own.join(file::NAME).display().to_string());
        own.unwrap_or_else(|| file::NAME.to_owned())
    }

    /// The settings of the environment, and the defaults.
    fn without_files(machine: Machine) -> Self {
        let archive = machine.variable(ARCHIVE_VARIABLE).map(PathBuf::from);
        let variable = machine.variable(ZONE_VARIABLE).map(|value| value.to_string_lossy().into_owned());
        let zone_origin = if variable.is_some() { Origin::Environment(ZONE_VARIABLE) } else { Origin::Default };
        let zone = of_system(variable.as_deref());
        Self {
            files: Vec::new(),
            archive: archive.map(|value| Chosen { value, origin: Origin::Environment(ARCHIVE_VARIABLE) }),
            logs: Vec::new(),
            content: Chosen { value: Content::None, origin: Origin::Default },
            redact: Chosen { value: false, origin: Origin::Default },
            timezone: Chosen { value: zone, origin: zone_origin },
            week_start: Chosen { value: WeekStart::default(), origin: Origin::Default },
            currency: None,
            labels: BTreeMap::new(),
            aliases: BTreeMap::new(),
            models: Vec::new(),
            budgets: Vec::new(),
            projects: BTreeMap::new(),
            formats: &[],
            format_ids: Vec::new(),
            machine,
        }
    }

    /// Adds what a file sets and no file before it. Returns the formats that it describes and no file before it.
    fn add(&mut self, file: File, path: PathBuf) -> Vec<UserFormat> {
        fn chosen<T>(value: T, path: &Path) -> Chosen<T> {
            Chosen { value, origin: Origin::File(path.to_owned()) }
        }
        fn set_if_default<T>(known: &mut Chosen<T>, value: Option<T>, path: &Path) {
            if known.origin == Origin::Default
                && let Some(value) = value
            {
                *known = chosen(value, path);
            }
        }
        let File {
            archive,
            logs,
            content,
            redact,
            timezone,
            week_start,
            currency,
            labels,
            aliases,
            models,
            budgets,
            project_names,
            formats,
            ..
        } = file;
        self.archive = self.archive.take().or_else(|| archive.map(|value| chosen(value, &path)));
        set_if_default(&mut self.content, content, &path);
        set_if_default(&mut self.redact, redact, &path);
        // A configured zone takes precedence over that of the system.
        if let (Some(timezone), false) = (timezone, matches!(self.timezone.origin, Origin::File(_))) {
            self.timezone = chosen(timezone, &path);
        }
        set_if_default(&mut self.week_start, week_start, &path);
        self.currency = self.currency.take().or_else(|| currency.map(|value| chosen(value, &path)));
        for label in labels {
            let key = label.split_once('=').map_or(label.as_str(), |(key, _)| key).to_owned();
            self.labels.entry(key).or_insert_with(|| chosen(label, &path));
        }
        for (name, target) in aliases {
            self.aliases.entry(name).or_insert_with(|| chosen(target, &path));
        }
        self.logs.extend(logs.into_iter().map(|value| chosen(value, &path)));
        self.models.extend(models.into_iter().map(|value| chosen(value.into_inner(), &path)));
        self.budgets.extend(budgets.into_iter().map(|value| chosen(value.into_inner(), &path)));
        for (pattern, name) in project_names {
            self.projects.entry(pattern).or_insert_with(|| chosen(name, &path));
        }
        let is_new = |format: &UserFormat| self.format_ids.iter().all(|known| known.value != format.adapter.id);
        let formats: Vec<UserFormat> = formats.into_iter().filter(is_new).collect();
        self.format_ids.extend(formats.iter().map(|format| chosen(format.adapter.id, &path)));
        self.files.push(path);
        formats
    }

    /// The names of projects, which apply when tables are read.
    pub fn project_names(&self) -> ProjectNames {
        ProjectNames::new(self.projects.iter().map(|(pattern, name)| (pattern.as_str(), name.value.as_str())))
    }

    /// The currency of tables for people.
    pub fn shown_currency(&self) -> present::Currency {
        let chosen = self.currency.as_ref().map(|chosen| &chosen.value);
        chosen.and_then(|chosen| present::Currency::new(&chosen.code, chosen.rate)).unwrap_or_default()
    }

    /// The archive that a command uses: `named` on the command line, else that of the environment, else that of a
    /// configuration file, else `agentlogs-archive` in the current directory if it exists, else the user's own.
    ///
    /// # Errors
    /// When the path is a file, no directory is known, or a price in the configuration is invalid.
    pub fn archive(&self, named: Option<PathBuf>) -> anyhow::Result<Archive> {
        match named {
            Some(directory) => Ok(archive_at(directory)?.with_prices(self.prices()?)),
            None => self.implicit_archive(self.chosen_archive()?),
        }
    }

    /// As [`Self::archive`], but `agentlogs-archive` in the current directory also if it does not exist: a command that was given logs
    /// or verdicts creates it.
    ///
    /// # Errors
    /// As [`Self::archive`].
    pub fn archive_or_local(&self, named: Option<PathBuf>) -> anyhow::Result<Archive> {
        let is_local = named.is_none() && self.archive.is_none();
        if is_local { self.implicit_archive(local_archive()) } else { self.archive(named) }
    }

    /// The directory of [`Self::archive`], or the URL of a lake in an object store.
    ///
    /// # Errors
    /// When the user has no home directory.
    pub fn archive_name(&self, named: Option<&Path>) -> anyhow::Result<PathBuf> {
        named.map_or_else(|| Ok(self.chosen_archive()?.value), |named| Ok(named.to_owned()))
    }

    /// The archive of commands that read the user's own logs without being asked to: that of the environment or of a
    /// configuration file, else the user's own. An archive in the current directory may be for something else.
    ///
    /// # Errors
    /// As [`Self::archive`].
    pub fn users_archive(&self) -> anyhow::Result<Archive> {
        self.implicit_archive(self.users_directory()?)
    }

    /// The directory of [`Self::users_archive`].
    ///
    /// # Errors
    /// When the user has no home directory.
    pub fn users_directory(&self) -> anyhow::Result<Chosen<PathBuf>> {
        match &self.archive {
            Some(chosen) => Ok(chosen.clone()),
            None => Ok(Chosen { value: self.own_archive()?, origin: Origin::Default }),
        }
    }

    /// The archive that the user did not name on the command line. A line on stderr names it; for a person only if it is new, or with
    /// `--verbose`, as `agentlogs config` names it, too.
    fn implicit_archive(&self, chosen: Chosen<PathBuf>) -> anyhow::Result<Archive> {
        // A command may open it several times.
        static STATED: OnceLock<PathBuf> = OnceLock::new();
        let is_stated = terminal::screen().is_none() || terminal::is_verbose() || !chosen.value.exists();
        let is_new = STATED.get() != Some(&chosen.value);
        if is_stated && is_new && !matches!(chosen.origin, Origin::Environment(_)) {
            STATED.get_or_init(|| chosen.value.clone());
            say(&format!("archive: {}", chosen.value.display()));
        }
        Ok(archive_at(chosen.value)?.with_prices(self.prices()?))
    }

    /// The archive that a command without `--archive` uses: see [`Self::archive`].
    ///
    /// # Errors
    /// When the user has no home directory.
    pub fn chosen_archive(&self) -> anyhow::Result<Chosen<PathBuf>> {
        let is_local = self.archive.is_none() && Path::new(LOCAL_ARCHIVE).exists();
        if is_local { Ok(local_archive()) } else { self.users_directory() }
    }

    /// The directory of the user's own archive.
    ///
    /// # Errors
    /// When the user has no home directory.
    pub fn own_archive(&self) -> anyhow::Result<PathBuf> {
        let data = self.machine.own_data();
        data.map(|data| data.join(OWN_ARCHIVE)).context("no home directory is known; --archive names an archive")
    }

    /// The prices of the configuration: the user's own models, and aliases.
    ///
    /// # Errors
    /// When an alias is that of an unknown model.
    pub fn prices(&self) -> anyhow::Result<Vec<Entry>> {
        let mut entries: Vec<Entry> = self.models.iter().map(|chosen| chosen.value.clone()).collect();
        if self.aliases.is_empty() {
            return Ok(entries);
        }
        let catalog = Catalog::built_in().under(entries.clone());
        for (name, target) in &self.aliases {
            let found = catalog.find(None, target.value.get_ref());
            let Some(entry) = found.as_ref().and_then(|found| found.entries.first()) else {
                let Origin::File(path) = &target.origin else { continue };
                return Err(File::alias_error(path, name, &target.value).into());
            };
            entries.push(Entry { aliases: vec![name.clone()], ..(*entry).clone() });
        }
        Ok(entries)
    }

    /// The built-in prices, with those of the configuration in place of them where it has some.
    ///
    /// # Errors
    /// As [`Self::prices`].
    pub fn catalog(&self) -> anyhow::Result<Cow<'static, Catalog>> {
        Ok(Catalog::with_own(self.prices()?))
    }
}

/// The archive in a directory, which need not exist.
///
/// # Errors
/// When the path is a file or a lake, is not UTF-8, which polars cannot read, or is the URL of an object store.
pub fn archive_at(directory: PathBuf) -> anyhow::Result<Archive> {
    if is_url(&directory) {
        bail!(
            "{}: object stores can only be read, by report, query, compare, dashboard and export",
            shown(&directory).display()
        );
    }
    if directory.to_str().is_none() {
        bail!("{}: the path of an archive has to be UTF-8", directory.display());
    }
    if directory.is_file() {
        bail!("{} is a file, not a directory; --archive names the directory of an archive", directory.display());
    }
    if Lake::is_at(&directory) {
        bail!(
            "{} is a lake, which `agentlogs export` writes; this command works on an archive only",
            directory.display()
        );
    }
    Ok(Archive::at(directory))
}

/// The archive in the current directory.
fn local_archive() -> Chosen<PathBuf> {
    Chosen { value: PathBuf::from(LOCAL_ARCHIVE), origin: Origin::Default }
}
