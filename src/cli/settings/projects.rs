//! `[projects]` of a configuration file: see docs/configuration.md#projects.

use std::collections::BTreeMap;
use std::path::Path;

use agentlogs::input::machine::without_tilde;
use toml::Spanned;

/// Names of projects, by patterns of their directories.
pub type Names = BTreeMap<String, String>;

/// The longest pattern, in bytes.
const LONGEST: usize = 1024;

/// An entry that cannot be used.
#[derive(Debug)]
pub struct Wrong {
    /// The position of its value in the file.
    pub position: usize,
    /// Its key.
    pub pattern: String,
    /// Why it cannot be used.
    pub problem: String,
}

/// The entries, with the home directory in place of `~`.
///
/// # Errors
/// The first entry that cannot be used.
pub fn names(entries: BTreeMap<String, Spanned<String>>, home: Option<&Path>) -> Result<Names, Wrong> {
    let named = entries.into_iter().map(|(pattern, name)| {
        let position = name.span().start;
        let name = name.into_inner();
        let has_control = |text: &str| text.contains(char::is_control);
        let problem = if pattern.is_empty() || has_control(&pattern) {
            Some("a pattern is the path of a directory, in which * matches any text".to_owned())
        } else if pattern.len() > LONGEST {
            Some(format!("a pattern has at most {LONGEST} bytes"))
        } else if name.trim().is_empty() || has_control(&name) {
            Some("the name of a project is a text without control characters".to_owned())
        } else {
            None
        };
        if let Some(problem) = problem {
            return Err(Wrong { position, pattern, problem });
        }
        Ok((without_tilde(Path::new(&pattern), home).to_string_lossy().into_owned(), name))
    });
    named.collect()
}
