//! The filters of a cohort, as the command line describes them.

use agentlogs::analysis::reports::{DIMENSIONS, Scope};
use agentlogs::store::query::near;

use crate::cli::args::Filters;
use crate::cli::commands::resolve::scope;
use crate::cli::settings::Settings;

/// Parses filters such as `model=claude-*,since=30d`.
pub(in crate::cli::commands) fn cohort(
    texts: &[String],
    timezone: Option<String>,
    settings: &Settings,
) -> Result<Scope, String> {
    const TIMES: [&str; 3] = ["since", "until", "last"];
    let names = || TIMES.into_iter().chain(DIMENSIONS.iter().map(|dimension| dimension.name));
    let mut filters = Filters { timezone, ..Filters::default() };
    let mut only = Vec::new();
    for text in texts {
        for filter in split(text) {
            let Some((name, value)) = filter.split_once('=') else {
                return Err(format!("{filter:?} is not a filter; write NAME=VALUE, such as model=claude-opus-*"));
            };
            let name = name.trim();
            let is_second = match name {
                "since" | "last" => filters.since.is_some(),
                "until" => filters.until.is_some(),
                _ => false,
            };
            if is_second {
                return Err(format!(
                    "{filter:?} is a second bound of the period; a cohort has one `since` or `last`, and one `until`"
                ));
            }
            match name {
                "since" | "last" => {
                    filters.since = Some(value.parse().map_err(|error| format!("{value:?} is {error}"))?);
                }
                "until" => filters.until = Some(value.parse().map_err(|error| format!("{value:?} is {error}"))?),
                // As the option --label: label=experiment=base is label:experiment=base.
                "label" => match value.split_once('=') {
                    Some((key, value)) => only.push((format!("label:{key}"), value.to_owned())),
                    None => return Err(format!("{filter:?} is not a label; write label:KEY=VALUE")),
                },
                _ if name.starts_with("label:") || names().any(|known| known == name) => {
                    only.push((name.to_owned(), value.to_owned()));
                }
                _ => {
                    let answer = match near(name, names()) {
                        Some(near) => format!("did you mean {near:?}?"),
                        None => {
                            format!("a label is label:{name}={value}, and `agentlogs compare --help` lists the others")
                        }
                    };
                    return Err(format!("no filter {name:?}; {answer}"));
                }
            }
        }
    }
    let mut scope = scope(filters, settings);
    scope.only = only;
    Ok(scope)
}

/// The scope with only the tasks that are held out, if they are chosen.
pub(super) fn held_out(mut scope: Scope, is_chosen: bool) -> Scope {
    if is_chosen {
        scope.only.push(("set".to_owned(), "held_out".to_owned()));
    }
    scope
}

/// Splits filters at commas. A part without `=` belongs to the value before it.
fn split(text: &str) -> Vec<String> {
    let mut filters: Vec<String> = Vec::new();
    for part in text.split(',') {
        match filters.last_mut() {
            Some(last) if !part.contains('=') => {
                last.push(',');
                last.push_str(part);
            }
            _ => filters.push(part.to_owned()),
        }
    }
    filters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_in_one_word() {
        let asked = |text: &str| {
            cohort(&[text.to_owned()], None, &Settings::default())
                .map(|it| (it.only, it.since.is_some(), it.until.is_some()))
        };
        let only = |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        assert_eq!(asked("model=gpt-5*"), Ok((only(&[("model", "gpt-5*")]), false, false)));
        assert_eq!(
            asked("label:task=a,b,label=x=y=z,since=2026-10-01,until=2w"),
            Ok((only(&[("label:task", "a,b"), ("label:x", "y=z")]), true, true))
        );
        assert_eq!(asked("modle=x").unwrap_err(), "no filter \"modle\"; did you mean \"model\"?");
        assert!(asked("team=shop").unwrap_err().starts_with("no filter \"team\"; a label is label:team=shop, and "));
        assert!(asked("gpt-5").unwrap_err().contains("NAME=VALUE"));
        assert!(asked("since=2026-10-01,last=30d").unwrap_err().contains("second bound"));
        assert!(asked("until=2026-10-01,until=2w").unwrap_err().contains("second bound"));
        assert!(asked("since=soon").unwrap_err().contains("is not a time"));
    }
}
