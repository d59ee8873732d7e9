//! A session as a process: a track for each agent, and for its calls.

use std::collections::BTreeMap;

use serde_json::json;

use super::counters::{Step, contexts, steps, sums};
use super::event::Event;
use super::lanes::lanes;
use super::slices::{Agent, Kind, Slice, Slices, slices};
use super::tables::Tables;
use crate::analysis::export::by_session::key_of;
use crate::base::split::base_name;
use crate::base::time::Time;

/// A session.
pub(super) struct Session {
    /// Names of the process and its threads first, then by time.
    pub events: Vec<Event>,
    /// The rows of the ledger by their time.
    pub steps: Vec<Step>,
    /// Responses and calls without a time.
    pub untimed: usize,
}

impl Session {
    /// The session of a row; `None` if it has no known time.
    pub(super) fn of(tables: &Tables, row: usize, pid: usize) -> Option<Self> {
        let sessions = &tables.sessions;
        let key = key_of(sessions.runtime(row), sessions.id(row));
        let Slices { all, untimed } = slices(tables, &key);
        let first = all.iter().map(|slice| slice.start).min();
        let start =
            sessions.started_at(row).map(Time::micros).or(first).or(sessions.ended_at(row).map(Time::micros))?;
        let steps = steps(tables, &key, start);
        let mut events = vec![
            Event::metadata("process_name", pid, 0, json!(name(tables, row))),
            Event::metadata("process_sort_index", pid, 0, json!(pid)),
        ];
        let (names, mut timed) = tracks(all, pid);
        timed.extend(sums(&steps, pid));
        timed.extend(contexts(tables, &key, pid));
        // No slice contains another one: one without a length comes before one that begins with it.
        timed.sort_by_key(|event| (event.ts, event.dur));
        events.extend(names);
        events.extend(timed);
        Some(Self { events, steps, untimed })
    }
}

/// The name of a session's process: its runtime, the last part of its project, its agent and its id, the session that started it, and
/// the task of its trial with its verdict.
fn name(tables: &Tables, row: usize) -> String {
    let sessions = &tables.sessions;
    let project = sessions.project(row).map(base_name);
    let parent = sessions.parent(row).map(|parent| format!("of {parent}"));
    let verdict = sessions.passed(row).map(|passed| if passed { "passed" } else { "failed" });
    let of_trial = [sessions.task(row), verdict];
    let of_session = [sessions.runtime(row), project, sessions.agent(row), sessions.id(row), parent.as_deref()];
    let parts = of_session.into_iter().chain(of_trial);
    parts.flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The names of the tracks, and the slices on them. The main agent is first.
fn tracks(slices: Vec<Slice>, pid: usize) -> (Vec<Event>, Vec<Event>) {
    let mut groups: BTreeMap<(Agent, Kind), Vec<Slice>> = BTreeMap::new();
    for slice in slices {
        groups.entry((slice.agent.clone(), slice.kind)).or_default().push(slice);
    }
    let (mut names, mut events, mut next) = (Vec::new(), Vec::new(), 1);
    for ((agent, kind), slices) in groups {
        let lanes = lanes(slices.iter().map(|slice| (slice.start, slice.end())));
        let agent = agent.as_deref().unwrap_or("main");
        let count = lanes.iter().max().map_or(0, |last| last + 1);
        for lane in 0..count {
            let kind = if kind == Kind::Tool { " tools" } else { "" };
            let number = if lane == 0 { String::new() } else { format!(" {}", lane + 1) };
            names.push(Event::metadata("thread_name", pid, next + lane, json!(format!("{agent}{kind}{number}"))));
            names.push(Event::metadata("thread_sort_index", pid, next + lane, json!(next + lane)));
        }
        events.extend(slices.into_iter().zip(lanes).map(|(slice, lane)| {
            let Slice { name, category, start, duration, args, .. } = slice;
            Event { args, ..Event::slice(&name, &category, pid, next + lane, start, duration) }
        }));
        next += count;
    }
    (names, events)
}
