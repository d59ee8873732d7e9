//! Tables for SQL that are computed from those of an archive: `labels`, `failures`, `outcomes` and `shipped`.

use std::collections::{BTreeMap, BTreeSet};

use polars::prelude::*;

use crate::analysis::failures::frame::{FAILURE_CLASS, failures};
use crate::analysis::outcomes;
use crate::analysis::rows::{Frames, KEY};
use crate::analysis::shipped;
use crate::store::frames::{COMPUTED_TABLES, FAILURES, LABELS, OUTCOMES, TypedRows as _, rows, sessions};
use crate::store::query::{describes, lists_tables, names_column, reads};

/// The tables with those that are computed for a query.
///
/// # Errors
/// When the tables cannot be read.
pub fn with_views(tables: Frames, sql: &str) -> PolarsResult<Frames> {
    let is_list = lists_tables(sql);
    let mut views: Vec<(&'static str, LazyFrame)> = Vec::new();
    for name in COMPUTED_TABLES.into_iter().filter(|name| is_list || reads(sql, name)) {
        views.push(match name {
            // Only its name matters.
            _ if is_list => (name, DataFrame::empty().lazy()),
            LABELS => (name, labels(&tables)?),
            // Its columns are known without its rows.
            _ if describes(sql) => continue,
            FAILURES => (name, failures(&tables)?),
            OUTCOMES => (name, outcomes::view(&tables)?),
            _ => (name, shipped::view(&tables)?),
        });
    }
    let is_class_asked = names_column(sql, FAILURE_CLASS) && reads(sql, sessions::TABLE) && !reads(sql, FAILURES);
    let tables = if is_class_asked { with_failure_class(tables)? } else { tables };
    if views.is_empty() {
        return Ok(tables);
    }
    Ok(tables.into_iter().chain(views).collect())
}

/// The tables with the classes of failures at the end of `sessions`.
fn with_failure_class(tables: Frames) -> PolarsResult<Frames> {
    let classes = failures(&tables)?.select([&KEY.map(col)[..], &[col(FAILURE_CLASS)]].concat());
    let how = JoinArgs { maintain_order: MaintainOrderJoin::Left, ..JoinArgs::new(JoinType::Left) };
    Ok(tables.map(|name, frame| match name {
        sessions::TABLE => frame.join(classes.clone(), KEY.map(col), KEY.map(col), how.clone()),
        _ => frame,
    }))
}

rows! {
    /// The labels of sessions.
    struct Labels {
        runtime: sessions::RUNTIME,
        session: sessions::SESSION_ID,
        labels: sessions::LABELS,
    }
}

/// The labels of sessions, with a column for each key. Of several values of a key the first counts.
fn labels(tables: &Frames) -> PolarsResult<LazyFrame> {
    let rows = Labels::read(tables.table(sessions::TABLE))?;
    let mut of_sessions: Vec<BTreeMap<String, String>> = Vec::with_capacity(rows.height());
    for row in 0..rows.height() {
        let mut found = BTreeMap::new();
        for label in rows.labels(row) {
            if let Some((key, value)) = label.split_once('=') {
                found.entry(key.to_owned()).or_insert_with(|| value.to_owned());
            }
        }
        of_sessions.push(found);
    }
    let keys: BTreeSet<&str> = of_sessions.iter().flat_map(BTreeMap::keys).map(String::as_str).collect();
    let text = |name: &str, of: &dyn Fn(usize) -> Option<String>| {
        Column::new(name.into(), (0..rows.height()).map(of).collect::<Vec<Option<String>>>())
    };
    let [runtime, session] = KEY;
    let mut columns = vec![
        text(runtime, &|row| rows.runtime(row).map(str::to_owned)),
        text(session, &|row| rows.session(row).map(str::to_owned)),
    ];
    for key in keys {
        // A label can have the name of a column that identifies the session.
        let name = if KEY.contains(&key) { format!("label_{key}") } else { key.to_owned() };
        columns.push(text(&name, &|row| of_sessions.get(row).and_then(|labels| labels.get(key)).cloned()));
    }
    Ok(DataFrame::new(rows.height(), columns)?.lazy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_a_column_for_each_key() {
        let list = |labels: &[&str]| Series::new("".into(), labels);
        let labels_of = [list(&["team=web", "team=ops", "runtime=x"]), list(&["a=b=c"]), list(&[])];
        let frame =
            df!("runtime" => ["pi", "pi", "codex"], "session_id" => ["1", "2", "3"], "labels" => &labels_of).unwrap();
        let tables: Frames = [("sessions", frame.lazy())].into_iter().collect();
        let found = labels(&tables).unwrap().collect().unwrap();
        let names: Vec<&str> = found.get_column_names().into_iter().map(PlSmallStr::as_str).collect();
        assert_eq!(names, ["runtime", "session_id", "a", "label_runtime", "team"]);
        let texts = |name: &str| {
            found.column(name).unwrap().str().unwrap().iter().map(|it| it.map(str::to_owned)).collect::<Vec<_>>()
        };
        assert_eq!(texts("team"), [Some("web".to_owned()), None, None]);
        assert_eq!(texts("a"), [None, Some("b=c".to_owned()), None]);
    }
}
