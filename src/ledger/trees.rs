//! Trees of sessions: a session with the sessions that it started, and those that these started. See docs/accounting.md#trees.
//!
//! A child and its parent share a link, so they are always reconciled together, whichever is ingested first.

use std::hash::Hash;
use std::ops::Add;

use foldhash::HashMap;

use crate::model::tables::{SessionRow, Tree};

/// Which session started which, without cycles: each session is in exactly one tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forest {
    parents: Vec<Option<usize>>,
    /// The sessions, each after its parent; children of one parent are in their order.
    order: Vec<usize>,
}

impl Forest {
    /// The forest of sessions, each with the index of its parent. A parent that does not exist is ignored. A cycle is cut at its
    /// first session, which becomes a root.
    pub fn new(parents: Vec<Option<usize>>) -> Self {
        let count = parents.len();
        let mut parents: Vec<Option<usize>> =
            parents.into_iter().map(|parent| parent.filter(|parent| *parent < count)).collect();
        cut_cycles(&mut parents);
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); count];
        for (child, parent) in parents.iter().enumerate() {
            if let Some(children) = parent.and_then(|parent| children.get_mut(parent)) {
                children.push(child);
            }
        }
        let roots = parents.iter().enumerate().filter(|(_, parent)| parent.is_none()).map(|(root, _)| root);
        let mut remaining: Vec<usize> = roots.rev().collect();
        let mut order = Vec::with_capacity(count);
        while let Some(session) = remaining.pop() {
            order.push(session);
            remaining.extend(children.get(session).into_iter().flatten().rev());
        }
        Self { parents, order }
    }

    /// The forest of sessions that are known by keys, each with the key of its parent.
    pub fn of_keys<'a, R: Eq + Hash + Copy>(
        sessions: impl Iterator<Item = (R, &'a str, Option<&'a str>)> + Clone,
    ) -> Self {
        let indices: HashMap<(R, &str), usize> =
            sessions.clone().enumerate().map(|(index, (runtime, id, _))| ((runtime, id), index)).collect();
        Self::new(sessions.map(|(runtime, _, parent)| indices.get(&(runtime, parent?)).copied()).collect())
    }

    /// The sessions, each followed by its descendants.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// The parent of a session.
    pub fn parent(&self, session: usize) -> Option<usize> {
        self.parents.get(session).copied().flatten()
    }

    /// A value of each session that follows from that of its parent.
    pub fn from_parents<T: Copy + Default>(&self, of: impl Fn(usize, Option<T>) -> T) -> Vec<T> {
        let mut values = vec![T::default(); self.parents.len()];
        for session in &self.order {
            let value = of(*session, self.parent(*session).and_then(|parent| values.get(parent).copied()));
            if let Some(known) = values.get_mut(*session) {
                *known = value;
            }
        }
        values
    }

    /// The root of each session.
    pub fn roots(&self) -> Vec<usize> {
        self.from_parents(|session, root| root.unwrap_or(session))
    }

    /// The number of sessions above each session.
    pub fn depths(&self) -> Vec<i64> {
        self.from_parents(|_, depth: Option<i64>| depth.map_or(0, |depth| depth + 1))
    }

    /// The sum of the known values of each session and its descendants; `None` if no value is known.
    pub fn sums<T: Copy + Add<Output = T>>(&self, own: Vec<Option<T>>) -> Vec<Option<T>> {
        let mut sums = own;
        for session in self.order.iter().rev() {
            let value = sums.get(*session).copied().flatten();
            if let Some(sum) = self.parent(*session).and_then(|parent| sums.get_mut(parent)) {
                *sum = (*sum).into_iter().chain(value).reduce(T::add);
            }
        }
        sums
    }
}

/// Removes the parent of the first session of each cycle.
fn cut_cycles(parents: &mut [Option<usize>]) {
    // The session from which each one was first reached on the way up.
    let mut reached_from: Vec<Option<usize>> = vec![None; parents.len()];
    for start in 0..parents.len() {
        let mut next = Some(start);
        while let Some(session) = next {
            let Some(reached) = reached_from.get_mut(session) else { break };
            if let Some(from) = *reached {
                if from == start {
                    cut(parents, session);
                }
                break;
            }
            *reached = Some(start);
            next = parents.get(session).copied().flatten();
        }
    }
}

/// Cuts a cycle that contains a session.
fn cut(parents: &mut [Option<usize>], member: usize) {
    let mut first = member;
    let mut next = parents.get(member).copied().flatten();
    while let Some(session) = next.filter(|session| *session != member) {
        first = first.min(session);
        next = parents.get(session).copied().flatten();
    }
    if let Some(parent) = parents.get_mut(first) {
        *parent = None;
    }
}

/// Sets what each session comes to together with its descendants. The sessions are those of whole trees.
pub(super) fn add_up(sessions: &mut [SessionRow]) {
    let keys = sessions.iter().map(|row| {
        let session = &row.session;
        (&*session.runtime, &*session.session_id, session.parent_session_id.as_deref())
    });
    let forest = Forest::of_keys(keys);
    let roots = forest.roots();
    let sizes = forest.sums(vec![Some(1_i64); sessions.len()]);
    let missing = forest.sums(sessions.iter().map(|row| Some(row.tree.missing_children)).collect());
    let costs = forest.sums(sessions.iter().map(|row| row.money.cost).collect());
    let tokens = forest.sums(sessions.iter().map(|row| row.tokens.total()).collect());
    let ids: Vec<Option<String>> = roots
        .iter()
        .enumerate()
        .map(|(session, root)| {
            let root = sessions.get(*root).filter(|_| *root != session);
            root.map(|root| root.session.session_id.clone())
        })
        .collect();
    let sums = sizes.into_iter().zip(missing).zip(costs.into_iter().zip(tokens));
    for ((row, root_session_id), ((size, missing), (cost, total_tokens))) in sessions.iter_mut().zip(ids).zip(sums) {
        row.tree = Tree {
            root_session_id,
            descendants: size.unwrap_or(1) - 1,
            missing_children: row.tree.missing_children,
            missing: missing.unwrap_or(0),
            cost,
            total_tokens,
        };
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    use super::*;
    use crate::model::session::{SessionResult, Tokens};
    use crate::model::tables::Money;

    fn forest(parents: &[Option<usize>]) -> Forest {
        Forest::new(parents.to_vec())
    }

    #[test]
    fn each_session_has_one_root() {
        let check = |parents: &[Option<usize>], roots: &[usize], order: &[usize]| {
            let forest = forest(parents);
            assert_eq!((&*forest.roots(), forest.order()), (roots, order), "{parents:?}");
        };
        check(&[], &[], &[]);
        check(&[None, Some(0), Some(1), Some(0), None], &[0, 0, 0, 0, 4], &[0, 1, 2, 3, 4]);
        // A parent that does not exist.
        check(&[Some(9), Some(0)], &[0, 0], &[0, 1]);
        // Its own parent; a cycle with a session below it, which comes first.
        check(&[Some(0)], &[0], &[0]);
        check(&[Some(2), Some(2), Some(3), Some(1)], &[1, 1, 1, 1], &[1, 3, 2, 0]);
    }

    #[test]
    fn unknown_values_are_no_zeros() {
        let forest = forest(&[None, Some(0), Some(1), Some(0), None]);
        assert_eq!(
            forest.sums(vec![None, Some(2.0), None, Some(0.5), None]),
            [Some(2.5), Some(2.0), None, Some(0.5), None]
        );
        assert_eq!(forest.depths(), [0, 1, 2, 1, 0]);
    }

    fn row(id: usize, parent: Option<usize>, cost: Option<u32>) -> SessionRow {
        let session = SessionResult {
            session_id: id.to_string(),
            parent_session_id: parent.map(|parent| parent.to_string()),
            ..SessionResult::default()
        };
        SessionRow {
            session,
            money: Money { cost: cost.map(f64::from), ..Money::default() },
            tokens: Tokens { input: cost.map(i64::from), ..Tokens::UNKNOWN },
            ..SessionRow::default()
        }
    }

    proptest! {
        /// Whatever logs state about parents, also missing ones and cycles: each session is in one tree, and the own costs of a tree
        /// are the inclusive cost of its root.
        #[test]
        fn own_costs_of_a_tree_are_the_inclusive_cost_of_its_root(
            logged in vec((option::of(0..14_usize), option::of(0..1000_u32)), 0..12)
        ) {
            let rows = logged.iter().enumerate();
            let mut rows: Vec<SessionRow> = rows.map(|(id, (parent, cost))| row(id, *parent, *cost)).collect();
            add_up(&mut rows);
            let mut in_trees = 0;
            for root in rows.iter().filter(|row| row.tree.root_session_id.is_none()) {
                let tree = || rows.iter().filter(|row| row.root_session_id() == root.session.session_id);
                prop_assert_eq!(root.tree.cost, tree().filter_map(|row| row.money.cost).reduce(|a, b| a + b));
                let tokens = tree().filter_map(|row| row.tokens.total()).reduce(|a, b| a + b);
                prop_assert_eq!(root.tree.total_tokens, tokens);
                prop_assert_eq!(root.tree.descendants + 1, i64::try_from(tree().count()).unwrap());
                in_trees += tree().count();
            }
            prop_assert_eq!(in_trees, rows.len());
            for (index, (parent, _)) in logged.iter().enumerate() {
                prop_assert_eq!(rows[index].session.parent_session_id.clone(), parent.map(|it| it.to_string()));
            }
        }
    }
}
