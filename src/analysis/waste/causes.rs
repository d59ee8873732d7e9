//! The findings of a session while they are computed.

use std::collections::BTreeMap;

use foldhash::HashMap;

use super::budget::Budget;
use super::cause::{CAUSES, Cause};
use super::rows::{Place, Session, Turn};

/// Percent of the context that remain at least if nothing was compacted. Most compactions keep far less.
const KEPT_WITHOUT_COMPACTION: i64 = 60;

/// The waste of one cause and tool in a session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Finding {
    pub cause: Cause,
    /// The number of the tool, if the cause is about calls.
    pub tool: Option<u32>,
    /// US dollars; `None` if the log does not show what the cause needs.
    pub waste_usd: Option<f64>,
    /// The tokens that were wasted, where the cause is about tokens.
    pub tokens: Option<i64>,
    /// Responses or calls.
    pub cases: u32,
    /// Where the most expensive of them is.
    pub place: Option<Place>,
}

/// The sums of a cause and a tool.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sum {
    waste_usd: f64,
    tokens: Option<i64>,
    cases: u32,
    /// The most expensive case.
    worst: f64,
    place: Option<Place>,
}

impl Sum {
    /// Adds a case, if it cost anything.
    pub(super) fn add(&mut self, waste_usd: f64, tokens: Option<i64>, place: Place) {
        if waste_usd <= 0.0 {
            return;
        }
        self.waste_usd += waste_usd;
        self.tokens = tokens.map_or(self.tokens, |tokens| Some(self.tokens.unwrap_or(0).saturating_add(tokens)));
        self.cases = self.cases.saturating_add(1);
        if waste_usd > self.worst {
            (self.worst, self.place) = (waste_usd, Some(place));
        }
    }
}

/// The causes of a session while they are computed.
pub(super) struct Causes<'a> {
    pub session: Session<'a>,
    /// What remains of the cost of each response.
    pub budgets: Vec<Option<Budget>>,
    /// The tokens that each response wrote again to a cache that was lost, the first of those that it wrote.
    pub rewritten: Vec<i64>,
    /// The responses of each agent, as positions in their order.
    pub threads: Vec<Vec<usize>>,
    /// The responses after which the context of the main agent, or of a subagent, was compacted, sorted.
    compactions: [Vec<i64>; 2],
    sums: HashMap<(Cause, Option<u32>), Sum>,
    /// The causes that the log shows.
    known: Vec<Cause>,
}

impl<'a> Causes<'a> {
    pub(super) fn new(session: Session<'a>) -> Self {
        let budgets = session.turns.iter().map(|turn| Budget::of(turn, session.rates)).collect();
        let mut threads: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (position, turn) in session.turns.iter().enumerate() {
            threads.entry(turn.thread).or_default().push(position);
        }
        let compactions = [false, true].map(|is_subagent| {
            let events = session.events.iter().filter(|it| it.is_compaction && it.is_subagent == is_subagent);
            let mut numbers: Vec<i64> = events.filter_map(|event| session.turn_of(event)).collect();
            numbers.sort_unstable();
            numbers
        });
        let threads = threads.into_values().collect();
        let rewritten = vec![0; session.turns.len()];
        Self { session, budgets, rewritten, threads, compactions, sums: HashMap::default(), known: Vec::new() }
    }

    /// Whether the context was compacted between two responses of an agent: by an event, or as it became much smaller, since some
    /// logs do not contain all compactions.
    pub(super) fn is_compacted(&self, before: &Turn, turn: &Turn) -> bool {
        let contexts = before.context().zip(turn.context());
        let has_dropped = contexts.is_some_and(|(before, now)| now * 100 < before * KEPT_WITHOUT_COMPACTION);
        if has_dropped {
            return true;
        }
        let [of_main, of_subagents] = &self.compactions;
        let numbers = if turn.is_subagent { of_subagents } else { of_main };
        let first = numbers.partition_point(|number| *number < before.number);
        numbers.get(first).is_some_and(|number| *number < turn.number)
    }

    /// States that the log shows what the cause needs.
    pub(super) fn know(&mut self, cause: Cause) {
        if !self.known.contains(&cause) {
            self.known.push(cause);
        }
    }

    /// Adds a case, if it cost anything.
    pub(super) fn add(&mut self, cause: Cause, tool: Option<u32>, waste_usd: f64, tokens: Option<i64>, place: Place) {
        if waste_usd > 0.0 {
            self.sums.entry((cause, tool)).or_default().add(waste_usd, tokens, place);
        }
    }

    /// Sets the sums of a cause and a tool, to which nothing else is added. Those without a case are left out.
    pub(super) fn set(&mut self, cause: Cause, tool: u32, sum: Sum) {
        if sum.cases > 0 {
            self.sums.insert((cause, Some(tool)), sum);
        }
    }

    /// Whether the cost of any response is known.
    pub(super) fn has_cost(&self) -> bool {
        self.budgets.iter().any(Option::is_some)
    }

    /// Whether the parts of the cost of any response are known.
    pub(super) fn has_parts(&self) -> bool {
        self.budgets.iter().flatten().any(Budget::has_parts)
    }

    /// A row or several of each cause.
    pub(super) fn findings(self) -> Vec<Finding> {
        let mut findings = Vec::with_capacity(CAUSES.len());
        let sums: BTreeMap<_, _> = self.sums.into_iter().collect();
        for cause in CAUSES {
            let first = findings.len();
            if self.known.contains(&cause) {
                let sums = sums.range((cause, None)..=(cause, Some(u32::MAX)));
                findings.extend(sums.map(|((_, tool), sum)| Finding {
                    cause,
                    tool: *tool,
                    waste_usd: Some(sum.waste_usd),
                    tokens: sum.tokens,
                    cases: sum.cases,
                    place: sum.place,
                }));
            }
            if findings.len() == first {
                let waste_usd = self.known.contains(&cause).then_some(0.0);
                findings.push(Finding { cause, tool: None, waste_usd, tokens: None, cases: 0, place: None });
            }
        }
        findings
    }
}
