//! The dashboard: what an archive holds, as one HTML file that needs nothing else.
//!
//! The page is made in `dashboard/` and stands built in `dashboard/dist/`; here its data is made: the cells that it adds up,
//! all sessions, and the timelines of those worth opening. It stands in the page as base64 of gzipped JSON: small, and
//! nothing of a log can be markup there.
#![cfg_attr(
    not(test),
    expect(
        clippy::indexing_slicing,
        reason = "columns of a frame are as long as it, and places are those of its rows"
    )
)]

use std::collections::BTreeMap;
use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use polars::prelude::*;
use serde::Serialize;

use crate::analysis::reports::cells::{self, Cells};
use crate::analysis::reports::{self, Cost, Error, Frames, Options, Scope};
use crate::model::session::add;

mod sessions;
mod table;

use sessions::{Groups, Places, Sessions, Sums, named};
use table::{Table, Words, money, number, texts, whole};

/// The page, with its styles and its script, and a place for the data.
const TEMPLATE: &str = include_str!("../../../dashboard/dist/page.html");
/// That place.
const PLACE: &str = "@DATA@";

/// Findings of the archive's health.
const FINDINGS: usize = 300;
/// Different models, projects, tools and so on; the rest is one.
const WORDS: usize = 500;
/// Stands for the sum of the four kinds of tokens, which nearly every total is.
const AS_PARTS: Option<i64> = Some(-1);
/// Rows of one timeline.
const ROWS_OF_ONE: usize = 1_500;

/// What the page says of itself.
#[derive(Debug, Clone, Default, Serialize)]
pub struct About {
    /// The filters it was made with, for people.
    pub filters: Vec<String>,
    /// Which prices computed costs are made with, for people.
    pub prices: String,
}

/// A page, and what it holds.
#[derive(Debug)]
pub struct Page {
    /// The whole of it.
    pub html: String,
    /// Sessions in its figures.
    pub sessions: usize,
    /// Of them, those that its table lists.
    pub named: usize,
    /// Of them, those that open to a timeline.
    pub timelines: usize,
    /// Undated rows of the ledger that are not in its figures.
    pub left_out: reports::LeftOut,
}

/// All that the page shows. Every table is a map of its columns.
#[derive(Debug, Serialize)]
struct Data {
    version: &'static str,
    made_at: String,
    timezone: String,
    cost: &'static str,
    #[serde(flatten)]
    about: About,
    /// What stands for texts in the tables: their place here, and the length of the list for those that are left out.
    words: Vocabulary,
    /// `KEY=VALUE`, and each different set of them.
    labels: Vec<String>,
    label_sets: Vec<Vec<usize>>,
    groups: Table,
    sessions: Table,
    turns: Table,
    tools: Table,
    troubles: Table,
    timelines: Table,
    timeline_turns: Table,
    timeline_calls: Table,
    timeline_events: Table,
    health: Table,
    left_out: LeftOut,
}

/// What is not in the page, though it is in scope.
#[derive(Debug, Default, Serialize)]
struct LeftOut {
    /// Sessions that are in the figures, not in the list.
    unnamed_sessions: usize,
    /// Sessions without a timeline.
    closed_sessions: usize,
    /// Rows of timelines that are too long.
    timeline_rows: usize,
    /// Findings of the archive's health.
    findings: usize,
    /// Keys of labels that have too many values.
    label_keys: Vec<String>,
}

/// The words of each kind of text.
#[derive(Debug, Serialize)]
struct Vocabulary {
    runtime: Words,
    model: Words,
    project: Words,
    status: Words,
    call_status: Words,
    usage: Words,
    error_kind: Words,
    tool: Words,
    kind: Words,
    code: Words,
}

impl Vocabulary {
    fn of(all: &Sessions<'_>, places: &Places, cells: &Cells, opened: &[DataFrame; 3]) -> PolarsResult<Self> {
        let [turns, calls, events] = opened;
        let words = |texts: Vec<Vec<Option<&str>>>| Words::of(texts.into_iter().flatten(), WORDS);
        Ok(Self {
            runtime: words(vec![places.pick(&all.runtime)]),
            model: words(vec![texts(&cells.turns, "model")?, places.pick(&all.model), texts(turns, "model")?]),
            project: words(vec![places.pick(&all.project)]),
            status: words(vec![places.pick(&all.status)]),
            call_status: words(vec![texts(calls, "status")?]),
            usage: words(vec![all.texts("usage", places)?]),
            error_kind: words(vec![all.texts("error_kind", places)?]),
            tool: words(vec![texts(&cells.tools, "tool")?, texts(calls, "tool")?]),
            kind: words(vec![texts(&cells.troubles, "kind")?, texts(events, "kind")?]),
            code: words(vec![texts(&cells.troubles, "code")?, texts(events, "code")?]),
        })
    }
}

/// The page of what is in scope.
///
/// # Errors
/// When something is asked for that is not there.
pub fn page(tables: &Frames, scope: &Scope, cost: Cost, mut about: About) -> Result<Page, Error> {
    let cells = cells::cells(tables, scope, cost)?;
    about.filters.extend(cells.left_out.stated("row", "time"));
    let all = Sessions::read(&cells.sessions)?;
    let places = Places::of(&all, [&cells.turns, &cells.tools, &cells.troubles])?;
    let sums = Sums::of(&cells.turns, &all, &places)?;
    let (named, opened) = named(&all, &places, &sums);
    let rows = cells::timelines(tables, &all.keys(opened.iter().map(|it| places.shown[*it]))?, cost)?;
    let words = Vocabulary::of(&all, &places, &cells, &rows)?;
    let groups = Groups::of(&all, &places, &words);
    let (health, unsaid_findings) = health(tables.clone(), scope)?;
    let [turns, calls, events] = &rows;
    let cut = |rows: &DataFrame| cut(&all, &places, &opened, rows);
    let (turn_rows, call_rows, event_rows) = (cut(turns)?, cut(calls)?, cut(events)?);
    let left_out = LeftOut {
        unnamed_sessions: places.shown.len() - named.len(),
        closed_sessions: places.shown.len() - opened.len(),
        timeline_rows: turn_rows.left_out + call_rows.left_out + event_rows.left_out,
        findings: unsaid_findings,
        label_keys: groups.left_out,
    };
    let mut timelines = Table::default();
    timelines.places("session", opened.iter().copied());
    timelines.places("turns", turn_rows.counts.iter().copied());
    timelines.places("calls", call_rows.counts.iter().copied());
    timelines.places("events", event_rows.counts.iter().copied());
    timelines.places("left_out", {
        let all = turn_rows.cut.iter().zip(&call_rows.cut).zip(&event_rows.cut);
        all.map(|((a, b), c)| a + b + c)
    });
    let mut timeline_turns = turn_rows.table(
        turns,
        &[("model", &words.model)],
        &["turn", "context_tokens", "output_tokens", "total_tokens", "duration_ms", "is_subagent"],
        "agent",
    )?;
    timeline_turns.numbers("cost", pick(&turn_rows.rows, &money(turns, "cost_usd")?));
    let data = Data {
        version: env!("CARGO_PKG_VERSION"),
        made_at: scope.now.to_zoned(cells.zone.clone()).strftime("%Y-%m-%d %H:%M").to_string(),
        timezone: scope.timezone.clone(),
        cost: match cost {
            Cost::Auto => "auto",
            Cost::Reported => "reported",
            Cost::Computed => "computed",
        },
        about,
        sessions: all.table(&places, &groups.of_session, &sums, &named, &words, &cells.zone)?,
        turns: of_turns(&cells.turns, &all, &places, &words)?,
        tools: of_tools(&cells.tools, &all, &places, &groups.of_session, &words)?,
        troubles: of_troubles(&cells.troubles, &all, &places, &groups.of_session, &words)?,
        timelines,
        timeline_turns,
        timeline_calls: call_rows.table(
            calls,
            &[("tool", &words.tool), ("status", &words.call_status)],
            &["turn", "duration_ms", "result_bytes", "is_subagent"],
            "target",
        )?,
        timeline_events: event_rows.table(
            events,
            &[("kind", &words.kind), ("code", &words.code)],
            &["turn", "tokens_before", "tokens_after", "is_subagent"],
            "message",
        )?,
        health,
        labels: groups.labels,
        label_sets: groups.label_sets,
        groups: groups.table,
        words,
        left_out,
    };
    Ok(Page {
        html: TEMPLATE.replacen(PLACE, &packed(&data)?, 1),
        sessions: places.shown.len(),
        named: named.len(),
        timelines: opened.len(),
        left_out: cells.left_out,
    })
}

/// JSON, gzipped, as text that can stand anywhere.
fn packed(data: &Data) -> PolarsResult<String> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    let json = serde_json::to_vec(data).map_err(|it| polars_err!(ComputeError: "{it}"))?;
    packer.write_all(&json)?;
    Ok(STANDARD.encode(packer.finish()?))
}

/// The ledger's cells, in the order of sessions.
fn of_turns(cells: &DataFrame, all: &Sessions<'_>, places: &Places, words: &Vocabulary) -> PolarsResult<Table> {
    let rows = places.rows(all, cells)?;
    let mut table = Table::default();
    table.growing("session", rows.iter().map(|it| Some(number(it.0))));
    table.growing("day", pick(&rows, &whole(cells, "day")?));
    table.numbers("model", words.model.column(pick(&rows, &texts(cells, "model")?)));
    table.numbers("cost", pick(&rows, &money(cells, "cost_usd")?));
    let mut parts = vec![None; rows.len()];
    for name in ["input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"] {
        let values: Vec<Option<i64>> = pick(&rows, &whole(cells, name)?).collect();
        for (sum, value) in parts.iter_mut().zip(&values) {
            *sum = add(*sum, *value);
        }
        table.numbers(name, values);
    }
    let total = whole(cells, "total_tokens")?;
    table
        .numbers("total_tokens", pick(&rows, &total).zip(parts).map(|(it, sum)| if it == sum { AS_PARTS } else { it }));
    for name in ["unpriced_tokens", "turns"] {
        table.numbers(name, pick(&rows, &whole(cells, name)?));
    }
    Ok(table)
}

/// The cells of calls, added up over sessions that are alike.
fn of_tools(
    cells: &DataFrame,
    all: &Sessions<'_>,
    places: &Places,
    groups: &[usize],
    words: &Vocabulary,
) -> PolarsResult<Table> {
    const SUMS: [&str; 7] =
        ["rows", "error", "denied", "incomplete", "duration_ms_known", "duration_ms", "result_bytes"];
    let days = whole(cells, "day")?;
    let tools = words.tool.column(texts(cells, "tool")?);
    added_up(cells, all, places, groups, &["day", "tool"], |row| [days[row], tools[row]], &SUMS)
}

/// The cells of what went wrong, added up over sessions that are alike.
fn of_troubles(
    cells: &DataFrame,
    all: &Sessions<'_>,
    places: &Places,
    groups: &[usize],
    words: &Vocabulary,
) -> PolarsResult<Table> {
    let days = whole(cells, "day")?;
    let kinds = words.kind.column(texts(cells, "kind")?);
    let codes = words.code.column(texts(cells, "code")?);
    added_up(cells, all, places, groups, &["day", "kind", "code"], |row| [days[row], kinds[row], codes[row]], &["rows"])
}

/// What rows that are added up have in common, besides the group of their session.
type Values<const N: usize> = [Option<i64>; N];

fn added_up<const N: usize>(
    cells: &DataFrame,
    all: &Sessions<'_>,
    places: &Places,
    groups: &[usize],
    names: &[&'static str; N],
    keys: impl Fn(usize) -> Values<N>,
    sums: &[&'static str],
) -> PolarsResult<Table> {
    let columns = sums.iter().map(|it| whole(cells, it)).collect::<PolarsResult<Vec<_>>>()?;
    let mut added: BTreeMap<(usize, Values<N>), Vec<Option<i64>>> = BTreeMap::new();
    for (session, row) in places.rows(all, cells)? {
        let sums = added.entry((groups[session], keys(row))).or_insert_with(|| vec![None; columns.len()]);
        for (sum, column) in sums.iter_mut().zip(&columns) {
            *sum = add(*sum, column[row]);
        }
    }
    let mut table = Table::default();
    table.growing("group", added.keys().map(|it| Some(number(it.0))));
    for (at, name) in names.iter().enumerate() {
        let values = added.keys().map(|it| it.1[at]);
        if *name == "day" { table.growing(name, values) } else { table.numbers(name, values) }
    }
    for (at, name) in sums.iter().enumerate() {
        table.numbers(name, added.values().map(|it| it[at]));
    }
    Ok(table)
}

/// Rows of timelines: of each session that opens, some.
struct Opened {
    /// The session's start and the row, in order.
    rows: Vec<(Option<i64>, usize)>,
    /// How many of each.
    counts: Vec<usize>,
    /// How many of each are left out.
    cut: Vec<usize>,
    left_out: usize,
}

fn cut(all: &Sessions<'_>, places: &Places, opened: &[usize], rows: &DataFrame) -> PolarsResult<Opened> {
    let mut it = Opened { rows: Vec::new(), counts: vec![0; opened.len()], cut: vec![0; opened.len()], left_out: 0 };
    for (session, row) in places.rows(all, rows)? {
        let Ok(at) = opened.binary_search(&session) else { continue };
        if it.counts[at] == ROWS_OF_ONE {
            it.cut[at] += 1;
            it.left_out += 1;
        } else {
            it.counts[at] += 1;
            it.rows.push((all.started[places.shown[session]], row));
        }
    }
    Ok(it)
}

impl Opened {
    /// Milliseconds since the start of the session.
    fn at(&self, frame: &DataFrame) -> PolarsResult<Vec<Option<i64>>> {
        let times = whole(frame, "occurred_at")?;
        Ok(self.rows.iter().map(|(start, row)| Some((times[*row]? - (*start)?).div_euclid(1000))).collect())
    }

    /// These rows: when they were, columns of words, of numbers and of whole texts.
    fn table(
        &self,
        frame: &DataFrame,
        words: &[(&'static str, &Words)],
        numbers: &[&'static str],
        text: &'static str,
    ) -> PolarsResult<Table> {
        let mut table = Table::default();
        table.growing("at", self.at(frame)?);
        for (name, words) in words {
            table.numbers(name, words.column(pick(&self.rows, &texts(frame, name)?)));
        }
        for name in numbers {
            table.numbers(name, pick(&self.rows, &whole(frame, name)?));
        }
        table.texts(text, pick(&self.rows, &texts(frame, text)?));
        Ok(table)
    }
}

fn pick<'a, A, V: Copy>(rows: &'a [(A, usize)], values: &'a [V]) -> impl Iterator<Item = V> {
    rows.iter().map(|it| values[it.1])
}

/// What was lost of files, and how many findings the page has no room for. Only filters by runtime and format fit files.
fn health(tables: Frames, scope: &Scope) -> Result<(Table, usize), Error> {
    let only = scope.only.iter().filter(|it| matches!(it.0.as_str(), "runtime" | "format")).cloned();
    let scope = Scope { since: None, until: None, undated: None, only: only.collect(), ..scope.clone() };
    let findings = reports::find("health")?.run(tables, &Options { scope, wide: true, ..Options::default() })?.rows;
    // Those of sessions are counted in the page, under its filters.
    let kinds = texts(&findings, "finding")?;
    let kept: Vec<(usize, usize)> = (0..findings.height())
        .filter(|it| matches!(kinds[*it], Some("file" | "rejected" | "unknown")))
        .map(|it| (it, it))
        .collect();
    let shown = &kept[..kept.len().min(FINDINGS)];
    let mut table = Table::default();
    for name in ["finding", "reason", "runtime", "format", "unit", "source_path"] {
        table.texts(name, pick(shown, &texts(&findings, name)?));
    }
    for name in ["count", "first_line"] {
        table.numbers(name, pick(shown, &whole(&findings, name)?));
    }
    Ok((table, kept.len() - shown.len()))
}
