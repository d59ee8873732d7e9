//! Rules that hold for every input. The fuzz targets and the property tests check the same ones.

use std::io::Write;
use std::thread;

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::adapters::{self, Driver, Hints, Parsed, Step, TABLES};
use agentlogs::base::time::{Day, Time};
use agentlogs::input::containers::{self, Container};
use agentlogs::input::database;
use agentlogs::input::open::{self, Budget, Limit};
use agentlogs::input::sidecar::Sidecar;
use agentlogs::json::lines;
use agentlogs::json::lines::Lines;
use agentlogs::ledger;
use agentlogs::ledger::costs;
use agentlogs::model::session::{SessionResult, Tokens};
use agentlogs::model::source::{Source, SourceStatus};
use agentlogs::model::tables::Tables;
use agentlogs::prices::{Catalog, Pricer, Request, Table};

/// Reads bytes as a log.
pub fn parse(bytes: &[u8]) -> Parsed {
    adapters::parse(bytes, Hints::default(), Retention::Full)
}

/// Logs, each in a file of its own.
pub fn sources(logs: Vec<Parsed>) -> Vec<Source> {
    let source = |(index, parsed): (usize, Parsed)| Source {
        path: index.to_string(),
        status: SourceStatus::Parsed,
        health: parsed.health,
        sessions: parsed.sessions,
        ..Source::default()
    };
    logs.into_iter().enumerate().map(source).collect()
}

/// Their tables.
pub fn tables(logs: Vec<Parsed>) -> Tables {
    let mut tables = ledger::reconcile(sources(logs));
    costs::price(&mut tables, Catalog::built_in());
    tables
}

/// All rules about a single log.
pub fn check(bytes: &[u8]) {
    lines_are_in_order(bytes);
    let parsed = parse(bytes);
    every_line_is_accounted_for(bytes, &parsed);
    rows_point_at_rows(&parsed);
    for large in [1, 3000] {
        large_logs_are_read_as_small_ones(bytes, &parsed, large);
    }
    let rows = tables(vec![parsed]);
    the_ledger_adds_up(&rows);
    no_token_comes_from_nowhere(bytes, &rows);
    a_line_of_noise_costs_itself(bytes);
}

/// A large log is read in steps: its sessions are closed before its end, and its records are parsed ahead. The result is the same as
/// that of a small log. Returns whether sessions were closed early, and whether one of them was closed too early.
pub fn large_logs_are_read_as_small_ones(bytes: &[u8], whole: &Parsed, large: usize) -> (bool, bool) {
    let (mut early, mut was_wrong, mut read) = (Vec::new(), false, 0);
    let rest = thread::scope(|scope| {
        let mut driver = Driver::new(bytes, Hints::default(), Retention::Full).with_large(large);
        loop {
            match driver.step() {
                Step::Progress(end) => {
                    assert!(read <= end && end <= bytes.len());
                    read = end;
                }
                // Some logs are read by two threads, some by one.
                Step::Large(parse_ahead) if !bytes.len().is_multiple_of(4) => drop(scope.spawn(parse_ahead)),
                Step::Large(_) => {}
                Step::Closed(sessions) => early.extend(sessions),
                Step::Restart => {
                    early.clear();
                    (was_wrong, read) = (true, 0);
                }
                Step::Done(parsed) => break parsed,
            }
        }
    });
    let is_early = !early.is_empty();
    let in_order = |mut sessions: Vec<SessionResult>| {
        // An unknown record without the id of a session belongs to the one that began last, unless that was closed before.
        if is_early {
            for session in &mut sessions {
                session.unread = None;
            }
        }
        sessions.sort_by(|a, b| (a.line, &a.session_id).cmp(&(b.line, &b.session_id)));
        sessions
    };
    let sessions = early.into_iter().chain(rest.sessions).collect();
    assert_eq!(in_order(sessions), in_order(whole.sessions.clone()), "{}", String::from_utf8_lossy(bytes));
    assert_eq!((rest.format, &rest.health), (whole.format, &whole.health));
    (is_early, was_wrong)
}

/// Records do not overlap, and their line numbers grow.
pub fn lines_are_in_order(bytes: &[u8]) {
    let (mut number, mut end) = (1, 0);
    for line in Lines::new(bytes) {
        let start = line.bytes.as_ptr().addr() - bytes.as_ptr().addr();
        assert!(!line.bytes.is_empty() && start >= end);
        let next = start + line.bytes.len();
        number += newlines(&bytes[end..start]);
        assert_eq!(line.number, number);
        number += newlines(line.bytes);
        end = next;
    }
    assert!(end <= bytes.len());
}

fn newlines(bytes: &[u8]) -> i64 {
    i64::try_from(bytes.split(|it| *it == b'\n').count()).unwrap() - 1
}

/// Each record is ingested or rejected.
fn every_line_is_accounted_for(bytes: &[u8], parsed: &Parsed) {
    let health = &parsed.health;
    assert_eq!(health.lines, lines::count(bytes));
    assert!((0..=health.records).contains(&health.unknown_records), "{health:?}");
    if parsed.format.is_some() {
        // The records of plain text are its lines.
        let is_text = parsed.format.is_some_and(|it| ["aider-chat", "aider-llm-history"].contains(&it));
        let of_text = || bytes.split(|it| *it == b'\n').filter(|it| !it.trim_ascii().is_empty()).count();
        let all = i64::try_from(if is_text { of_text() } else { Lines::new(bytes).count() }).unwrap();
        // Records may share a line. Each begins with a brace.
        let braces = i64::try_from(bytes.split(|byte| *byte == b'{').count()).unwrap() - 1;
        assert!(
            health.records <= all.max(braces) && all <= health.records + health.rejected_lines(),
            "{all} {health:?}"
        );
    }
    for reject in &health.rejects {
        assert!((1..=health.lines).contains(&reject.first_line) && reject.lines > 0, "{health:?}");
        assert!(!reject.example.chars().any(char::is_control) && reject.example.chars().count() <= 120);
    }
}

/// Rows name others by their index, and lines by their number.
fn rows_point_at_rows(parsed: &Parsed) {
    for session in &parsed.sessions {
        let is_line = |it: i64| (0..=parsed.health.lines).contains(&it);
        let (turns, calls) = (session.turns.len(), session.tool_calls.len());
        assert!(is_line(session.line) && session.turns.iter().all(|it| is_line(it.line)));
        assert!(session.turns.iter().all(|it| it.tokens.get().kinds().into_iter().flatten().all(|it| it >= 0)));
        assert!(session.tool_calls.iter().all(|it| is_line(it.line) && it.turn.is_none_or(|it| it < turns)));
        assert!(session.file_changes.iter().all(|it| is_line(it.line) && it.call.is_none_or(|it| it < calls)));
        assert!(session.events.iter().all(|it| is_line(it.line) && it.turn.is_none_or(|it| it < turns)));
        assert!(session.totals.iter().all(|it| is_line(it.line)));
    }
}

/// The tokens and the cost of a session are the sums of its rows, and no part of a row is larger than the row:
/// docs/accounting.md#invariants.
pub fn the_ledger_adds_up(tables: &Tables) {
    for (index, row) in tables.sessions.iter().enumerate() {
        let of_session = || tables.turns.iter().filter(|it| it.session == index);
        let sum: i64 = of_session().filter_map(|it| it.turn.tokens.get().total()).sum();
        assert_eq!(sum, row.tokens.total().unwrap_or(0), "{}", row.session.session_id);
        let cost: f64 = of_session().filter_map(|it| it.money.cost).sum();
        let of_row = row.money.cost.unwrap_or(0.0);
        assert!((cost - of_row).abs() <= 1e-9 * of_row.abs().max(1.0), "{cost} {:?}", row.money);
    }
    for row in &tables.turns {
        let tokens = row.turn.tokens.get();
        assert!(tokens.kinds().into_iter().flatten().all(|it| it >= 0), "{:?}", row.turn);
        let money = row.money;
        let all = [money.cost, money.reported, money.computed];
        assert!(all.into_iter().flatten().all(|it| it >= 0.0 && it.is_finite()), "{money:?}");
        assert!(money.source.is_some() || money.cost.is_none(), "{money:?}");
    }
    let is_session = |it: usize| it < tables.sessions.len();
    assert!(tables.turns.iter().all(|it| is_session(it.session)));
    assert!(tables.tool_calls.iter().all(|it| is_session(it.session)));
}

/// The sum of all tokens is not larger than the sum of all numbers in the log.
fn no_token_comes_from_nowhere(bytes: &[u8], tables: &Tables) {
    let tokens: i64 = tables.sessions.iter().filter_map(|it| it.tokens.total()).sum();
    // A digit may be written as an escape in a string that holds JSON.
    if bytes.windows(2).any(|it| it == b"\\u") {
        return;
    }
    #[expect(clippy::cast_precision_loss, reason = "counts are below a trillion each")]
    let tokens = tokens as f64;
    let carried = numbers(bytes);
    assert!(tokens <= carried, "{tokens} tokens are counted, the log holds {carried}");
}

/// The sum of all numbers in a text that can count something.
fn numbers(bytes: &[u8]) -> f64 {
    let is_of_number = |it: &u8| it.is_ascii_digit() || matches!(it, b'.' | b'e' | b'E' | b'+' | b'-');
    // `1.6k` is 1600.
    let thousands = bytes.split(|it| !is_of_number(it) && *it != b'k').filter(|it| it.ends_with(b"k"));
    let thousands: f64 = thousands
        .filter_map(|it| std::str::from_utf8(it).ok()?.trim_end_matches('k').parse::<f64>().ok())
        .filter(|it| (0.0..1e9).contains(it))
        .map(|it| it * 1e3)
        .sum();
    let words = bytes.split(|it| !is_of_number(it)).filter_map(|it| std::str::from_utf8(it).ok());
    let value = |word: &str| -> f64 {
        // What is not a number as a whole, a time, counts by its digits.
        let whole = word.trim_start_matches(['-', '+']).parse::<f64>().ok();
        let parts = || word.split(|it: char| !it.is_ascii_digit()).filter_map(|it| it.parse::<f64>().ok()).sum();
        whole.map_or_else(parts, |it| it.max(0.0).ceil())
    };
    thousands + words.map(value).filter(|it| *it <= 2e12).sum::<f64>()
}

/// A line that is not JSON costs itself and nothing else, at any place.
fn a_line_of_noise_costs_itself(bytes: &[u8]) {
    const NOISE: &[u8] = b"npm warn deprecated left-pad\n";
    let is_by_line = |it: &[u8]| Lines::new(it).all(|line| !line.bytes.contains(&b'\n') && line.bytes[0] == b'{');
    let middle = bytes.iter().take(bytes.len() / 2).rposition(|it| *it == b'\n').map(|it| it + 1);
    let Some(at) = middle.filter(|_| is_by_line(bytes)) else { return };
    let broken = [&bytes[..at], NOISE, &bytes[at..]].concat();
    if Lines::new(&broken).count() != Lines::new(bytes).count() + 1 {
        return;
    }
    let (whole, broken) = (parse(bytes), parse(&broken));
    assert_eq!(whole.format, broken.format);
    if whole.format.is_some() {
        assert_eq!(without_lines(&whole), without_lines(&broken));
        assert_eq!(whole.health.records, broken.health.records);
        assert_eq!(whole.health.rejected_lines() + 1, broken.health.rejected_lines());
    }
}

/// Two similar logs count no more together than the sum of each alone, and a copy adds nothing.
pub fn check_two(one: &[u8], other: &[u8]) {
    let total = |logs: &[&[u8]]| {
        let rows = tables(logs.iter().map(|it| parse(it)).collect());
        the_ledger_adds_up(&rows);
        rows.sessions.iter().filter_map(|it| it.tokens.total()).sum::<i64>()
    };
    let (alone, beside) = (total(&[one]), total(&[other]));
    // Copies are removed, and no rows are added.
    let both = total(&[one, other]);
    let logs = || format!("{}\n-- beside\n{}", String::from_utf8_lossy(one), String::from_utf8_lossy(other));
    assert!(both <= alone + beside, "{both} of {alone} and {beside}:\n{}", logs());
    assert_eq!(total(&[one, one]), alone, "{}", logs());
}

/// Bytes as a file: gzip, zstd, tar, zip, a database, a sidecar. It is read within its limit, or refused.
pub fn check_file(bytes: &[u8]) {
    const LIMIT: u64 = 1 << 22;
    let _ = Sidecar::parse(bytes);
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    let Ok(content) = open::open(file.path(), Limit::Bytes(LIMIT)) else { return };
    assert!(content.compression.is_none() || content.len() as u64 <= LIMIT);
    if database::is_database(&content)
        && let Ok(rows) = database::read(None, &content, TABLES, &Budget::new(Limit::Bytes(LIMIT), 0))
    {
        lines_are_in_order(&rows.text);
    }
    check_members(&content, 0, &Budget::new(Limit::Bytes(LIMIT), 0));
}

/// The members of an archive are no more than the limit, and each is found by its name.
fn check_members(content: &open::FileContent<'_>, depth: usize, budget: &Budget) {
    let Some(Ok(container)) = Container::open(content, 1000) else { return };
    for member in container.members() {
        assert!(container.find(&member.name).is_some_and(|it| std::ptr::eq(it, member)));
        if let Ok(content) = container.read(member, budget)
            && depth < containers::MAX_DEPTH
        {
            check_members(&content, depth + 1, budget);
        }
    }
}

/// A request, and a user's table of prices.
#[derive(Debug)]
pub struct Priced<'a> {
    pub provider: Option<&'a str>,
    pub model: &'a str,
    pub at: Option<i64>,
    /// Input, output, cache read, cache write.
    pub tokens: [Option<u32>; 4],
    /// Service tier, speed and region.
    pub tier: &'a str,
    pub table: &'a [u8],
}

/// A price is never negative, a name means the same each time, and no table breaks another.
pub fn check_prices(it: &Priced<'_>) {
    let [input, output, cache_read, cache_write] = it.tokens.map(|it| it.map(i64::from));
    let request = Request {
        provider: it.provider,
        model: Some(it.model),
        at: it.at.map(Time::from_micros),
        tokens: Tokens { input, output, cache_read, cache_write, ..Tokens::UNKNOWN },
        service_tier: Some(it.tier),
        speed: Some(it.tier),
        inference_geo: Some(it.tier),
        ..Request::default()
    };
    let check = |catalog: &Catalog| {
        if let Ok(priced) = Pricer::new(catalog).price(&request) {
            assert!(priced.total() >= 0.0 && priced.total().is_finite(), "{request:?} {priced:?}");
            assert!(input.is_some() && output.is_some());
        }
        let found =
            || catalog.find(it.provider, it.model).map(|it| it.entries.into_iter().cloned().collect::<Vec<_>>());
        assert_eq!(found(), found());
    };
    check(Catalog::built_in());
    if let Ok(table) = Table::parse(it.table, Day(20_000)) {
        let again = Table::parse_json_lines(table.to_json_lines().as_bytes());
        assert!(table.entries.is_empty() || again.is_ok_and(|it| it.entries == table.entries));
        check(&Catalog::built_in().under(table.entries));
    }
}

/// The sessions without the numbers of their lines.
pub fn without_lines(parsed: &Parsed) -> String {
    fn strip(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Object(fields) => {
                fields.remove("line");
                fields.values_mut().for_each(strip);
            }
            serde_json::Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(&parsed.sessions).unwrap();
    strip(&mut value);
    value.to_string()
}

/// A changed copy of one of `samples`. `plan` selects the sample and the changes of its records.
pub fn mutated(samples: &[Vec<u8>], plan: &[u8]) -> Vec<u8> {
    let mut plan = plan.iter().copied();
    let mut pick = |below: usize| {
        let (high, low) = (plan.next(), plan.next());
        high.map(|it| (usize::from(it) << 8 | usize::from(low.unwrap_or(0))) % below.max(1))
    };
    let Some(sample) = pick(samples.len()) else { return Vec::new() };
    let mut lines: Vec<Vec<u8>> = Lines::new(&samples[sample]).map(|it| it.bytes.to_vec()).collect();
    while let (Some(what), Some(at)) = (pick(8), pick(lines.len())) {
        if lines.is_empty() {
            break;
        }
        match what {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 => {
                let to = pick(lines.len()).unwrap_or(0);
                lines.swap(at, to);
            }
            3 => {
                // A record of another log.
                let other = &samples[pick(samples.len()).unwrap_or(0)];
                let records: Vec<_> = Lines::new(other).collect();
                if let Some(record) = records.get(pick(records.len()).unwrap_or(0)) {
                    lines.insert(at, record.bytes.to_vec());
                }
            }
            4 => {
                let length = pick(lines[at].len()).unwrap_or(0);
                lines[at].truncate(length);
            }
            _ => {
                let (leaf, value) = (pick(4096).unwrap_or(0), pick(VALUES.len()).unwrap_or(0));
                replace_leaf(&mut lines[at], leaf, VALUES[value]);
            }
        }
    }
    lines.join(&b'\n')
}

/// Values that logs may contain in the place of the right ones.
const VALUES: &[&str] = &[
    "null",
    "0",
    "1",
    "-1",
    "-0.0",
    "1e400",
    "1e12",
    "1000000000001",
    "9223372036854775807",
    "18446744073709551616",
    "0.5",
    "true",
    "\"\"",
    "\"x\"",
    "\"7\"",
    "\"\\ud800\"",
    "\"\\u0000\"",
    "\"2026-10-05T10:00:00Z\"",
    "\"user\"",
    "\"assistant\"",
    "\"tool_result\"",
    "\"error\"",
    "\"result\"",
    "\"claude-sonnet-4-5\"",
    "[]",
    "{}",
    "[null]",
    "[{}]",
    "{\"type\":\"text\"}",
    "{\"input_tokens\":5,\"output_tokens\":7}",
    "[[[[[[[[1]]]]]]]]",
    "\"../../etc/passwd\"",
];

/// Puts `value` in the place of the `leaf`th value of a record that is not an object or array.
fn replace_leaf(line: &mut Vec<u8>, leaf: usize, value: &str) {
    fn leaves(value: &serde_json::Value) -> usize {
        match value {
            serde_json::Value::Array(items) if !items.is_empty() => items.iter().map(leaves).sum(),
            serde_json::Value::Object(fields) if !fields.is_empty() => fields.values().map(leaves).sum(),
            _ => 1,
        }
    }
    fn replace(value: &mut serde_json::Value, leaf: &mut usize) {
        match value {
            serde_json::Value::Array(items) if !items.is_empty() => items.iter_mut().for_each(|it| replace(it, leaf)),
            serde_json::Value::Object(fields) if !fields.is_empty() => {
                fields.values_mut().for_each(|it| replace(it, leaf));
            }
            _ => {
                if *leaf == 0 {
                    *value = serde_json::Value::from("~~~");
                }
                *leaf = leaf.wrapping_sub(1);
            }
        }
    }
    let Ok(mut record) = serde_json::from_slice::<serde_json::Value>(line) else { return };
    let mut leaf = leaf % leaves(&record);
    replace(&mut record, &mut leaf);
    *line = record.to_string().replacen("\"~~~\"", value, 1).into_bytes();
}
