//! Which formats claim a log, by its first records. docs/formats.md#all-formats states the rule.

use std::cmp::Reverse;

use crate::adapters::described::UserFormat;
use crate::adapters::engine::api::{Adapter, Hints};
use crate::adapters::engine::probe::Probe;
use crate::adapters::formats::side_files;
use crate::adapters::registry::{ADAPTERS, AUXILIARY, TEXTS};
use crate::json::lines::{Line, Lines};
use crate::json::parts::read_records;

/// The formats that claim a log, the likeliest first, each with its weight: the sum of [`Adapter::claims`] over the records
/// that vote.
pub type Claims = Vec<(&'static Adapter, u32)>;

/// At most so many records vote. The header of a pi log decides nothing, and a stream may begin with hooks.
const MAX_VOTES: usize = 40;

/// So many votes are enough where the records are long: records after these bytes do not vote.
const LONG_VOTES: usize = 12;
const LONG_BYTES: usize = 1 << 15;

/// So many votes are enough if only one format has any weight, and at least this weight.
const CLEAR_VOTES: usize = 8;
const CLEAR_WEIGHT: u32 = 16;

/// The weight of the format of a log that is plain text, which no other format can claim.
const TEXT_WEIGHT: u32 = 100;

/// So many records can show that a file is auxiliary.
const MAX_AUXILIARY_RECORDS: usize = 3;

/// The weight from which another format claims the records that a log's format does not know: two records that are surely of it.
const MIN_WEIGHT_OF_ANOTHER: u32 = 4;

/// Returns the formats that claim a log. A runtime among the hints comes first, if one of its formats claims anything.
pub fn detect(bytes: &[u8], hints: Hints<'_>) -> Claims {
    detect_among(bytes, hints, &[])
}

/// As [`detect`], with the formats that the user describes.
pub(super) fn detect_among(bytes: &[u8], hints: Hints<'_>, formats: &'static [UserFormat]) -> Claims {
    if let Some(adapter) = detect_text(bytes) {
        return vec![(adapter, TEXT_WEIGHT)];
    }
    let mut votes = Votes::of(formats);
    for line in Lines::new(bytes) {
        let offset = line.bytes.as_ptr().addr() - bytes.as_ptr().addr();
        if votes.count == MAX_VOTES || (votes.count >= LONG_VOTES && offset >= LONG_BYTES) {
            break;
        }
        for probe in probes(line, hints.path).take(MAX_VOTES - votes.count) {
            votes.add(&probe);
            if votes.count == CLEAR_VOTES {
                let claims = votes.claims(hints.runtime);
                if matches!(claims[..], [(_, CLEAR_WEIGHT..)]) {
                    return claims;
                }
            }
        }
    }
    votes.claims(hints.runtime)
}

/// The records of a line, which are several if the end of the line between them was lost.
fn probes<'a>(line: Line<'a>, path: &'a str) -> impl Iterator<Item = Probe<'a>> {
    read_records(line.bytes, move |record| Probe::new(record, path))
}

/// The format of a log that is plain text: its first line decides.
fn detect_text(bytes: &[u8]) -> Option<&'static Adapter> {
    let (rest, _) = Lines::new(bytes).rest();
    let rest = rest.trim_ascii_start();
    TEXTS.iter().find(|(start, _)| rest.starts_with(start.as_bytes())).map(|(_, adapter)| *adapter)
}

/// Whether a log is plain text, whose lines are not JSON.
pub fn is_plain_text(bytes: &[u8]) -> bool {
    detect_text(bytes).is_some()
}

/// Whether a file at `path` that no format claims belongs to logs without being one: an index, a pointer. One of its first records,
/// the document that it consists of, or its path decides.
pub fn is_auxiliary(bytes: &[u8], path: &str) -> bool {
    let is_known = |probe: Probe<'_>| AUXILIARY.iter().any(|is_auxiliary| is_auxiliary(&probe));
    let mut records = Lines::new(bytes).take(MAX_AUXILIARY_RECORDS).flat_map(|line| probes(line, path)).peekable();
    side_files::is_in_side_directory(path)
        || match records.peek() {
            Some(_) => records.any(is_known),
            None => Probe::new(bytes.trim_ascii(), path).is_some_and(is_known),
        }
}

/// Whether a database with these tables, of which no format knows any, belongs to logs without being one.
pub fn is_auxiliary_database(path: &str, tables: &[String]) -> bool {
    side_files::is_side_database(path, tables)
}

/// Returns the format of the records that formats of `runtimes` do not know: two of the records must surely be of it.
pub(super) fn detect_another(
    unknown: &[Line<'_>],
    runtimes: &[&str],
    formats: &'static [UserFormat],
) -> Option<&'static Adapter> {
    let mut votes = Votes::of(formats);
    let probes = unknown.iter().filter_map(|line| Probe::new(line.bytes, ""));
    probes.take(MAX_VOTES).for_each(|probe| votes.add(&probe));
    let is_another =
        |adapter: &Adapter, weight: u32| weight >= MIN_WEIGHT_OF_ANOTHER && !runtimes.contains(&adapter.runtime);
    votes.claims(None).into_iter().find(|(adapter, weight)| is_another(adapter, *weight)).map(|(adapter, _)| adapter)
}

/// The weights of all formats, in sum over records.
struct Votes {
    /// The number of records.
    count: usize,
    /// The weight of each format, in the order of [`ADAPTERS`].
    weights: Vec<u32>,
    formats: &'static [UserFormat],
    /// The weight of each of `formats`.
    weights_of_formats: Vec<u32>,
}

impl Votes {
    fn of(formats: &'static [UserFormat]) -> Self {
        Self { count: 0, weights: vec![0; ADAPTERS.len()], formats, weights_of_formats: vec![0; formats.len()] }
    }

    fn add(&mut self, probe: &Probe<'_>) {
        self.count += 1;
        for (weight, adapter) in self.weights.iter_mut().zip(ADAPTERS) {
            *weight += (adapter.claims)(probe);
        }
        for (weight, format) in self.weights_of_formats.iter_mut().zip(self.formats) {
            *weight += format.description.weight(probe);
        }
    }

    fn claims(&self, runtime: Option<&str>) -> Claims {
        let own = self.formats.iter().map(|format| &format.adapter).zip(self.weights_of_formats.iter().copied());
        // Of two formats with the same weight, the user's applies.
        let weighted = own.chain(ADAPTERS.iter().zip(self.weights.iter().copied()));
        let mut claims: Claims = weighted.filter(|(_, weight)| *weight > 0).collect();
        claims.sort_by_key(|(adapter, weight)| (runtime != Some(adapter.runtime), Reverse(*weight)));
        claims
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_with_a_common_type_are_of_no_format() {
        let formats = |log: &str| -> Vec<&str> {
            let claims = detect(log.as_bytes(), Hints::default());
            claims.iter().map(|(adapter, _)| adapter.id).collect()
        };
        for log in [
            r#"{"type":"turn_start","ts":"2026-04-07T12:09:04.018Z","url":"http://x"}"#,
            r#"{"type":"turn_start"}"#,
            r#"{"type":"agent_start","name":"a"}"#,
            r#"{"type":"agent_end","name":"a"}"#,
            r#"{"type":"auto_retry_start"}"#,
            r#"{"type":"turn.started"}"#,
            r#"{"type":"thread.started","thread":7}"#,
            r#"{"type":"turn.completed","turn":7}"#,
            r#"{"type":"user_message","content":"Hello."}"#,
            r#"{"record_type":"sale","price":7}"#,
        ] {
            assert_eq!(formats(log), Vec::<&str>::new(), "{log}");
        }
        for (log, format) in [
            (r#"{"type":"agent_start"}"#, "pi-json"),
            (r#"{"type":"message_end","message":{"role":"user"}}"#, "pi-json"),
            (r#"{"type":"thread.started","thread_id":"t"}"#, "codex-exec"),
            (r#"{"type":"turn.completed","usage":{}}"#, "codex-exec"),
            (r#"{"type":"user_message","content":[]}"#, "zag-stream-json"),
            (r#"{"record_type":"state"}"#, "codex-rollout"),
        ] {
            assert_eq!(formats(log).first(), Some(&format), "{log}");
        }
    }
}
