//! Invariants of every log, tested on samples that are changed at random: docs/accounting.md#invariants.

use std::io::Write;
use std::sync::LazyLock;

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::adapters::{self, Hints, Parsed};
use agentlogs::json::lines::Lines;
use agentlogs::model::health::Reason;
use agentlogs::model::session::{Capabilities, Identity, SessionResult};
use agentlogs::model::source::{Source, SourceStatus};
use agentlogs::model::tables::{CostSource, SessionRow};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::rules::{self, Priced, without_lines};
use crate::{facts, lines_of, reconciled, root, samples};

fn texts() -> Vec<Vec<u8>> {
    samples().iter().map(|it| lines_of(it)).collect()
}

/// The samples that are JSON Lines.
fn line_texts() -> Vec<Vec<u8>> {
    let is_lines =
        |it: &Vec<u8>| Lines::new(it).all(|line| !line.bytes.contains(&b'\n')) && it.len() > 2 && it[0] == b'{';
    texts().into_iter().filter(|it| is_lines(it) && agentlogs::json::lines::count(it) > 2).collect()
}

fn parse(bytes: &[u8]) -> Parsed {
    adapters::parse(bytes, Hints::default(), Retention::Full)
}

fn rejected(parsed: &Parsed, reason: Reason) -> i64 {
    parsed.health.rejects.iter().filter(|it| it.reason == reason).map(|it| it.lines).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// A record's bytes lie on its line.
    #[test]
    fn records_lie_on_their_lines(text in "([a-z{}\"\\[\\], \r\u{0}]{0,12}\n?){0,8}") {
        let physical: Vec<&[u8]> = text.as_bytes().split(|it| *it == b'\n').collect();
        for line in Lines::new(text.as_bytes()) {
            let first = line.bytes.split(|it| *it == b'\n').next().unwrap();
            let on = physical[usize::try_from(line.number).unwrap() - 1];
            prop_assert!(on.windows(first.len()).any(|it| it == first), "{line:?} in {text:?}");
        }
    }

    /// Bytes of any kind are read without a panic, and every line is a record, a reject or blank.
    #[test]
    fn nothing_panics_on_any_bytes(text in select(texts()), at in any::<Index>(), garbage in proptest::collection::vec(any::<u8>(), 0..40), length in 0_usize..40) {
        let at = at.index(text.len());
        let end = (at + length).min(text.len());
        let broken = [&text[..at], &garbage[..], &text[end..]].concat();
        let parsed = parse(&broken);
        prop_assert!(parsed.format.is_none() || parsed.health.records + parsed.health.rejected_lines() > 0);
        for session in &parsed.sessions {
            prop_assert!(session.turns.iter().all(|it| it.tokens.get().kinds().into_iter().flatten().all(|it| it >= 0)));
            prop_assert!(session.tool_calls.iter().all(|it| it.turn.is_none_or(|it| it < session.turns.len())));
            prop_assert!(session.file_changes.iter().all(|it| it.call.is_none_or(|it| it < session.tool_calls.len())));
        }
    }

    /// A line that is not JSON costs exactly itself.
    #[test]
    fn a_bad_line_costs_itself(text in select(line_texts()), at in any::<Index>()) {
        let lines: Vec<&[u8]> = text.split_inclusive(|it| *it == b'\n').collect();
        let at = at.index(lines.len());
        let broken = [&lines[..at].concat()[..], b"npm warn deprecated left-pad\n", &lines[at..].concat()].concat();
        let (whole, broken) = (parse(&text), parse(&broken));
        prop_assert_eq!(without_lines(&whole), without_lines(&broken));
        prop_assert_eq!(whole.health.records, broken.health.records);
        prop_assert_eq!(rejected(&whole, Reason::NotJson) + 1, rejected(&broken, Reason::NotJson));
    }

    /// A log cut at any byte loses the cut record and what follows it, nothing before.
    #[test]
    fn a_cut_costs_the_cut_record(text in select(line_texts()), at in any::<Index>()) {
        let at = at.index(text.len());
        let start = text[..at].iter().rposition(|it| *it == b'\n').map_or(0, |it| it + 1);
        let (cut, before) = (parse(&text[..at]), parse(&text[..start]));
        let lost = cut.health.rejected_lines() - before.health.rejected_lines();
        prop_assert!((0..=1).contains(&lost));
        if cut.health.records == before.health.records && before.format == cut.format {
            prop_assert_eq!(without_lines(&cut), without_lines(&before));
        }
    }

    /// The tables do not depend on the order in which files were read.
    #[test]
    fn order_does_not_matter(shuffled in Just(facts(Retention::Text)).prop_shuffle()) {
        let expected = format!("{:?}", reconciled(facts(Retention::Text)));
        prop_assert_eq!(format!("{:?}", reconciled(shuffled)), expected);
    }

    /// Any copies of any files change nothing but `sources`.
    #[test]
    fn copies_do_not_count(copied in proptest::sample::subsequence(facts(Retention::None), 0..8)) {
        let (once, mut all) = (facts(Retention::None), facts(Retention::None));
        for mut source in copied {
            source.path = format!("zz-copy/{}", source.path);
            all.push(source);
        }
        let (once, all) = (reconciled(once), reconciled(all));
        prop_assert_eq!(format!("{:?}{:?}", once.sessions, once.turns), format!("{:?}{:?}", all.sessions, all.turns));
        prop_assert_eq!(format!("{:?}{:?}", once.tool_calls, once.events), format!("{:?}{:?}", all.tool_calls, all.events));
    }
}

/// What was billed stays in the archive when a log is written again without a part of it, as after a rewind.
#[test]
fn what_was_billed_stays_when_a_log_is_cut() {
    let source = |text: &[u8]| Source {
        path: "log".to_owned(),
        content_hash: Some(text.len().to_string()),
        status: SourceStatus::Parsed,
        sessions: parse(text).sessions,
        ..Source::default()
    };
    // Totals in the runtime's own files may begin again after a rewind.
    let has_names = |it: &SessionResult| {
        it.turns.iter().all(|turn| turn.identity != Identity::Unique && turn.message_id.is_some())
            && (it.totals.is_empty() || !it.capabilities.has(Capabilities::KEPT_BY_RUNTIME))
    };
    let mut cuts = 0;
    // A database is not cut in the middle of a table.
    for text in line_texts().into_iter().filter(|text| !text.starts_with(b"{\"table\"")) {
        let whole = source(&text);
        let billed = |sources: Vec<Source>| {
            let tables = reconciled(sources);
            let of_session = |it: &SessionRow| format!("{} {:?} {:?}", it.session.session_id, it.tokens, it.money);
            let is_billed = |it: &&SessionRow| it.tokens.total().is_some() || it.money.cost.is_some();
            tables.sessions.iter().filter(is_billed).map(of_session).collect::<Vec<_>>()
        };
        let expected = billed(vec![whole.clone()]);
        let ends: Vec<usize> =
            text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
        for part in 1..4 {
            let cut = source(&text[..ends[ends.len() * part / 4]]);
            let is_same_log = whole.sessions.iter().any(|it| cut.contains_session(&it.session_id));
            if is_same_log && whole.sessions.iter().all(has_names) {
                cuts += 1;
                let first_line = String::from_utf8_lossy(&text[..text.len().min(200)]);
                let kept = billed(whole.clone().followed_by(cut));
                assert_eq!(kept, expected, "{part}: {first_line}");
            }
        }
    }
    assert!(cuts > 100, "{cuts}");
}

/// The next run of `claude -p --resume` writes its own output in the place of the one before. It may have restored its sums, or not.
#[test]
fn what_was_billed_stays_when_the_next_process_writes_the_file() {
    let result = |id: &str, usage: i64, sum: i64| {
        let text = format!(
            r#"{{"type":"result","subtype":"success","is_error":false,"session_id":"s","uuid":"{id}","num_turns":1,"total_cost_usd":0.{sum},"usage":{{"input_tokens":{usage},"output_tokens":{usage}}},"modelUsage":{{"m":{{"inputTokens":{sum},"outputTokens":{sum},"costUSD":0.{sum}}}}}}}"#
        );
        Source {
            path: "run.json".to_owned(),
            content_hash: Some(id.to_owned()),
            status: SourceStatus::Parsed,
            sessions: parse(text.as_bytes()).sessions,
            ..Source::default()
        }
    };
    let input = |sources: Vec<Source>| reconciled(sources).sessions[0].tokens.input;
    assert_eq!(input(result("a", 1000, 1000).followed_by(result("b", 2000, 2000))), Some(3000), "from 0");
    assert_eq!(input(result("a", 1000, 1000).followed_by(result("b", 2000, 3000))), Some(3000), "restored");
    assert_eq!(input(result("a", 1000, 1000).followed_by(result("a", 1000, 1000))), Some(1000), "the same");
}

/// The records of one runtime are not those of another one, though some have the same type.
#[test]
fn recordings_of_two_runtimes_in_one_file_count_as_in_two() {
    let sample = |path: &str| std::fs::read(root().join("sample-logs").join(path)).unwrap();
    let logs = ["gemini-stream-json/edit-with-stats-by-model.jsonl", "claude-stream-json/edits-and-side-calls.jsonl"];
    let [one, other] = logs.map(sample);
    let sorted = |mut sessions: Vec<String>| {
        sessions.sort();
        sessions
    };
    let expected = sorted(counted(&[one.clone(), other.clone()]));
    for both in [[&one[..], &other].concat(), [&other[..], &one].concat()] {
        assert_eq!(sorted(counted(&[both])), expected);
    }
}

/// Gateways give one id to many responses, and a fork repeats those of the session that it continues.
#[test]
fn responses_of_a_gateway_count_once() {
    let line = |session: &str, fork: bool, second: i64, input: i64| {
        let forked = if fork { r#""forkedFrom":{"sessionId":"one","messageUuid":"u"},"# } else { "" };
        format!(
            r#"{{"type":"assistant",{forked}"sessionId":"{session}","uuid":"{session}-{second}","timestamp":"2026-10-05T10:00:{second:02}.000Z","message":{{"id":"gateway","model":"glm-5","role":"assistant","content":[{{"type":"text","text":"x"}}],"usage":{{"input_tokens":{input},"output_tokens":5,"cache_read_input_tokens":1000,"cache_creation_input_tokens":0}}}}}}"#
        )
    };
    let responses =
        |session: &str, fork| (1..4).map(|second| line(session, fork, second, 100 * second)).collect::<Vec<_>>();
    let one = responses("one", false).join("\n");
    let fork = [responses("fork", true), vec![line("fork", false, 9, 7)]].concat().join("\n");
    let source = |path: &str, text: &str| Source {
        path: path.to_owned(),
        status: SourceStatus::Parsed,
        sessions: parse(text.as_bytes()).sessions,
        ..Source::default()
    };
    let tables = reconciled(vec![source("a", &one), source("b", &fork)]);
    let mut inputs: Vec<_> = tables.turns.iter().map(|row| row.turn.tokens.get().input).collect();
    inputs.sort();
    assert_eq!(inputs, [7, 100, 200, 300].map(Some));
}

/// The counts of each session.
fn counted(texts: &[Vec<u8>]) -> Vec<String> {
    let source = |(index, text): (usize, &Vec<u8>)| Source {
        path: index.to_string(),
        status: SourceStatus::Parsed,
        sessions: parse(text).sessions,
        ..Source::default()
    };
    let tables = reconciled(texts.iter().enumerate().map(source).collect());
    let count = |it: &SessionRow| {
        let counts = [it.turns, it.user_turns, it.tool_calls, it.tool_errors, it.file_changes, it.compactions];
        format!("{} {:?} {:?} {:?} {:?}", it.session.session_id, it.session.status, it.tokens, it.money, counts)
    };
    tables.sessions.iter().map(count).collect()
}

/// The rules of changed logs hold for unchanged ones too.
#[test]
fn the_rules_hold_for_every_sample() {
    for sample in samples() {
        rules::check_file(&std::fs::read(&sample).unwrap());
        let text = lines_of(&sample);
        rules::check(&text);
        rules::check_two(&text, &text);
    }
}

/// A log that a script appended to itself counts once: docs/accounting.md#the-largest-count.
#[test]
fn a_log_twice_in_one_file_counts_once() {
    for text in line_texts() {
        let newline: &[u8] = if text.ends_with(b"\n") { b"" } else { b"\n" };
        let twice = [&text, newline, &text].concat();
        assert_eq!(counted(&[twice]), counted(&[text]));
    }
}

/// An older copy of a log adds nothing: docs/accounting.md#copies-of-a-growing-log.
#[test]
fn the_beginning_of_a_log_beside_it_counts_nothing() {
    for text in line_texts() {
        let lines: Vec<&[u8]> = text.split_inclusive(|it| *it == b'\n').collect();
        for length in [lines.len() / 2, lines.len() - 1] {
            let beginning = lines[..length].concat();
            // The beginning of some logs is recognised as another format.
            if parse(&beginning).format == parse(&text).format {
                assert_eq!(counted(&[text.clone(), beginning.clone()]), counted(std::slice::from_ref(&text)));
                assert_eq!(counted(&[beginning, text.clone()]), counted(std::slice::from_ref(&text)));
            }
        }
    }
}

/// The count of a session is the sum of its rows, and no part of a row is larger than the row:
/// docs/accounting.md#invariants.
#[test]
fn the_ledger_adds_up() {
    let tables = reconciled(facts(Retention::None));
    for (index, row) in tables.sessions.iter().enumerate() {
        let of_session = || tables.turns.iter().filter(|it| it.session == index);
        let sum: i64 = of_session().filter_map(|it| it.turn.tokens.get().total()).sum();
        assert_eq!(sum, row.tokens.total().unwrap_or(0), "{}", row.session.session_id);
        let cost: f64 = of_session().filter_map(|it| it.money.cost).sum();
        assert!((cost - row.money.cost.unwrap_or(0.0)).abs() < 1e-9, "{}", row.session.session_id);
    }
    for row in &tables.turns {
        let tokens = row.turn.tokens.get();
        assert!(tokens.reasoning <= tokens.output || tokens.output.is_none(), "{:?}", row.turn);
        assert!(tokens.cache_write_1h <= tokens.cache_write || tokens.cache_write.is_none(), "{:?}", row.turn);
        if let (Some(parts), Some(cost)) = (row.money.parts, row.money.cost) {
            assert!((parts.total() - cost).abs() < 1e-9, "{:?}", row.turn);
        }
        let money = row.money;
        let all = [money.cost, money.reported, money.computed];
        assert!(all.into_iter().flatten().all(|it| it >= 0.0), "{money:?}");
        // Every cost has a source, and a computed cost is not a reported one.
        assert!(money.source.is_some() || money.cost.is_none(), "{money:?}");
        assert!(money.source != Some(CostSource::Computed) || money.cost == money.computed, "{money:?}");
    }
}

static SAMPLES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(texts);

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// The rules hold for arbitrary bytes.
    #[test]
    fn the_rules_hold_for_any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        rules::check(&bytes);
    }

    /// The rules hold for samples whose records are dropped, repeated, mixed, cut and given other values.
    #[test]
    fn the_rules_hold_for_mixed_samples(plan in proptest::collection::vec(any::<u8>(), 2..60)) {
        rules::check(&rules::mutated(&SAMPLES, &plan));
    }

    /// Two changed copies of one sample count no more together than the sum of each alone.
    #[test]
    fn logs_that_are_almost_the_same_add_nothing(sample in any::<u8>(), one in proptest::collection::vec(any::<u8>(), 0..30), other in proptest::collection::vec(any::<u8>(), 0..30)) {
        let log = |plan: &[u8]| rules::mutated(&SAMPLES, &[&[0, sample], plan].concat());
        rules::check_two(&log(&one), &log(&other));
    }

    /// Compressed logs and databases with other bytes, or cut.
    #[test]
    fn the_rules_hold_for_any_file(file in any::<Index>(), bytes in proptest::collection::vec((any::<Index>(), any::<u8>()), 0..6), cut in proptest::option::of(any::<Index>())) {
        let mut broken = FILES[file.index(FILES.len())].clone();
        let length = broken.len();
        for (at, byte) in bytes {
            broken[at.index(length)] = byte;
        }
        broken.truncate(cut.map_or(length, |it| it.index(length)));
        rules::check_file(&broken);
    }

    /// Names that are combined from parts of names.
    #[test]
    fn a_price_is_never_negative(provider in proptest::option::of(select(PIECES)), model in proptest::collection::vec(select(PIECES), 0..5), at in proptest::option::of(any::<i64>()), tokens in any::<[Option<u32>; 4]>(), tier in select(PIECES), table in proptest::collection::vec(select(TABLE), 0..6)) {
        let (model, table) = (model.concat(), table.concat());
        rules::check_prices(&Priced { provider, model: &model, at, tokens, tier, table: table.as_bytes() });
    }
}

/// Some samples as files: as they are, compressed, and in archives.
static FILES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let files = samples().into_iter().map(|it| std::fs::read(it).unwrap());
    let (databases, logs): (Vec<_>, Vec<_>) = files.partition(|it| agentlogs::input::database::is_database(it));
    let gzip = |it: &Vec<u8>| {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(it).unwrap();
        gzip.finish().unwrap()
    };
    let compressed = logs.iter().take(4).flat_map(|it| [gzip(it), zstd::encode_all(&it[..], 1).unwrap()]);
    let names =
        logs.iter().enumerate().take(3).map(|(index, log)| (format!("logs/{index}.jsonl"), log.clone())).collect();
    let archives = [crate::containers::tar(&names), crate::containers::zip(&names)];
    compressed.chain(databases).chain(archives).collect()
});

/// Parts of the names of models, providers and tiers.
const PIECES: &[&str] = &[
    "claude-",
    "sonnet-4-5",
    "opus-4-7",
    "haiku",
    "-20250929",
    "@20250929",
    "-v1:0",
    "[1m]",
    "anthropic.",
    "us.",
    "anthropic/",
    "openrouter/",
    "bedrock",
    "gpt-5",
    "-codex",
    "-mini",
    "gemini-3-pro-preview",
    "qwen3-coder-plus",
    "models/",
    "-latest",
    ":free",
    "priority",
    "batch",
    "fast",
    "us",
    "not_available",
    "/",
    ":",
    "@",
    "-",
    "",
    " ",
    "\u{e9}",
];

/// Parts of price tables.
const TABLE: &[&str] = &[
    "[[models]]\n",
    "provider = \"openai\"\n",
    "model = \"gpt-5\"\n",
    "model = \"claude-sonnet-4-5\"\n",
    "prices = [{ input = 1.0, output = 2.5 }]\n",
    "prices = [{ input = -1.0, output = 2.5 }]\n",
    "prices = [{ from = \"2026-01-01\", input = 1e308, output = 1e308 }]\n",
    "prices = [{ until = \"2026-01-01\", input = nan, output = 0 }]\n",
    r#"{"gpt-5":{"litellm_provider":"openai","input_cost_per_token":1e-6,"output_cost_per_token":1e-5}}"#,
    r#"{"gpt-5":{"litellm_provider":"openai","input_cost_per_token":-1,"output_cost_per_token":1e300}}"#,
    "[",
    "]",
    "{",
    "}",
    "null",
];
