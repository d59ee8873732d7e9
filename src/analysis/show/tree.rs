//! The tree of a session: its subagents, and the sessions that it started, with the cost of each alone and with all below it.

use std::collections::HashMap;
use std::fmt::Write as _;

use polars::prelude::*;

use super::read::{Reader, SessionColumns};
use super::short::short_ids;
use super::style::{NAME, TextStyle, fitted};
use crate::analysis::present::{counted, grouped, markdown_text};
use crate::analysis::rows::{known_sum, responses};
use crate::base::width::width as width_of;
use crate::ledger::trees::Forest;
use crate::store::frames::{TypedRows, computed_columns, rows, sessions, turns};

/// The smallest width of a name.
const NARROWEST: usize = 11;

computed_columns! {
    /// The number of responses of an agent.
    OWN_RESPONSES: Int = "responses";
}

rows! {
    /// The sessions of a tree.
    struct Members {
        id: sessions::SESSION_ID,
        parent: sessions::PARENT_SESSION_ID,
        agent: sessions::AGENT,
        model: sessions::MODEL,
        turns: sessions::TURNS,
        cost_usd: sessions::COST_USD,
    }

    /// The agents in the logs of these sessions.
    struct Agents {
        session: turns::SESSION_ID,
        id: turns::AGENT_ID,
        name: turns::AGENT,
        model: turns::CANONICAL_MODEL,
        responses: OWN_RESPONSES,
        cost_usd: turns::COST_USD,
    }
}

/// A session, its subagents and its descendants.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// The session itself, followed by all below it.
    nodes: Vec<Node>,
    /// Agents below it whose logs are missing.
    missing: i64,
}

/// An agent: the main one of a session, or a subagent in its log.
#[derive(Debug, Default, Clone, PartialEq)]
struct Node {
    /// The session, unless it is a subagent in the log of one.
    session: Option<String>,
    depth: usize,
    name: String,
    turns: Option<i64>,
    /// The cost of its own responses.
    own_usd: Option<f64>,
    /// That of all below it as well.
    inclusive_usd: Option<f64>,
}

impl Tree {
    pub(super) fn read(reader: Reader<'_>, session: &SessionColumns) -> PolarsResult<Self> {
        let Some((id, root)) = session.id(0).zip(session.root(0)) else { return Ok(Self::default()) };
        let root = Reader { session: &super::SessionKey { id: root.to_owned(), ..reader.session.clone() }, ..reader };
        let order = SortMultipleOptions::default().with_nulls_last(true);
        let all = root.rows(sessions::TABLE, sessions::ROOT_SESSION_ID).with_columns(reader.cost.columns());
        let all = Members::read(all.sort([sessions::STARTED_AT, sessions::SESSION_ID], order))?;
        let agents = agents(reader, &all)?;
        let nodes = nodes(&all, &agents, id);
        Ok(Self { nodes, missing: session.missing(0).unwrap_or(0) })
    }

    /// Whether there is anything below the session.
    fn is_shown(&self) -> bool {
        self.nodes.len() > 1 || self.missing > 0
    }

    /// The tree as lines of text, after the names of facts, with the sessions that they are about.
    pub(super) fn lines(&self, style: &TextStyle) -> Vec<(Option<String>, String)> {
        if !self.is_shown() {
            return Vec::new();
        }
        let names = ["turns".to_owned(), style.currency.name_of("own_usd"), style.currency.name_of("inclusive_usd")];
        let widths = [6, 10, 14];
        let numbers: usize = widths.iter().sum();
        let available = style.width.saturating_sub(NAME + numbers).max(NARROWEST);
        let text = |node: &Node| format!("{:1$}{2}", "", node.depth * 2, node.name);
        let widest = self.nodes.iter().map(|node| width_of(&text(node))).max().unwrap_or_default();
        let width = widest.min(available);
        let line = |name: &str, values: [String; 3]| {
            let name = fitted(name, width, false);
            let padding = width.saturating_sub(width_of(&name));
            let mut line = format!("{name}{:padding$}", "");
            for (value, width) in values.iter().zip(widths) {
                let _ = write!(line, "{value:>width$}");
            }
            line
        };
        let mut lines = vec![(None, line("", names))];
        lines.extend(self.nodes.iter().map(|node| (node.session.clone(), line(&text(node), node.values(style)))));
        let missing = self.missing_as_text();
        lines.extend(missing.map(|text| (None, fitted(&text, style.width.saturating_sub(NAME), false))));
        lines
    }

    /// The tree as a table of Markdown.
    pub(super) fn markdown(&self, style: &TextStyle) -> String {
        if !self.is_shown() {
            return String::new();
        }
        let [own, inclusive] = ["own_usd", "inclusive_usd"].map(|name| style.currency.name_of(name));
        let mut out = format!("\n| tree | turns | {own} | {inclusive} |\n| --- | ---: | ---: | ---: |\n");
        for node in &self.nodes {
            let indent = "&emsp;".repeat(node.depth);
            let _ = writeln!(out, "| {indent}{} | {} |", markdown_text(&node.name), node.values(style).join(" | "));
        }
        if let Some(text) = self.missing_as_text() {
            let _ = writeln!(out, "\n{text}");
        }
        out
    }

    fn missing_as_text(&self) -> Option<String> {
        let logs = counted(self.missing, "agent");
        (self.missing > 0).then(|| format!("{logs} without a log: the sums are lower bounds"))
    }
}

impl Node {
    fn values(&self, style: &TextStyle) -> [String; 3] {
        let dollars = |cost: Option<f64>| {
            cost.map(|cost| format!("{:.4}", style.currency.value_of(turns::COST_USD, cost))).unwrap_or_default()
        };
        [self.turns.map(grouped).unwrap_or_default(), dollars(self.own_usd), dollars(self.inclusive_usd)]
    }
}

/// The subagents in the logs of these sessions, in the order of their first responses.
fn agents(reader: Reader<'_>, all: &Members) -> PolarsResult<Agents> {
    let ids: Vec<&str> = (0..all.height()).filter_map(|row| all.id(row)).collect();
    let ids = df!(turns::SESSION_ID => ids)?.lazy();
    let rows = reader.tables.table(turns::TABLE).with_columns(reader.cost.columns());
    let is_agent = col(turns::IS_SUBAGENT).and(col(turns::RUNTIME).eq(lit(reader.session.runtime.as_str())));
    let key = [col(turns::SESSION_ID)];
    let rows = rows.filter(is_agent).join(ids, key.clone(), key, JoinArgs::new(JoinType::Semi));
    let by = [turns::SESSION_ID, turns::AGENT_ID, turns::AGENT];
    let agents = rows.group_by(by.map(col)).agg([
        known_sum(turns::COST_USD).alias(turns::COST_USD),
        col(turns::CANONICAL_MODEL).drop_nulls().last(),
        responses().alias(OWN_RESPONSES),
        col(turns::OCCURRED_AT).min().alias(turns::OCCURRED_AT),
    ]);
    let order = [turns::OCCURRED_AT, turns::SESSION_ID, turns::AGENT_ID, turns::AGENT];
    Agents::read(agents.sort(order, SortMultipleOptions::default().with_nulls_last(true)))
}

/// The nodes from a session downwards.
fn nodes(all: &Members, agents: &Agents, session: &str) -> Vec<Node> {
    let keys = (0..all.height()).map(|row| ((), all.id(row).unwrap_or_default(), all.parent(row)));
    let forest = Forest::of_keys(keys);
    let (depths, inclusive) = (forest.depths(), forest.sums((0..all.height()).map(|row| all.cost_usd(row)).collect()));
    let mut of_sessions: HashMap<&str, Vec<usize>> = HashMap::new();
    for agent in 0..agents.height() {
        of_sessions.entry(agents.session(agent).unwrap_or_default()).or_default().push(agent);
    }
    let ids: Vec<&str> = (0..all.height()).map(|row| all.id(row).unwrap_or_default()).collect();
    let short = short_ids(&ids, &ids);
    let depth_of = |row: usize| depths.get(row).copied().unwrap_or_default();
    let Some(start) = forest.order().iter().position(|row| all.id(*row) == Some(session)) else { return Vec::new() };
    let own = forest.order().get(start..).unwrap_or_default();
    let top = own.first().map_or(0, |row| depth_of(*row));
    let below = own.iter().enumerate().take_while(|(index, row)| *index == 0 || depth_of(**row) > top);
    let mut nodes = Vec::new();
    for (_, row) in below {
        let depth = usize::try_from(depth_of(*row) - top).unwrap_or(0);
        let of_session = of_sessions.get(all.id(*row).unwrap_or_default()).map_or(&[][..], Vec::as_slice);
        let spent = of_session.iter().filter_map(|agent| agents.cost_usd(*agent)).reduce(|a, b| a + b);
        let responses: i64 = of_session.iter().filter_map(|agent| agents.responses(*agent)).sum();
        let words = [short.get(*row).copied(), all.agent(*row), all.model(*row)];
        nodes.push(Node {
            session: all.id(*row).map(str::to_owned),
            depth,
            name: words.into_iter().flatten().collect::<Vec<_>>().join(" "),
            turns: all.turns(*row).map(|turns| turns.saturating_sub(responses)),
            // What remains after the costs of the subagents, without the noise of a difference of equal sums.
            own_usd: all.cost_usd(*row).map(|cost| (cost - spent.unwrap_or(0.0)).max(0.0)),
            inclusive_usd: inclusive.get(*row).copied().flatten(),
        });
        for agent in of_session {
            let words = [agents.name(*agent).or(Some("subagent")), agents.id(*agent), agents.model(*agent)];
            let cost = agents.cost_usd(*agent);
            nodes.push(Node {
                session: None,
                depth: depth + 1,
                name: words.into_iter().flatten().collect::<Vec<_>>().join(" "),
                turns: agents.responses(*agent),
                own_usd: cost,
                inclusive_usd: cost,
            });
        }
    }
    nodes
}
