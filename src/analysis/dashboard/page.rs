//! Builds the page: collects its data, and inserts it into the template.

use std::io::Write;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use polars::prelude::*;
use serde::Serialize;

use super::cells::{behaviour, problems, shipped, skills, tool_calls, turns, waste};
use super::groups::Groups;
use super::health::health;
use super::listing::Listing;
use super::sessions::{Grouped, Selection, Sessions, Sums};
use super::table::Table;
use super::timelines::Timelines;
use super::vocabulary::Vocabulary;
use crate::analysis::outcomes::frame::Trial;
use crate::analysis::present::Currency;
use crate::analysis::reports::cells;
use crate::analysis::reports::{self, CostBasis, Error, Frames, Scope};
use crate::prices::Catalog;
use crate::store::frames::{
    commit_files, commits, events, file_changes, pull_requests, rejects, sessions, sources, tool_calls, turns,
    unknown_records, verdicts,
};

/// The page, with its styles and its script, and a placeholder for the data.
const TEMPLATE: &str = include_str!("../../../dashboard/dist/page.html");
/// The outcome of a trial without a verdict, where 0 is failed and 1 passed.
const UNJUDGED: i64 = 2;
/// The placeholder.
const PLACEHOLDER: &str = "@DATA@";

/// How the page was made, for its readers.
#[derive(Debug, Clone, Default, Serialize)]
pub struct About {
    /// The filters.
    pub filters: Vec<String>,
    /// The prices of computed costs.
    pub prices: String,
    /// The prices themselves; the built-in ones if `None`.
    #[serde(skip)]
    pub catalog: Option<Arc<Catalog>>,
}

/// A page, and what it contains.
#[derive(Debug)]
pub struct Page {
    /// The HTML document.
    pub html: String,
    /// The number of sessions in its figures.
    pub sessions: usize,
    /// The number of sessions that its table lists.
    pub named: usize,
    /// The number of sessions with a timeline.
    pub timelines: usize,
    /// Undated turns that its figures exclude.
    pub left_out: reports::LeftOut,
}

impl Page {
    /// The tables that it is computed from.
    pub const TABLES: &'static [&'static str] = &[
        sessions::TABLE,
        turns::TABLE,
        tool_calls::TABLE,
        file_changes::TABLE,
        events::TABLE,
        verdicts::TABLE,
        sources::TABLE,
        rejects::TABLE,
        unknown_records::TABLE,
        commits::TABLE,
        commit_files::TABLE,
        pull_requests::TABLE,
    ];
}

/// The data of the page. Every table is a map of columns.
#[derive(Debug, Serialize)]
struct Data {
    version: &'static str,
    made_at: String,
    timezone: String,
    /// From the start of a week to the Monday in it.
    days_before_monday: i64,
    cost: &'static str,
    #[serde(flatten)]
    about: About,
    /// The texts that the tables refer to by index. The length of a list is the index of all texts that it omits.
    words: Vocabulary,
    /// Labels as `KEY=VALUE`.
    labels: Vec<String>,
    /// Distinct sets of labels, as indexes into `labels`.
    label_sets: Vec<Vec<usize>>,
    groups: Table,
    sessions: Table,
    turns: Table,
    skills: Table,
    tools: Table,
    troubles: Table,
    waste: Table,
    behavior: Table,
    /// Only if a repository was scanned, or pull requests were imported.
    #[serde(skip_serializing_if = "Option::is_none")]
    shipped: Option<Table>,
    #[serde(flatten)]
    timelines: Timelines,
    health: Table,
    left_out: LeftOut,
}

/// What is in scope but not in the page.
#[derive(Debug, Default, Serialize)]
struct LeftOut {
    /// Sessions that are in the figures, but not in the list.
    unnamed_sessions: usize,
    /// Sessions without a timeline.
    closed_sessions: usize,
    /// Rows of timelines that are too long.
    timeline_rows: usize,
    /// Findings about files.
    findings: usize,
    /// Waste and behavior: whether there are too many sessions for them.
    measured: bool,
    /// Keys of labels that have too many values.
    label_keys: Vec<String>,
}

/// The page of the rows in scope.
///
/// # Errors
/// When a filter names something that does not exist, or the tables cannot be read.
pub fn page(tables: &Frames, scope: &Scope, cost: CostBasis, mut about: About) -> Result<Page, Error> {
    let catalog = about.catalog.as_deref().unwrap_or_else(|| Catalog::built_in());
    let cells = cells::cells(tables, scope, cost, catalog)?;
    about.filters.extend(cells.left_out.stated("row", "time", Currency::default()));
    let all = Sessions::read(&cells.sessions)?;
    let selection = Selection::new(&all, [&cells.turns, &cells.tools, &cells.troubles])?;
    let sums = Sums::new(&cells.turns, &all, &selection)?;
    let trials = trials(&cells.trials, &all, &selection)?;
    let has_failed = |(position, trial): &(usize, &Trial)| (trial.passed == Some(false)).then_some(*position);
    let listing = Listing::new(&all, &selection, &sums, &trials.iter().filter_map(has_failed).collect());
    let rows = cells::timelines(tables, &listing.keys_with_timeline(&all, &selection)?, cost)?;
    let words = Vocabulary::new(&all, &selection, &cells, &rows)?;
    let groups = Groups::new(&all, &selection, &words);
    let (health, omitted_findings) = health(tables, scope)?;
    let timelines = Timelines::new(&all, &selection, &listing.with_timeline, &rows, &words)?;
    let left_out = LeftOut {
        unnamed_sessions: selection.shown.len() - listing.named.len(),
        closed_sessions: selection.shown.len() - listing.with_timeline.len(),
        timeline_rows: timelines.omitted_rows,
        findings: omitted_findings,
        measured: cells.omits_measured,
        label_keys: groups.omitted_keys,
    };
    let grouped = Grouped { all: &all, selection: &selection, groups: &groups.of_session };
    let mut sessions = listing.table(grouped, &sums, &words, &cells.zone)?;
    if !cells.trials.is_empty() {
        add_trials(&mut sessions, &trials, &selection);
    }
    let of_history = cells.shipped.as_ref().map(|cells| shipped(cells, grouped, &words));
    let data = Data {
        version: env!("CARGO_PKG_VERSION"),
        made_at: scope.now.to_zoned(cells.zone.clone()).strftime("%Y-%m-%d %H:%M").to_string(),
        timezone: scope.timezone.clone(),
        days_before_monday: scope.week_start.days_before_monday(),
        cost: match cost {
            CostBasis::Auto => "auto",
            CostBasis::Reported => "reported",
            CostBasis::Computed => "computed",
        },
        about,
        sessions,
        turns: turns(&cells.turns, &all, &selection, &words)?,
        skills: skills(&cells.skills, grouped, &words)?,
        tools: tool_calls(&cells.tools, grouped, &words)?,
        troubles: problems(&cells.troubles, grouped, &words)?,
        waste: waste(&cells.waste, grouped, &words)?,
        behavior: behaviour(&cells.behaviour, grouped)?,
        shipped: of_history.transpose()?,
        timelines,
        health,
        labels: groups.labels,
        label_sets: groups.label_sets,
        groups: groups.table,
        words,
        left_out,
    };
    Ok(Page {
        html: TEMPLATE.replacen(PLACEHOLDER, &encoded(&data)?, 1),
        sessions: selection.shown.len(),
        named: listing.named.len(),
        timelines: listing.with_timeline.len(),
        left_out: cells.left_out,
    })
}

/// The trials of selected sessions, with the positions of the sessions.
fn trials<'t>(trials: &'t [Trial], all: &Sessions<'_>, selection: &Selection) -> PolarsResult<Vec<(usize, &'t Trial)>> {
    let keys = trials.iter().map(|trial| (trial.key.0.as_str(), trial.key.1.as_str()));
    let (runtimes, ids): (Vec<&str>, Vec<&str>) = keys.unzip();
    let indexes = all.indexes(&df!("runtime" => runtimes, turns::SESSION_ID => ids)?)?;
    let position = |index: usize| selection.position.get(index).copied().flatten();
    Ok(trials.iter().zip(indexes).filter_map(|(trial, index)| Some((position(index?)?, trial))).collect())
}

/// Adds whether the trial of a session passed, and what it cost. Of a trial one session has both; without verdicts there are no such
/// columns.
fn add_trials(table: &mut Table, trials: &[(usize, &Trial)], selection: &Selection) {
    let unknown = || vec![None; selection.shown.len()];
    let (mut outcomes, mut costs) = (unknown(), unknown());
    for (position, trial) in trials {
        if let (Some(outcome), Some(cost)) = (outcomes.get_mut(*position), costs.get_mut(*position)) {
            *outcome = Some(match trial.passed {
                Some(true) => 1,
                Some(false) => 0,
                None => UNJUDGED,
            });
            #[expect(clippy::cast_possible_truncation, reason = "no cost exceeds nine billion dollars")]
            let nano = |usd: f64| (usd * 1e9).round() as i64;
            *cost = trial.cost.map(nano);
        }
    }
    table.numbers("trial_outcome", outcomes);
    table.numbers("trial_cost", costs);
}

/// Gzipped JSON as base64, which is safe anywhere in HTML. The best compression takes three times as long, and saves 1 %.
fn encoded(data: &Data) -> PolarsResult<String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let json = serde_json::to_vec(data).map_err(|error| polars_err!(ComputeError: "{error}"))?;
    encoder.write_all(&json)?;
    Ok(STANDARD.encode(encoder.finish()?))
}
