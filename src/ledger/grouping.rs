//! Groups of files that have to be reconciled together: the connected components of files that share links.

use foldhash::HashMap;
use rayon::slice::ParallelSliceMut as _;

use crate::base::rows::Rows;

/// Numbers of links up to which a hash map finds the groups. More links are sorted by all threads, because a larger map
/// does not fit into the processor's cache.
const MAX_LINKS_IN_MAP: usize = 1 << 17;

/// The group of each file: the index of the group's first file. `links` contains the links of each
/// file.
pub fn groups<'a>(links: impl Iterator<Item = &'a [u64]> + Clone) -> Vec<usize> {
    groups_with_map_up_to(links, MAX_LINKS_IN_MAP)
}

fn groups_with_map_up_to<'a>(links: impl Iterator<Item = &'a [u64]> + Clone, max_links: usize) -> Vec<usize> {
    let count = links.clone().map(<[u64]>::len).sum();
    let mut forest = Forest((0..links.clone().count()).collect());
    let members = links.enumerate().flat_map(|(file, links)| links.iter().map(move |link| (*link, file)));
    if count <= max_links {
        let mut first_files: HashMap<u64, usize> = HashMap::default();
        for (link, file) in members {
            let first = *first_files.entry(link).or_insert(file);
            forest.join(first, file);
        }
    } else {
        let mut sorted: Vec<(u64, usize)> = Vec::with_capacity(count);
        sorted.extend(members);
        sorted.par_sort_unstable();
        for ((link, file), (next_link, next_file)) in sorted.iter().zip(sorted.iter().skip(1)) {
            if link == next_link {
                forest.join(*file, *next_file);
            }
        }
    }
    forest.into_roots()
}

/// A disjoint-set forest over files. The root of each tree is its smallest file.
struct Forest(Rows<usize>);

impl Forest {
    fn root(&mut self, mut file: usize) -> usize {
        let Self(parents) = self;
        while parents[file] != file {
            // Path halving.
            parents[file] = parents[parents[file]];
            file = parents[file];
        }
        file
    }

    fn join(&mut self, a: usize, b: usize) {
        // Files that share one link often share others: most are joined already.
        if self.0[a] != self.0[b] {
            let (a, b) = (self.root(a), self.root(b));
            self.0[a.max(b)] = a.min(b);
        }
    }

    fn into_roots(mut self) -> Vec<usize> {
        (0..self.0.len()).map(|file| self.root(file)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn files_that_share_links_are_one_group() {
        let cases: [(&[&[u64]], &[usize]); 5] = [
            (&[], &[]),
            (&[&[], &[]], &[0, 1]),
            (&[&[1], &[2], &[1]], &[0, 1, 0]),
            // The third file connects the other two.
            (&[&[1], &[2], &[1, 2]], &[0, 0, 0]),
            (&[&[1, 2], &[3], &[4, 2], &[3, 5]], &[0, 1, 0, 1]),
        ];
        for (links, expected) in cases {
            assert_eq!(groups_with_map_up_to(links.iter().copied(), usize::MAX), expected, "{links:?}");
            assert_eq!(groups_with_map_up_to(links.iter().copied(), 0), expected, "{links:?}");
        }
    }

    /// The map and the sorted list give the same groups as a transitive closure.
    #[test]
    fn groups_are_connected_components() {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for round in 0..300 {
            let (count, max_link) = (random(40), 1 + random(120));
            let files: Vec<Vec<u64>> = (0..count)
                .map(|_| (0..random(5)).map(|_| random(max_link)).collect::<BTreeSet<_>>())
                .map(|links| links.into_iter().collect())
                .collect();
            let links = || files.iter().map(Vec::as_slice);
            let mut expected: Vec<usize> = (0..files.len()).collect();
            for _ in 0..files.len() {
                for (a, b) in (0..files.len()).flat_map(|a| (0..a).map(move |b| (a, b))) {
                    if files[a].iter().any(|link| files[b].contains(link)) {
                        let first = expected[a].min(expected[b]);
                        (expected[a], expected[b]) = (first, first);
                    }
                }
            }
            assert_eq!(groups_with_map_up_to(links(), usize::MAX), expected, "{round}");
            assert_eq!(groups_with_map_up_to(links(), 0), expected, "{round}");
        }
    }
}
