//! The directories of this machine: where runtimes keep their logs, and where agentlogs keeps its own files.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::model::places::{Base, Place};

/// The platforms whose rules for directories differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Linux and other Unix systems.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

/// What decides where logs are: the platform, the user's home directory, environment variables.
#[derive(Debug, Clone)]
pub struct Machine {
    system: System,
    variables: BTreeMap<String, OsString>,
    /// Home directories of Windows users, where Linux runs in WSL.
    windows_homes: Vec<PathBuf>,
}

/// A path that a [`Place`] may be on a machine, with the account whose logs it contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserPath {
    /// The path, which need not exist.
    pub path: PathBuf,
    /// The name of the account, if it is known.
    pub user: Option<String>,
}

/// The directories of editors that keep the data of extensions as VS Code does, below the configuration directory.
const EDITORS: &[&str] = &["Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"];

/// The directories of editors' servers on remote machines, below the home directory.
const EDITOR_SERVERS: &[&str] =
    &[".vscode-server", ".vscode-server-insiders", ".vscodium-server", ".cursor-server", ".windsurf-server"];

/// The directory of agentlogs below the directories for data and configuration.
const OWN: &str = "agentlogs";

/// The usual directories of application data on Windows, below the home directory.
const ROAMING: &str = "AppData/Roaming";
const LOCAL: &str = "AppData/Local";

impl Machine {
    /// This machine, as the process's environment describes it.
    pub fn current() -> Self {
        let system = match env::consts::OS {
            "windows" => System::Windows,
            "macos" => System::MacOs,
            _ => System::Linux,
        };
        let variables = env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        let machine = Self::new(system, variables);
        if system == System::Linux && machine.variable("WSL_DISTRO_NAME").is_some() {
            return Self { windows_homes: directories_below(Path::new("/mnt/c/Users")), ..machine };
        }
        machine
    }

    /// A machine with these environment variables. `~` at the beginning of a value is the home directory: files of settings and
    /// services pass values on without a shell.
    pub fn new(system: System, variables: impl IntoIterator<Item = (String, OsString)>) -> Self {
        let mut machine = Self { system, variables: variables.into_iter().collect(), windows_homes: Vec::new() };
        if let Some(home) = machine.home() {
            for value in machine.variables.values_mut().filter(|value| value.to_string_lossy().starts_with('~')) {
                *value = without_tilde(Path::new(value), Some(&home)).into_os_string();
            }
        }
        machine
    }

    /// The paths that a place may be on this machine, whether they exist or not. Without duplicates.
    pub fn resolve(&self, place: &Place) -> Vec<UserPath> {
        let mut paths: Vec<UserPath> = Vec::new();
        for base in self.bases(place.base) {
            let path = join(&base.path, place.path);
            if place.base == Base::WorkspaceStorage && !path.try_exists().unwrap_or(true) {
                continue;
            }
            for path in matching(path) {
                if !paths.iter().any(|known| known.path == path) {
                    paths.push(UserPath { path, user: base.user.clone() });
                }
            }
        }
        paths
    }

    /// The user's directory for the data of agentlogs; `None` without a home directory.
    pub fn own_data(&self) -> Option<PathBuf> {
        let base = match self.system {
            System::Linux => self.xdg("XDG_DATA_HOME", ".local/share"),
            System::MacOs | System::Windows => self.application_data(),
        };
        base.map(|base| base.join(OWN))
    }

    /// The user's directory for the configuration of agentlogs; `None` without a home directory.
    pub fn own_configuration(&self) -> Option<PathBuf> {
        let base = match self.system {
            System::Linux => self.xdg("XDG_CONFIG_HOME", ".config"),
            System::MacOs | System::Windows => self.application_data(),
        };
        base.map(|base| base.join(OWN))
    }

    /// The user's directory for files of agentlogs that can be computed again; `None` without a home directory.
    pub fn own_cache(&self) -> Option<PathBuf> {
        let base = match self.system {
            System::Linux => self.xdg("XDG_CACHE_HOME", ".cache"),
            System::MacOs => Some(join(&self.home()?, "Library/Caches")),
            System::Windows => self.local_application_data(),
        };
        base.map(|base| base.join(OWN))
    }

    /// The user's home directory.
    pub fn home(&self) -> Option<PathBuf> {
        let name = if self.system == System::Windows { "USERPROFILE" } else { "HOME" };
        self.variable(name).map(PathBuf::from)
    }

    /// The name of the user's account: as the environment names it, else that of the home directory.
    pub fn user(&self) -> Option<String> {
        let names = if self.system == System::Windows { ["USERNAME", "USER"] } else { ["USER", "LOGNAME"] };
        let named = names.into_iter().find_map(|name| self.variable(name)?.to_str().map(str::to_owned));
        named.or_else(|| name_of(&self.home()?))
    }

    fn bases(&self, base: Base) -> Vec<UserPath> {
        match base {
            Base::Home => self.homes(),
            Base::Variable { name, default } => match (self.variable(name), default) {
                (Some(value), _) => {
                    let home = self.home();
                    self.own(
                        directories(value).iter().map(|path| without_tilde(path, home.as_deref())).collect::<Vec<_>>(),
                    )
                }
                (None, Some(default)) => below(self.homes(), default),
                (None, None) => Vec::new(),
            },
            Base::XdgData => self.own(self.xdg("XDG_DATA_HOME", ".local/share")),
            Base::XdgState => self.own(self.xdg("XDG_STATE_HOME", ".local/state")),
            Base::ApplicationData => {
                [self.own(self.application_data()), below(self.homes_of_windows(), ROAMING)].concat()
            }
            Base::LocalApplicationData => {
                [self.own(self.local_application_data()), below(self.homes_of_windows(), LOCAL)].concat()
            }
            Base::ExtensionStorage => below(self.editors(), "globalStorage"),
            Base::WorkspaceStorage => {
                below(self.editors(), "workspaceStorage").iter().flat_map(directories_in).collect()
            }
        }
    }

    /// The home directory, and those of Windows where Linux runs in WSL.
    fn homes(&self) -> Vec<UserPath> {
        let mut homes = self.own(self.home());
        homes.extend(self.homes_of_windows());
        homes
    }

    fn homes_of_windows(&self) -> Vec<UserPath> {
        self.windows_homes.iter().map(|home| UserPath { path: home.clone(), user: name_of(home) }).collect()
    }

    /// The directories in which VS Code and its relatives keep the data of the user.
    fn editors(&self) -> Vec<UserPath> {
        let mut configurations = self.bases(Base::ApplicationData);
        if self.system == System::Linux {
            configurations.extend(self.own(self.xdg("XDG_CONFIG_HOME", ".config")));
        }
        let editors = EDITORS.iter().flat_map(|editor| below(configurations.clone(), &format!("{editor}/User")));
        let homes = self.own(self.home());
        let servers = EDITOR_SERVERS.iter().flat_map(|server| below(homes.clone(), &format!("{server}/data/User")));
        // code-server has no directory `data`.
        let code_server = below(homes.clone(), ".local/share/code-server/User");
        editors.chain(servers).chain(code_server).collect()
    }

    fn application_data(&self) -> Option<PathBuf> {
        match self.system {
            System::Linux => None,
            System::MacOs => Some(join(&self.home()?, "Library/Application Support")),
            System::Windows => self.directory_of_windows("APPDATA", ROAMING),
        }
    }

    fn local_application_data(&self) -> Option<PathBuf> {
        if self.system == System::Windows { self.directory_of_windows("LOCALAPPDATA", LOCAL) } else { None }
    }

    /// The directory that a variable of Windows names, or else that of the usual path in the home directory.
    fn directory_of_windows(&self, variable: &str, default: &str) -> Option<PathBuf> {
        self.variable(variable).map(PathBuf::from).or_else(|| Some(join(&self.home()?, default)))
    }

    /// The directory of an XDG variable. The specification wants relative paths to be ignored.
    fn xdg(&self, variable: &str, default: &str) -> Option<PathBuf> {
        let named = self.variable(variable).map(PathBuf::from).filter(|path| path.has_root());
        named.or_else(|| Some(join(&self.home()?, default)))
    }

    /// Directories of this user.
    fn own(&self, directories: impl IntoIterator<Item = PathBuf>) -> Vec<UserPath> {
        directories.into_iter().map(|path| UserPath { path, user: self.user() }).collect()
    }

    /// The value of an environment variable. An empty one counts as unset.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(name).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }
}

/// A path in which `~` at its beginning is the home directory. `~user` stays as it is.
pub fn without_tilde(path: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

/// The directories in a directory, by name; none if it cannot be read.
fn directories_in(parent: &UserPath) -> Vec<UserPath> {
    let entries = std::fs::read_dir(&parent.path).into_iter().flatten().filter_map(Result::ok);
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    paths.sort();
    paths.into_iter().map(|path| UserPath { path, user: parent.user.clone() }).collect()
}

fn below(bases: Vec<UserPath>, path: &str) -> Vec<UserPath> {
    bases.into_iter().map(|base| UserPath { path: join(&base.path, path), ..base }).collect()
}

/// `base/path`, where `path` has `/` as the separator on every platform.
fn join(base: &Path, path: &str) -> PathBuf {
    path.split('/').filter(|part| !part.is_empty()).fold(base.to_owned(), |joined, part| joined.join(part))
}

/// The existing paths that a path with a `*` in its last part means; another path as it is.
fn matching(path: PathBuf) -> Vec<PathBuf> {
    let pattern = name_of(&path).unwrap_or_default();
    let (Some((start, end)), Some(directory)) = (pattern.split_once('*'), path.parent()) else { return vec![path] };
    let names =
        directory.read_dir().into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let is_match = |name: &String| name.strip_prefix(start).is_some_and(|rest| rest.ends_with(end));
    let mut paths: Vec<PathBuf> = names.filter(is_match).map(|name| directory.join(name)).collect();
    paths.sort();
    paths
}

fn name_of(directory: &Path) -> Option<String> {
    directory.file_name()?.to_str().map(str::to_owned)
}

/// The directories of a list that is separated by commas, as `CLAUDE_CONFIG_DIR` may be for ccusage.
fn directories(value: &OsStr) -> Vec<PathBuf> {
    match value.to_str() {
        Some(text) => text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(PathBuf::from).collect(),
        None => vec![PathBuf::from(value)],
    }
}

/// The directories in a directory, sorted; none if it cannot be read.
fn directories_below(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = directory.read_dir() else { return Vec::new() };
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    let mut directories: Vec<PathBuf> = paths.filter(|path| path.is_dir()).collect();
    directories.sort();
    directories
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(system: System, variables: &[(&str, &str)]) -> Machine {
        Machine::new(system, variables.iter().map(|(name, value)| ((*name).to_owned(), OsString::from(value))))
    }

    fn text(path: &Path) -> String {
        path.to_string_lossy().replace('\\', "/")
    }

    #[test]
    fn a_star_matches_existing_names() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["x.db", "x-dev.db", "x-beta.db", "x-dev.db-wal", "y-dev.db"] {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        let data = directory.path().to_string_lossy();
        let names = |path| {
            let machine = machine(System::Linux, &[("XDG_DATA_HOME", data.as_ref())]);
            machine.resolve(&Place::data(path)).iter().filter_map(|found| name_of(&found.path)).collect::<Vec<_>>()
        };
        assert_eq!(names("x-*.db"), ["x-beta.db", "x-dev.db"]);
        assert_eq!(names("z-*.db"), Vec::<String>::new());
        assert_eq!(names("z.db"), ["z.db"]);
    }

    fn paths(machine: &Machine, place: &Place) -> Vec<String> {
        machine.resolve(place).iter().map(|found| text(&found.path)).collect()
    }

    #[test]
    fn a_variable_replaces_its_default() {
        let place = Place::variable("CLAUDE_CONFIG_DIR", ".claude", "projects");
        assert_eq!(paths(&machine(System::Linux, &[("HOME", "/h")]), &place), ["/h/.claude/projects"]);
        let cases = [("", vec!["/h/.claude/projects"]), ("/a, /b,/a", vec!["/a/projects", "/b/projects"])];
        for (value, expected) in cases {
            let machine = machine(System::Linux, &[("HOME", "/h"), ("CLAUDE_CONFIG_DIR", value)]);
            assert_eq!(paths(&machine, &place), expected, "{value}");
        }
        assert!(paths(&machine(System::Linux, &[]), &place).is_empty());
        let only = Place::only_variable("GOOSE_PATH_ROOT", "data");
        assert!(paths(&machine(System::Linux, &[("HOME", "/h")]), &only).is_empty());
        assert_eq!(paths(&machine(System::Linux, &[("GOOSE_PATH_ROOT", "/g")]), &only), ["/g/data"]);
    }

    #[test]
    fn each_platform_has_its_directories() {
        let linux = machine(System::Linux, &[("HOME", "/h"), ("XDG_CONFIG_HOME", "/c"), ("XDG_DATA_HOME", "relative")]);
        let mac = machine(System::MacOs, &[("HOME", "/h")]);
        let windows = machine(System::Windows, &[("USERPROFILE", "/u"), ("APPDATA", "/u/Data"), ("HOME", "/other")]);
        let data = Place::data("x");
        assert_eq!(paths(&linux, &data), ["/h/.local/share/x"]);
        assert_eq!(paths(&mac, &data), ["/h/.local/share/x"]);
        assert_eq!(paths(&windows, &data), ["/u/.local/share/x"]);
        let application = Place::application("x");
        assert!(paths(&linux, &application).is_empty());
        assert_eq!(paths(&mac, &application), ["/h/Library/Application Support/x"]);
        assert_eq!(paths(&windows, &application), ["/u/Data/x"]);
        let local = Place::local_application("x");
        assert!(paths(&linux, &local).is_empty() && paths(&mac, &local).is_empty());
        assert_eq!(paths(&windows, &local), ["/u/AppData/Local/x"]);
        let extension = Place::extension("x/tasks");
        for expected in [
            "/c/Code/User/globalStorage/x/tasks",
            "/h/.vscode-server/data/User/globalStorage/x/tasks",
            "/h/.local/share/code-server/User/globalStorage/x/tasks",
        ] {
            assert!(paths(&linux, &extension).iter().any(|path| path == expected), "{expected}");
        }
        let on_windows = "/u/Data/Code - Insiders/User/globalStorage/x/tasks";
        assert!(paths(&windows, &extension).iter().any(|path| path == on_windows));
        let own = |machine: &Machine| {
            [machine.own_data(), machine.own_configuration()].map(|path| path.map(|path| text(&path)).unwrap())
        };
        assert_eq!(own(&linux), ["/h/.local/share/agentlogs", "/c/agentlogs"]);
        assert_eq!(own(&mac), ["/h/Library/Application Support/agentlogs"; 2]);
        assert_eq!(own(&windows), ["/u/Data/agentlogs"; 2]);
        let cache = |machine: &Machine| machine.own_cache().map(|path| text(&path)).unwrap();
        assert_eq!(cache(&linux), "/h/.cache/agentlogs");
        assert_eq!(cache(&machine(System::Linux, &[("XDG_CACHE_HOME", "/c")])), "/c/agentlogs");
        assert_eq!(cache(&mac), "/h/Library/Caches/agentlogs");
        assert_eq!(cache(&windows), "/u/AppData/Local/agentlogs");
        assert_eq!(cache(&machine(System::Windows, &[("LOCALAPPDATA", "/l")])), "/l/agentlogs");
    }

    #[test]
    fn wsl_has_the_homes_of_windows_too() {
        let linux = machine(System::Linux, &[("HOME", "/home/ann")]);
        let wsl = Machine { windows_homes: vec![PathBuf::from("/mnt/c/Users/Ann B")], ..linux };
        let found = wsl.resolve(&Place::home(".codex"));
        let found: Vec<(String, Option<&str>)> =
            found.iter().map(|found| (text(&found.path), found.user.as_deref())).collect();
        let expected = [("/home/ann/.codex", "ann"), ("/mnt/c/Users/Ann B/.codex", "Ann B")];
        assert_eq!(found, expected.map(|(path, user)| (path.to_owned(), Some(user))));
        let extension = paths(&wsl, &Place::extension("x"));
        assert!(extension.contains(&"/mnt/c/Users/Ann B/AppData/Roaming/Code/User/globalStorage/x".to_owned()));
    }

    #[test]
    fn the_user_is_that_of_the_environment() {
        assert_eq!(machine(System::Linux, &[("HOME", "/home/ann"), ("USER", "bob")]).user().as_deref(), Some("bob"));
        assert_eq!(machine(System::MacOs, &[("HOME", "/Users/ann")]).user().as_deref(), Some("ann"));
        assert_eq!(machine(System::Linux, &[]).user(), None);
    }
}
