//! Declarations of where runtimes keep their logs. Each adapter declares its own; `input::places` finds them on a machine.

/// A directory or file in which a runtime keeps logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The directory that the platform or the user decides.
    pub base: Base,
    /// The path below it, with `/` as the separator; empty for the base itself. A `*` in its last part means any characters:
    /// then only existing paths are known.
    pub path: &'static str,
}

/// The directory below which a [`Place`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// The user's home directory.
    Home,
    /// The directories that an environment variable names, separated by commas.
    Variable {
        /// The variable.
        name: &'static str,
        /// The path below the home directory if the variable is unset, with `/` as the separator. `None`: no directory.
        default: Option<&'static str>,
    },
    /// `$XDG_DATA_HOME`, or `~/.local/share`. Many runtimes use it on macOS and Windows too.
    XdgData,
    /// `$XDG_STATE_HOME`, or `~/.local/state`.
    XdgState,
    /// The directory for application data: `%APPDATA%` on Windows, `~/Library/Application Support` on macOS. Not on Linux.
    ApplicationData,
    /// The directory for application data that stays on the machine: `%LOCALAPPDATA%`. Only on Windows.
    LocalApplicationData,
    /// The directories in which VS Code and its relatives keep the data of extensions, one for each editor.
    ExtensionStorage,
    /// The directories of workspaces in VS Code and its relatives. Only existing ones are known, as their names are hashes.
    WorkspaceStorage,
}

impl Place {
    /// A place below the home directory.
    pub const fn home(path: &'static str) -> Self {
        Self { base: Base::Home, path }
    }

    /// A place below `$NAME`, or below `~/DEFAULT` if the variable is unset.
    pub const fn variable(name: &'static str, default: &'static str, path: &'static str) -> Self {
        Self { base: Base::Variable { name, default: Some(default) }, path }
    }

    /// A place below `$NAME`, which exists only if the variable is set.
    pub const fn only_variable(name: &'static str, path: &'static str) -> Self {
        Self { base: Base::Variable { name, default: None }, path }
    }

    /// A place below the XDG directory for data.
    pub const fn data(path: &'static str) -> Self {
        Self { base: Base::XdgData, path }
    }

    /// A place below the XDG directory for state.
    pub const fn state(path: &'static str) -> Self {
        Self { base: Base::XdgState, path }
    }

    /// A place below the directory for application data on Windows and macOS.
    pub const fn application(path: &'static str) -> Self {
        Self { base: Base::ApplicationData, path }
    }

    /// A place below the directory for application data that stays on a machine with Windows.
    pub const fn local_application(path: &'static str) -> Self {
        Self { base: Base::LocalApplicationData, path }
    }

    /// A place in each workspace of VS Code and its relatives.
    pub const fn workspace(path: &'static str) -> Self {
        Self { base: Base::WorkspaceStorage, path }
    }

    /// A place in the extension storage of VS Code and its relatives.
    pub const fn extension(path: &'static str) -> Self {
        Self { base: Base::ExtensionStorage, path }
    }
}
