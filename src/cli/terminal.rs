//! The terminal: its size, and whether text on it may be coloured.
//!
//! `AGENTLOGS_TERMINAL=80x24` makes standard output count as a terminal of this size, so that tests can print what a person sees.

use std::env;
use std::io::{self, IsTerminal};
use std::sync::OnceLock;

use agentlogs::analysis::present::Screen;
use clap::ValueEnum;
use crossterm::terminal;

/// When text is coloured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal that has colours
    #[default]
    Auto,
    Always,
    Never,
}

/// The options of the command line.
static OPTIONS: OnceLock<(ColorChoice, bool)> = OnceLock::new();

/// Keeps the options of the command line.
pub fn set_up(color: ColorChoice, is_verbose: bool) {
    // Set once, before anything is printed.
    let _ = OPTIONS.set((color, is_verbose));
}

/// Whether everything is stated, such as the archive and the date of its prices.
pub fn is_verbose() -> bool {
    OPTIONS.get().is_some_and(|(_, is_verbose)| *is_verbose)
}

/// The size of a terminal that does not report it, and the smallest one for tables.
const USUAL: (u16, u16) = (80, 24);
const SMALLEST: (u16, u16) = (20, 5);

/// The size of the terminal in columns and lines.
pub fn size() -> (u16, u16) {
    // Some terminals report a width of 0 or 1.
    terminal::size().ok().filter(|(width, height)| *width > 1 && *height > 0).unwrap_or(USUAL)
}

/// The terminal, if standard output is one.
pub fn screen() -> Option<Screen> {
    let is_ascii = is_dumb() || is_ascii_locale(&variable);
    let size = match variable("AGENTLOGS_TERMINAL").as_deref().and_then(size_of) {
        Some(size) => size,
        None if !io::stdout().is_terminal() => return None,
        None => {
            let (width, height) = size();
            (size_in("COLUMNS").unwrap_or(width), size_in("LINES").unwrap_or(height))
        }
    };
    Some(Screen { width: size.0.max(SMALLEST.0), height: size.1.max(SMALLEST.1), is_ascii })
}

/// The width to which messages on stderr are wrapped: that of the terminal, if stderr is one.
pub fn width_of_messages() -> Option<usize> {
    if !io::stderr().is_terminal() {
        return None;
    }
    let named = variable("AGENTLOGS_TERMINAL").as_deref().and_then(size_of).map(|(width, _)| width);
    let named = named.or_else(|| size_in("COLUMNS"));
    Some(named.unwrap_or_else(|| size().0).max(SMALLEST.0).into())
}

/// Whether text on standard output may be bold or coloured.
pub fn has_color() -> bool {
    let choice = OPTIONS.get().map(|(color, _)| *color).unwrap_or_default();
    is_colored(choice, screen().is_some(), &variable)
}

/// Whether a person can write: standard input and output are a terminal with control sequences.
pub fn is_interactive() -> bool {
    !is_dumb() && io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Whether the terminal has no control sequences.
pub fn is_dumb() -> bool {
    variable("TERM").is_some_and(|name| name == "dumb")
}

/// An environment variable. An empty one counts as unset.
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// The number of columns or lines in an environment variable. 0 counts as unset.
fn size_in(name: &str) -> Option<u16> {
    variable(name)?.parse().ok().filter(|size| *size > 0)
}

fn size_of(text: &str) -> Option<(u16, u16)> {
    let (width, height) = text.split_once('x')?;
    Some((width.parse().ok()?, height.parse().ok()?))
}

/// The variables are those of no-color.org, force-color.org and bixense.com/clicolors.
fn is_colored(choice: ColorChoice, is_terminal: bool, variable: &dyn Fn(&str) -> Option<String>) -> bool {
    let forces = |name: &str| variable(name).is_some_and(|value| value != "0");
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto if variable("NO_COLOR").is_some() => false,
        ColorChoice::Auto if forces("FORCE_COLOR") || forces("CLICOLOR_FORCE") => true,
        ColorChoice::Auto => {
            let is_refused = ["FORCE_COLOR", "CLICOLOR"].iter().any(|name| variable(name).is_some_and(|it| it == "0"));
            is_terminal && !is_refused && variable("TERM").is_none_or(|name| name != "dumb")
        }
    }
}

/// Whether the locale has ASCII only. Without a locale a terminal is one of UTF-8, as most are.
fn is_ascii_locale(variable: &dyn Fn(&str) -> Option<String>) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| variable(name));
    locale.is_some_and(|name| name == "C" || name == "POSIX")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<'a>(variables: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        |name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    }

    #[test]
    fn colours_follow_the_option_and_then_the_environment() {
        use ColorChoice::{Always, Auto, Never};
        for (choice, is_terminal, variables, expected) in [
            (Auto, true, &[][..], true),
            (Auto, false, &[], false),
            (Auto, true, &[("TERM", "dumb")], false),
            (Auto, true, &[("CLICOLOR", "0")], false),
            (Auto, true, &[("CLICOLOR", "1")], true),
            (Auto, false, &[("CLICOLOR", "1")], false),
            (Auto, false, &[("CLICOLOR_FORCE", "1")], true),
            (Auto, false, &[("CLICOLOR_FORCE", "0")], false),
            (Auto, false, &[("FORCE_COLOR", "1"), ("TERM", "dumb")], true),
            (Auto, true, &[("FORCE_COLOR", "0")], false),
            (Auto, true, &[("NO_COLOR", "1"), ("FORCE_COLOR", "1")], false),
            (Always, false, &[("NO_COLOR", "1")], true),
            (Never, true, &[("FORCE_COLOR", "1")], false),
        ] {
            assert_eq!(
                is_colored(choice, is_terminal, &of(variables)),
                expected,
                "{choice:?} {is_terminal} {variables:?}"
            );
        }
    }

    #[test]
    fn a_locale_of_ascii_is_named() {
        for (variables, expected) in [
            (&[][..], false),
            (&[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")], true),
            (&[("LANG", "POSIX")], true),
            (&[("LC_CTYPE", "C.UTF-8"), ("LANG", "C")], false),
        ] {
            assert_eq!(is_ascii_locale(&of(variables)), expected, "{variables:?}");
        }
        assert_eq!((size_of("80x24"), size_of("80"), size_of("ax1")), (Some((80, 24)), None, None));
    }
}
