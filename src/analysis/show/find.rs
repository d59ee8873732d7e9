//! Finds the session that a text of the command line means.

use polars::prelude::*;

use crate::analysis::rows::{Frames, beginning_of_id, both_ends_of_id, newest_first};
use crate::store::frames::sessions;

/// The number of sessions that a message lists.
const LISTED: usize = 5;

/// What identifies a session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionKey {
    /// The runtime's own id.
    pub id: String,
    /// The runtime.
    pub runtime: String,
}

/// Why no single session is found.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No id begins with the text, and no log has it as its path.
    #[error(
        "no session {0:?}: no id begins with it, and no log of a session has this path; `agentlogs sessions` lists them"
    )]
    Missing(String),
    /// There is no session at all.
    #[error("no sessions{}", none_of(.0.as_deref()))]
    Empty(Option<String>),
    /// No session has this number, and no id begins with it.
    #[error("no session {number}: `agentlogs sessions` lists {count}, and no id begins with {number}")]
    Number {
        /// The number.
        number: usize,
        /// The number of sessions.
        count: usize,
    },
    /// Several ids begin with it.
    #[error("{} sessions begin with {text:?}: {}", .found.len(), listed(.found))]
    Ambiguous {
        /// The text.
        text: String,
        /// The sessions.
        found: Vec<SessionKey>,
    },
    /// Several ids are shortened like it.
    #[error(
        "{} sessions have an id like {text:?}: {}; the number of one in `agentlogs sessions` names it",
        .found.len(), listed(.found)
    )]
    Shortened {
        /// The text.
        text: String,
        /// The sessions.
        found: Vec<SessionKey>,
    },
    /// Several runtimes use the id.
    #[error("sessions of several runtimes have the id {text:?}: {}; --runtime selects one", listed(.found))]
    Runtimes {
        /// The text.
        text: String,
        /// The sessions.
        found: Vec<SessionKey>,
    },
    /// A log contains several sessions.
    #[error("{text} contains {} sessions: {}; name one of them, with --logs {text}", .found.len(), listed(.found))]
    Log {
        /// The text.
        text: String,
        /// The sessions.
        found: Vec<SessionKey>,
    },
    /// The tables cannot be read.
    #[error(transparent)]
    Polars(#[from] PolarsError),
}

fn none_of(runtime: Option<&str>) -> String {
    match runtime {
        Some(runtime) => {
            format!(" of the runtime {runtime:?}; `agentlogs report sessions --by runtime` lists the runtimes")
        }
        None => "; `agentlogs ingest PATH` reads logs".to_owned(),
    }
}

fn listed(found: &[SessionKey]) -> String {
    let names: Vec<String> = found.iter().take(LISTED).map(|key| format!("{} ({})", key.id, key.runtime)).collect();
    let more = if found.len() > LISTED { ", …" } else { "" };
    names.join(", ") + more
}

/// The word for the newest session.
const LAST: &str = "last";

/// The number of a session in the list, the newest first; `last` is the first one. An id can begin with 0.
fn number_in_list(text: &str) -> Option<usize> {
    match text {
        LAST => Some(1),
        _ if text.starts_with('0') || text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) => None,
        _ => text.parse().ok(),
    }
}

/// The sessions in the order of the list.
fn in_order(tables: &Frames, runtime: Option<&str>) -> PolarsResult<Vec<SessionKey>> {
    let frame = newest_first(tables).collect()?;
    let (runtimes, ids) = (frame.column(sessions::RUNTIME)?.str()?, frame.column(sessions::SESSION_ID)?.str()?);
    let keys = runtimes
        .iter()
        .zip(ids.iter())
        .filter_map(|(runtime, id)| Some(SessionKey { id: id?.to_owned(), runtime: runtime?.to_owned() }));
    Ok(keys.filter(|key| runtime.is_none_or(|runtime| runtime == key.runtime)).collect())
}

/// The newest session.
///
/// # Errors
/// When there are no sessions, or the tables cannot be read.
pub fn newest(tables: &Frames, runtime: Option<&str>) -> Result<SessionKey, Error> {
    find(tables, LAST, runtime)
}

/// The session with this id, else the one with this number in the list or the newest one, else the only one whose id begins with the text,
/// else the only one of the log with this path or with a path that ends with it, else the only one whose id is shortened to the text.
/// `runtime` limits the candidates. An empty text is the only session of all.
///
/// # Errors
/// When no session or several sessions are found, or the tables cannot be read.
pub fn find(tables: &Frames, text: &str, runtime: Option<&str>) -> Result<SessionKey, Error> {
    let columns = [sessions::RUNTIME, sessions::SESSION_ID, sessions::SOURCE_PATH];
    let frame = tables.table(sessions::TABLE).select(columns.map(col)).collect()?;
    let [runtimes, ids, paths] = columns.map(|name| frame.column(name).and_then(|column| column.str()));
    let (runtimes, ids, paths) = (runtimes?, ids?, paths?);
    let matching = |is_match: &dyn Fn(&str, &str) -> bool| -> Vec<SessionKey> {
        let mut found: Vec<SessionKey> = (0..frame.height())
            .filter_map(|row| {
                let (of, id) = (runtimes.get(row)?, ids.get(row)?);
                let is_selected = runtime.is_none_or(|runtime| runtime == of);
                let is_found = is_selected && is_match(id, paths.get(row).unwrap_or_default());
                is_found.then(|| SessionKey { id: id.to_owned(), runtime: of.to_owned() })
            })
            .collect();
        found.sort();
        found
    };
    let text_of = || text.to_owned();
    let mut found = matching(&|id, _| id == text);
    if found.len() > 1 {
        return Err(Error::Runtimes { text: text_of(), found });
    }
    let number = number_in_list(text).filter(|_| found.is_empty());
    if let Some(number) = number {
        let list = in_order(tables, runtime)?;
        if let Some(key) = list.get(number - 1) {
            return Ok(key.clone());
        }
        if list.is_empty() {
            return Err(Error::Empty(runtime.map(str::to_owned)));
        }
        if matching(&|id, _| id.starts_with(text)).is_empty() {
            return Err(Error::Number { number, count: list.len() });
        }
    }
    if found.is_empty() {
        found = matching(&|id, _| id.starts_with(beginning_of_id(text)));
        if found.len() > 1 {
            return Err(Error::Ambiguous { text: text_of(), found });
        }
    }
    if found.is_empty() {
        let relative = text.trim_start_matches("./");
        found = matching(&|_, path| path == text || path.strip_suffix(relative).is_some_and(|it| it.ends_with('/')));
        if found.len() > 1 {
            return Err(Error::Log { text: text_of(), found });
        }
    }
    if let Some((first, last)) = both_ends_of_id(text).filter(|_| found.is_empty()) {
        let after =
            |id: &str, is_like: fn(&str, &str) -> bool| id.strip_prefix(first).is_some_and(|rest| is_like(rest, last));
        // What is shortened may itself be the beginning of the id.
        found = matching(&|id, _| after(id, |rest, last| rest.ends_with(last)));
        if found.is_empty() {
            found = matching(&|id, _| after(id, |rest, last| rest.contains(last)));
        }
        if found.len() > 1 {
            return Err(Error::Shortened { text: text_of(), found });
        }
    }
    found.pop().ok_or_else(|| Error::Missing(text_of()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, runtime: Option<&str>) -> Result<String, String> {
        let sessions = df!(
            "runtime" => ["pi", "pi", "zag", "codex", "codex", "codex"],
            "session_id" => ["one", "one-more", "one", "abc", "abd", "b"],
            "source_path" => ["/logs/1.jsonl", "/logs/2.jsonl", "/logs/3.jsonl", "/x/all.jsonl", "/x/all.jsonl", "/x/b.jsonl"],
            "started_at" => [Some(3_i64), Some(6), Some(5), None, Some(1), Some(1)],
        );
        let tables = Frames::from_iter([("sessions", sessions.unwrap().lazy())]);
        match find(&tables, text, runtime) {
            Ok(key) => Ok(format!("{} {}", key.runtime, key.id)),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn a_session_is_found_by_id_beginning_or_path() {
        assert_eq!(found("one", Some("pi")).as_deref(), Ok("pi one"));
        assert_eq!(found("one-", None).as_deref(), Ok("pi one-more"));
        assert_eq!(found("abd", None).as_deref(), Ok("codex abd"));
        assert_eq!(found("/logs/3.jsonl", None).as_deref(), Ok("zag one"));
        assert_eq!(found("./x/b.jsonl", None).as_deref(), Ok("codex b"));
        assert_eq!(found("b.jsonl", None).as_deref(), Ok("codex b"));
        assert_eq!(found("last", None).as_deref(), Ok("pi one-more"));
        assert_eq!(found("2", None).as_deref(), Ok("zag one"));
        assert_eq!(found("4", None).as_deref(), Ok("codex abd"));
        assert_eq!(found("6", None).as_deref(), Ok("codex abc"), "without a start");
        assert_eq!(found("last", Some("codex")).as_deref(), Ok("codex abd"));
        let of_runtime =
            "no sessions of the runtime \"amp\"; `agentlogs report sessions --by runtime` lists the runtimes";
        assert_eq!(found("last", Some("amp")), Err(of_runtime.to_owned()));
        for (text, expected) in [
            ("7", "no session 7: `agentlogs sessions` lists 6, and no id begins with 7"),
            (
                "0",
                "no session \"0\": no id begins with it, and no log of a session has this path; `agentlogs sessions` lists them",
            ),
            ("one", "sessions of several runtimes have the id \"one\": one (pi), one (zag); --runtime selects one"),
            ("ab", "2 sessions begin with \"ab\": abc (codex), abd (codex)"),
            (
                "all.jsonl",
                "all.jsonl contains 2 sessions: abc (codex), abd (codex); name one of them, with --logs all.jsonl",
            ),
            (
                "ll.jsonl",
                "no session \"ll.jsonl\": no id begins with it, and no log of a session has this path; `agentlogs sessions` lists them",
            ),
            ("", "6 sessions begin with \"\": abc (codex), abd (codex), b (codex), one (pi), one (zag), …"),
        ] {
            assert_eq!(found(text, None), Err(expected.to_owned()), "{text:?}");
        }
    }

    /// A terminal shortens ids, or what is unique of them, in the middle.
    #[test]
    fn a_session_is_found_by_its_shortened_id() {
        let ids = ["run-2026-django-1", "run-2026-django-10", "run-2026-django-11x", "run-2026-flask-11y"];
        let sessions = df!(
            "runtime" => ["pi"; 4], "session_id" => ids, "source_path" => ["/a", "/b", "/c", "/d"], "started_at" => [1_i64; 4]
        );
        let tables = Frames::from_iter([("sessions", sessions.unwrap().lazy())]);
        let found = |text: &str| find(&tables, text, None).map(|key| key.id).map_err(|error| error.to_string());
        for (text, expected) in [
            ("run-2…go-1", ids[0]),
            ("run-2...go-10", ids[1]),
            ("run-2~go-11", ids[2]),
            ("run-2026-d…11x", ids[2]),
            ("run…-11y", ids[3]),
        ] {
            assert_eq!(found(text).as_deref(), Ok(expected), "{text}");
        }
        let listed = "run-2026-django-11x (pi), run-2026-flask-11y (pi)";
        assert_eq!(
            found("run…-11"),
            Err(format!(
                "2 sessions have an id like \"run…-11\": {listed}; the number of one in `agentlogs sessions` names it"
            ))
        );
        assert_eq!(found("run-2026-f…").as_deref(), Ok(ids[3]));
        for text in ["…11x", "run…z", "ru-…11x"] {
            assert!(found(text).unwrap_err().starts_with("no session"), "{text}");
        }
    }
}
