//! Which total contains each response, by the names of their models: see docs/accounting.md#matching-models.

use std::collections::BTreeSet;

use foldhash::{HashMap, HashSet};

/// How a response was matched with a total. The numbers are indexes of totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Match {
    /// A total in the file of the response names its model.
    NameInFile(usize),
    /// No total in the file names its model, but one total in the file has no other response: two names of one model.
    LastInFile(usize),
    /// A total in another file of the session names its model.
    NameInSession(usize),
    /// No total names its model, but one total of the session has no other response: two names of one model.
    LastInSession(usize),
    /// A total should contain it, but none of them names its model, and there is not exactly one left.
    Conflict,
    /// No total contains it.
    NotCovered,
}

impl Match {
    /// The index of the total.
    pub const fn total(self) -> Option<usize> {
        match self {
            Self::NameInFile(total)
            | Self::LastInFile(total)
            | Self::NameInSession(total)
            | Self::LastInSession(total) => Some(total),
            Self::Conflict | Self::NotCovered => None,
        }
    }
}

/// The name of a total's model, as [`canonical`](super::model_name::canonical) writes it. A total without a model is the sum of all agents that it
/// covers.
pub(super) type ModelName = Option<String>;

/// The names of all totals of a session.
pub(super) struct TotalNames<'a> {
    /// By the index of the total.
    pub all: Vec<&'a ModelName>,
    /// The names that each file contains.
    pub in_files: &'a HashMap<usize, BTreeSet<ModelName>>,
}

/// What decides which total contains a response.
pub(super) struct Response {
    /// Index of its file.
    pub source: usize,
    /// The canonical name of its model.
    pub model: ModelName,
    /// Whether it has tokens.
    pub has_tokens: bool,
    /// Whether the totals cover its agent.
    pub is_of_covered_agent: bool,
    /// Whether it comes before the last total.
    pub is_before_last_total: bool,
}

impl Response {
    /// Whether one of the totals has to contain it.
    const fn needs_total(&self) -> bool {
        self.has_tokens && self.is_of_covered_agent && self.is_before_last_total
    }
}

/// Matches each response with a total. A file is matched before the session, because another recording of the session may
/// use another name for the model.
pub(super) fn match_responses(totals: &TotalNames<'_>, responses: &[Response]) -> Vec<Match> {
    if totals.all.is_empty() {
        return vec![Match::NotCovered; responses.len()];
    }
    let mut matches: Vec<Match> = responses.iter().map(|response| totals.match_in_file(response)).collect();
    let last_in_files = totals.last_in_files(responses, &matches);
    for (found, response) in unmatched(&mut matches, responses) {
        let last = last_in_files.get(&response.source).filter(|_| response.needs_total());
        *found = last.map_or_else(|| totals.match_in_session(response), |total| Match::LastInFile(*total));
    }
    let last = totals.last_in_session(&matches);
    for (found, _) in unmatched(&mut matches, responses).filter(|(_, response)| response.needs_total()) {
        *found = last.map_or(Match::Conflict, Match::LastInSession);
    }
    matches
}

fn unmatched<'a>(
    matches: &'a mut [Match],
    responses: &'a [Response],
) -> impl Iterator<Item = (&'a mut Match, &'a Response)> {
    matches.iter_mut().zip(responses).filter(|(found, _)| **found == Match::NotCovered)
}

impl TotalNames<'_> {
    fn match_in_file(&self, response: &Response) -> Match {
        let Some(names) = self.in_files.get(&response.source) else { return Match::NotCovered };
        self.find(response, |name| names.contains(name)).map_or(Match::NotCovered, Match::NameInFile)
    }

    fn match_in_session(&self, response: &Response) -> Match {
        self.find(response, |_| true).map_or(Match::NotCovered, Match::NameInSession)
    }

    /// The first total for the model of a response.
    fn find(&self, response: &Response, is_candidate: impl Fn(&ModelName) -> bool) -> Option<usize> {
        if !response.is_before_last_total {
            return None;
        }
        self.all.iter().position(|name| {
            let is_same = if name.is_some() { response.model == **name } else { response.is_of_covered_agent };
            is_same && is_candidate(name)
        })
    }

    /// The total of each file that no response of the file matches, if there is exactly one.
    fn last_in_files(&self, responses: &[Response], matches: &[Match]) -> HashMap<usize, usize> {
        let matched = responses.iter().zip(matches);
        let matched: HashSet<(usize, usize)> =
            matched.filter_map(|(response, found)| Some((response.source, found.total()?))).collect();
        let last = |(source, names): (&usize, &BTreeSet<ModelName>)| {
            let totals = self.all.iter().enumerate().filter(|(_, name)| names.contains(**name)).map(|(total, _)| total);
            Some((*source, only(totals.filter(|total| !matched.contains(&(*source, *total))))?))
        };
        self.in_files.iter().filter_map(last).collect()
    }

    /// The total of the session that no response matches, if there is exactly one.
    fn last_in_session(&self, matches: &[Match]) -> Option<usize> {
        let matched: HashSet<usize> = matches.iter().filter_map(|found| found.total()).collect();
        only((0..self.all.len()).filter(|total| !matched.contains(total)))
    }
}

/// The item of an iterator that has exactly one.
fn only<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    items.next().filter(|_| items.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Totals by file, and responses by file and model.
    fn check(totals: &[(usize, &[&str])], responses: &[(usize, &str)], expected: &[Match]) {
        let name = |name: &&str| (!name.is_empty()).then(|| (*name).to_owned());
        let in_files: HashMap<usize, BTreeSet<ModelName>> =
            totals.iter().map(|(source, names)| (*source, names.iter().map(name).collect())).collect();
        let all: BTreeSet<&ModelName> = in_files.values().flatten().collect();
        let response = |(source, model): &(usize, &str)| Response {
            source: *source,
            model: name(model),
            has_tokens: true,
            is_of_covered_agent: true,
            is_before_last_total: true,
        };
        let names = TotalNames { all: all.into_iter().collect(), in_files: &in_files };
        let responses: Vec<Response> = responses.iter().map(response).collect();
        assert_eq!(match_responses(&names, &responses), expected, "{totals:?}");
    }

    #[test]
    fn each_rule_applies_where_those_before_it_do_not() {
        use Match::{Conflict, LastInFile, LastInSession, NameInFile, NameInSession, NotCovered};
        check(&[], &[(0, "a")], &[NotCovered]);
        check(&[(0, &["a", "b"])], &[(0, "a"), (0, "b"), (0, "a")], &[NameInFile(0), NameInFile(1), NameInFile(0)]);
        // A total without a model is the sum of all.
        check(&[(0, &[""])], &[(0, "a"), (0, "")], &[NameInFile(0), NameInFile(0)]);
        // An alias in the total of the file, though another file names the model.
        check(&[(0, &["alias"]), (1, &["b"])], &[(0, "b"), (1, "b")], &[LastInFile(0), NameInFile(1)]);
        check(&[(0, &["a", "b", "c"])], &[(0, "a"), (0, "x")], &[NameInFile(0), Conflict]);
        check(&[(0, &["a"])], &[(0, "a"), (1, "a"), (1, "x")], &[NameInFile(0), NameInSession(0), Conflict]);
        check(&[(0, &["a", "b"])], &[(0, "a"), (1, "x")], &[NameInFile(0), LastInSession(1)]);
    }

    #[test]
    fn a_response_that_no_total_has_to_contain_is_no_conflict() {
        let in_files: HashMap<usize, BTreeSet<ModelName>> =
            [(0, [Some("a".to_owned()), Some("b".to_owned())].into())].into_iter().collect();
        let all = in_files.values().flatten().collect();
        let response = |model: &str, has_tokens, is_of_covered_agent, is_before_last_total| Response {
            source: 0,
            model: Some(model.to_owned()),
            has_tokens,
            is_of_covered_agent,
            is_before_last_total,
        };
        let responses = [
            response("x", true, true, true),
            response("x", false, true, true),
            response("x", true, false, true),
            response("x", true, true, false),
            response("a", true, true, false),
        ];
        let matches = match_responses(&TotalNames { all, in_files: &in_files }, &responses);
        let none = Match::NotCovered;
        assert_eq!(matches, [Match::Conflict, none, none, none, none]);
    }
}
