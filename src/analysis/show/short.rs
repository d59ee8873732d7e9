//! Short ids of sessions: beginnings that name one session only, as `agentlogs show` takes them.

use std::collections::HashMap;

/// The fewest characters of a short id.
const SHORTEST: usize = 8;

/// The beginnings of these ids that are not beginnings of other ones of all ids, with at least eight characters. `all` may contain the
/// ids themselves.
pub fn short_ids<'i, I>(ids: &[&'i str], all: impl IntoIterator<Item = I>) -> Vec<&'i str>
where
    I: AsRef<str>,
{
    let mut alike: HashMap<&str, Vec<String>> = ids.iter().map(|id| (beginning(id, SHORTEST), Vec::new())).collect();
    for id in all {
        if let Some(alike) = alike.get_mut(beginning(id.as_ref(), SHORTEST)) {
            alike.push(id.as_ref().to_owned());
        }
    }
    for ids in alike.values_mut() {
        ids.sort_unstable();
    }
    let short = |id: &&'i str| {
        let others = alike.get(beginning(id, SHORTEST)).map_or(&[][..], Vec::as_slice);
        // In the order of the ids, the one that has most in common with an id is next to it.
        let before = others.partition_point(|other| other.as_str() < *id);
        let after = others.partition_point(|other| other.as_str() <= *id);
        let neighbours = [before.checked_sub(1).and_then(|at| others.get(at)), others.get(after)];
        let common = neighbours.into_iter().flatten().map(|other| common_characters(id, other)).max();
        beginning(id, common.map_or(SHORTEST, |common| SHORTEST.max(common + 1)))
    };
    ids.iter().map(short).collect()
}

fn beginning(id: &str, characters: usize) -> &str {
    let end = id.char_indices().nth(characters).map_or(id.len(), |(at, _)| at);
    id.get(..end).unwrap_or(id)
}

fn common_characters(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_id_is_the_beginning_of_one_id() {
        let all =
            ["0199a213-81c0", "0199a213-81d9", "0199a213-9", "deadbeef-1", "short", "日本語日本語日本語", "deadbeef-1"];
        let expected =
            ["0199a213-81c", "0199a213-81d", "0199a213-9", "deadbeef", "short", "日本語日本語日本", "deadbeef"];
        assert_eq!(short_ids(&all, all), expected);
        // An id that is the beginning of another one is found by itself.
        assert_eq!(short_ids(&["session-1", "session-10"], ["session-1", "session-10"]), ["session-1", "session-10"]);
        assert_eq!(short_ids(&[], ["a"]), Vec::<&str>::new());
    }
}
