//! What the tables contain of Hermes' logs.

use std::collections::BTreeSet;

use agentlogs::model::session::{EventKind, SessionResult, Status};
use agentlogs::model::tables::SessionRow;
use serde_json::{Value, json};

use super::{sessions, sessions_at, tables};
use crate::rules::parse;

/// A database with one scheduled session and these messages.
fn database(messages: &[Value]) -> String {
    let session = json!({
        "table": "sessions", "id": "cron_a1_20261009_080000", "source": "cron", "model": "kimi-k2.6", "end_reason": "cron_complete",
        "started_at": 1_791_532_800.5, "billing_provider": "openrouter", "reasoning_tokens": 0, "input_tokens": 900,
        "output_tokens": 40, "cache_read_tokens": 0, "cache_write_tokens": 0, "api_call_count": 1,
    });
    let rows = messages.iter().enumerate().map(|(index, message)| {
        let mut row = message.clone();
        row["table"] = json!("messages");
        row["id"] = json!(index);
        row["session_id"] = json!("cron_a1_20261009_080000");
        row["timestamp"] = json!(1_791_532_801 + index);
        row
    });
    let lines: Vec<String> = std::iter::once(session).chain(rows).map(|row| row.to_string()).collect();
    lines.join("\n")
}

fn prompt() -> Value {
    json!({"role": "user", "content": "Summarise.", "finish_reason": null, "tool_calls": null})
}

fn answer(text: &str, finish_reason: Option<&str>) -> Value {
    json!({"role": "assistant", "content": text, "finish_reason": finish_reason, "tool_calls": null})
}

fn only(log: &str) -> SessionResult {
    sessions(log).swap_remove(0)
}

/// Hermes ends a scheduled session with `cron_complete` after a run that failed, too.
#[test]
fn a_run_without_an_answer_is_no_success() {
    let call = json!({
        "role": "assistant", "content": "", "finish_reason": "stop",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "web_search", "arguments": "{}"}}],
    });
    let result =
        json!({"role": "tool", "content": "x", "tool_call_id": "c1", "finish_reason": null, "tool_calls": null});
    for (messages, status) in [
        (vec![prompt()], Status::Incomplete),
        (vec![], Status::Incomplete),
        (vec![prompt(), call, result], Status::Incomplete),
        (vec![prompt(), answer("", Some("stop"))], Status::Incomplete),
        (vec![prompt(), answer("Operation interrupted.", None)], Status::Aborted),
        (vec![prompt(), answer("Done.", Some("stop"))], Status::Success),
    ] {
        let session = only(&database(&messages));
        assert_eq!(session.status, status, "{messages:?}");
        assert_eq!(session.stop_reason.as_deref(), Some("cron_complete"));
    }
}

/// The price is that of the provider who bills it.
#[test]
fn the_sums_have_the_provider_that_bills_them() {
    let turns = tables(&[database(&[prompt(), answer("Done.", Some("stop"))])]).turns;
    assert_eq!((turns.len(), turns[0].turn.provider.as_deref()), (1, Some("openrouter")));
}

#[test]
fn a_transcript_may_begin_with_a_message() {
    let lines = [
        json!({"role": "user", "content": "Go.", "timestamp": "2026-10-09T08:00:00.5"}),
        json!({"role": "assistant", "content": "Done.", "finish_reason": "stop", "timestamp": "2026-10-09T08:00:05.5"}),
    ];
    let log = lines.map(|line| line.to_string()).join("\n");
    for path in
        ["/x/20261009_080000_a1b2c3d4.jsonl", "/x/cron_a1_20261009_080000.jsonl", "/home/u/.hermes/sessions/x.jsonl"]
    {
        let session = sessions_at(path, &log).swap_remove(0);
        assert_eq!((session.format.as_ref(), session.status), ("hermes-transcript", Status::Success), "{path}");
        assert!(path.contains(&format!("/{}.", session.session_id)), "{path}: {}", session.session_id);
    }
    let call = json!({
        "role": "assistant", "content": "", "timestamp": "2026-10-09T08:00:00",
        "tool_calls": [{"id": "c", "response_item_id": "fc_c", "function": {"name": "terminal", "arguments": "{}"}}],
    });
    assert_eq!(only(&call.to_string()).format, "hermes-transcript");
    // Any program may write such messages.
    assert!(sessions_at("/x/chat.jsonl", &log).is_empty());
}

/// Copies of a database contain the same session, of which the sums grow. Several profiles can give one id to different sessions.
#[test]
fn sessions_of_several_profiles_add_up() {
    let input = |starts: [f64; 2]| {
        let row = |(start, tokens): (f64, u32)| {
            let mut row: Value = serde_json::from_str(&database(&[])).unwrap();
            (row["started_at"], row["input_tokens"]) = (json!(start), json!(tokens));
            row.to_string()
        };
        let tables = tables(&[row((starts[0], 900)), row((starts[1], 700))]);
        (tables.sessions.len(), tables.sessions[0].tokens.input)
    };
    assert_eq!(input([1_791_532_800.5, 1_791_532_800.5]), (1, Some(900)));
    assert_eq!(input([1_791_532_800.5, 1_791_619_200.5]), (1, Some(1600)));
}

/// A row of a database with one scheduled session: what the session spent with a model.
fn spent(model: &str, provider: &str, task: &str, calls: u32, tokens: [u32; 2]) -> Value {
    json!({
        "table": "session_model_usage", "session_id": "cron_a1_20261009_080000", "model": model, "billing_provider": provider,
        "billing_base_url": "", "billing_mode": "", "task": task, "api_call_count": calls, "input_tokens": tokens[0],
        "output_tokens": tokens[1], "cache_read_tokens": 0, "cache_write_tokens": 0, "reasoning_tokens": 0,
        "estimated_cost_usd": 0.0, "actual_cost_usd": 0.0, "cost_status": null,
    })
}

/// The model, the provider, input and output of each row, and the number of turns.
fn rows(databases: &[Vec<Value>]) -> (Vec<[String; 4]>, Option<i64>) {
    let logs: Vec<String> = databases
        .iter()
        .map(|rows| {
            let rows = rows.iter().map(|row| format!("\n{row}"));
            std::iter::once(database(&[prompt(), answer("Done.", Some("stop"))])).chain(rows).collect()
        })
        .collect();
    let tables = tables(&logs);
    let text = |value: Option<&str>| value.unwrap_or_default().to_owned();
    let number = |value: Option<i64>| value.map(|it| it.to_string()).unwrap_or_default();
    let mut rows: Vec<_> = tables
        .turns
        .iter()
        .map(|row| {
            let tokens = row.turn.tokens.get();
            let names = [row.turn.model.as_deref(), row.turn.provider.as_deref()];
            [text(names[0]), text(names[1]), number(tokens.input), number(tokens.output)]
        })
        .collect();
    rows.sort();
    (rows, tables.sessions[0].turns)
}

/// Its name, the rows of the table, those of the session, and its turns.
type Case = (&'static str, Vec<Value>, Vec<[&'static str; 4]>, i64);

/// The session's own sums are 900 input and 40 output tokens of `kimi-k2.6`.
#[test]
fn each_model_and_provider_has_a_row() {
    let main = |model, provider, tokens| spent(model, provider, "", 1, tokens);
    let own = ["kimi-k2.6", "openrouter", "900", "40"];
    let cases: [Case; 6] = [
        ("no rows", vec![], vec![own], 1),
        ("the same", vec![main("kimi-k2.6", "openrouter", [900, 40])], vec![own], 1),
        (
            "another model before",
            vec![main("glm-5", "zai", [600, 10]), main("kimi-k2.6", "openrouter", [300, 30])],
            vec![["glm-5", "zai", "600", "10"], ["kimi-k2.6", "openrouter", "300", "30"]],
            2,
        ),
        (
            "another provider",
            vec![main("kimi-k2.6", "moonshot", [600, 10]), main("kimi-k2.6", "openrouter", [300, 30])],
            vec![["kimi-k2.6", "moonshot", "600", "10"], ["kimi-k2.6", "openrouter", "300", "30"]],
            2,
        ),
        (
            "the sums contain more",
            vec![main("glm-5", "zai", [600, 10])],
            vec![["glm-5", "zai", "600", "10"], ["kimi-k2.6", "openrouter", "300", "30"]],
            1,
        ),
        (
            "other tasks are additional",
            vec![
                main("kimi-k2.6", "openrouter", [900, 40]),
                spent("gemini-2.5-flash", "google", "compression", 1, [5000, 400]),
                spent("gemini-2.5-flash", "google", "title_generation", 2, [60, 2]),
                spent("kimi-k2.6", "openrouter", "vision", 1, [7, 3]),
            ],
            vec![["gemini-2.5-flash", "google", "5060", "402"], ["kimi-k2.6", "openrouter", "907", "43"]],
            5,
        ),
    ];
    for (name, given, expected, turns) in cases {
        let expected: Vec<_> = expected.into_iter().map(|row| row.map(str::to_owned)).collect();
        assert_eq!(rows(std::slice::from_ref(&given)), (expected.clone(), Some(turns)), "{name}");
        // A copy of the database, and rows that it contains twice.
        let twice = [given.clone(), given.clone()].concat();
        assert_eq!(rows(&[given, twice]), (expected, Some(turns)), "{name}");
    }
}

/// An older copy has the same session with the sums of one model only.
#[test]
fn a_copy_from_before_the_rows_adds_nothing() {
    let later = vec![
        spent("glm-5", "zai", "", 1, [880, 38]),
        spent("kimi-k2.6", "openrouter", "", 1, [20, 2]),
        spent("glm-5", "zai", "compression", 1, [100, 5]),
    ];
    let own =
        |model: &str, provider: &str, counts: [&str; 2]| [model, provider, counts[0], counts[1]].map(str::to_owned);
    let expected = vec![own("glm-5", "zai", ["980", "43"]), own("kimi-k2.6", "openrouter", ["20", "2"])];
    for databases in [[vec![], later.clone()], [later, vec![]]] {
        assert_eq!(rows(&databases).0, expected);
    }
}

/// A database with sessions, and the rows of their messages. The times of messages are seconds.
#[derive(Default)]
struct Database {
    rows: Vec<Value>,
    messages: i64,
}

impl Database {
    /// Adds a session with the default values of a row that `columns` do not set.
    fn session(&mut self, id: &str, columns: Value) {
        let row = json!({
            "table": "sessions", "id": id, "source": "cli", "model": "m", "parent_session_id": null, "started_at": 1_790_000_000,
            "ended_at": null, "end_reason": null, "billing_provider": null, "reasoning_tokens": 0, "input_tokens": 100,
            "output_tokens": 50, "cache_read_tokens": 0, "cache_write_tokens": 0, "api_call_count": 1, "model_config": null,
        });
        self.rows.push(merged(row, columns));
    }

    fn message(&mut self, session: &str, second: i64, columns: Value) {
        self.messages += 1;
        let row = json!({
            "table": "messages", "id": self.messages, "session_id": session, "finish_reason": null, "tool_calls": null,
            "timestamp": 1_790_000_000 + second, "active": 1,
        });
        self.rows.push(merged(row, columns));
    }

    /// Adds a prompt, a call with its result, and an answer, from `second` on. `columns` are those of each message.
    fn conversation(&mut self, session: &str, second: i64, columns: &Value) {
        let calls = json!([{"id": "call_1", "type": "function", "function": {"name": "terminal", "arguments": "{\"command\":\"ls\"}"}}]);
        let messages = [
            json!({"role": "user", "content": "Grind the corn"}),
            json!({"role": "assistant", "content": "", "tool_calls": calls}),
            json!({"role": "tool", "content": "{\"exit_code\":0}", "tool_call_id": "call_1"}),
            json!({"role": "assistant", "content": "The corn is ground."}),
        ];
        for (message, time) in messages.into_iter().zip(second..) {
            self.message(session, time, merged(message, columns.clone()));
        }
    }

    fn log(&self) -> String {
        self.rows.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
    }

    /// The user turns, calls, subagents and compactions of each session.
    fn counts(&self) -> Vec<(String, [Option<i64>; 4])> {
        let row = |row: &SessionRow| {
            let counts = [row.user_turns, row.tool_calls, row.subagents, row.compactions];
            (row.session.session_id.clone(), counts)
        };
        tables(&[self.log()]).sessions.iter().map(row).collect()
    }
}

fn merged(mut row: Value, columns: Value) -> Value {
    let Value::Object(columns) = columns else { panic!("{columns} is not an object") };
    row.as_object_mut().unwrap().extend(columns);
    row
}

fn counts(rows: [(&str, [Option<i64>; 4]); 2]) -> Vec<(String, [Option<i64>; 4])> {
    rows.map(|(id, counts)| (id.to_owned(), counts)).into()
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn summary() -> Value {
    json!({"role": "user", "content": "Earlier: the corn was ground.", "_compressed_summary": 1})
}

/// A turn that another model answers aloud is in the sums of its session, and no other task is.
#[test]
fn voice_is_a_part_of_the_sums() {
    let given = vec![
        spent("kimi-k2.6", "openrouter", "", 1, [800, 30]),
        spent("aloud", "voices", "voice_chat", 3, [100, 10]),
        spent("eyes", "google", "vision", 1, [7, 3]),
    ];
    let (found, turns) = rows(&[given]);
    let expected =
        [["aloud", "voices", "100", "10"], ["eyes", "google", "7", "3"], ["kimi-k2.6", "openrouter", "800", "30"]];
    assert_eq!((found, turns), (expected.map(|row| row.map(str::to_owned)).into(), Some(5)));
}

#[test]
fn the_model_of_the_voice_is_not_that_of_the_session() {
    let log = [
        database(&[]),
        spent("kimi-k2.6", "", "", 1, [1, 1]).to_string(),
        spent("aloud", "", "voice_chat", 9, [1, 1]).to_string(),
    ];
    assert_eq!(only(&log.join("\n")).model.as_deref(), Some("kimi-k2.6"));
}

/// What a child is to its parent follows from its settings, else from how the parent ended.
#[test]
fn branches_and_resets_are_no_subagents() {
    let later = json!({"started_at": 1_790_000_100, "parent_session_id": "p"});
    let of = |parent: Value, child: Value| {
        let mut database = Database::default();
        database.session("p", parent);
        database.conversation("p", 0, &json!({}));
        database.session("q", merged(later.clone(), child));
        database.message("q", 110, user("And the rye"));
        database.counts()
    };
    let next = counts([("p", [Some(1), Some(1), Some(0), None]), ("q", [Some(1), Some(0), Some(0), None])]);
    let subagent = counts([("p", [Some(1), Some(1), Some(1), None]), ("q", [Some(0), Some(0), Some(0), None])]);
    let ended = |reason: &str| json!({"end_reason": reason, "ended_at": 1_790_000_100, "session_key": "chat"});
    let marked = |name: &str| json!({"model_config": {name: "p"}});
    let of_chat = |chat: &str| json!({"session_key": chat});
    for (parent, child, expected) in [
        (ended("user_exit"), json!({}), &subagent),
        (ended("user_exit"), marked("_delegate_from"), &subagent),
        // The parent ended in any way after it started its child.
        (ended("compression"), marked("_delegate_from"), &subagent),
        (ended("user_exit"), marked("_branched_from"), &next),
        (ended("branched"), json!({}), &next),
        (ended("branched"), json!({"started_at": 1_790_000_050}), &subagent),
        (ended("user_exit"), marked("_reset_from"), &next),
        (ended("session_reset"), of_chat("chat"), &next),
        (ended("session_reset"), of_chat("another"), &subagent),
        (ended("session_reset"), of_chat(""), &subagent),
        (ended("compression"), json!({}), &next),
    ] {
        assert_eq!(&of(parent.clone(), child.clone()), expected, "{parent} {child}");
    }
    let parent = |config: Value| {
        let mut database = Database::default();
        database.session("q", json!({"model_config": config}));
        database.message("q", 0, user("x"));
        let session = only(&database.log());
        (session.parent_session_id, session.prompts.len())
    };
    assert_eq!(parent(json!({"_branched_from": "p"})), (Some("p".to_owned()), 1));
    assert_eq!(parent(json!({"_delegate_from": "__orphaned__"})), (None, 0));
}

/// A branch begins with the messages of its parent, at new times.
#[test]
fn a_branch_does_not_count_what_it_copied() {
    let mut database = Database::default();
    database.session("p", json!({"end_reason": "branched", "ended_at": 1_790_000_010}));
    database.conversation("p", 0, &json!({}));
    database.message("p", 5, user("And the rye"));
    database.session(
        "q",
        json!({"started_at": 1_790_000_010, "parent_session_id": "p", "model_config": {"_branched_from": "p"}}),
    );
    // Without what was asked last.
    database.conversation("q", 10, &json!({}));
    database.message("q", 20, user("And the barley"));
    // It asks the same again.
    database.message("q", 21, user("Grind the corn"));
    let expected = [("p", [Some(2), Some(1), Some(0), None]), ("q", [Some(2), Some(0), Some(0), None])];
    assert_eq!(database.counts(), counts(expected));
}

/// A session that goes on under another id begins with a summary and the last messages, at their times or at new ones.
#[test]
fn a_continued_session_does_not_count_what_it_kept() {
    for second in [0, 60] {
        let mut database = Database::default();
        database.session("p", json!({"end_reason": "compression", "ended_at": 1_790_000_060}));
        database.message("p", -10, user("Grind the oats"));
        database.conversation("p", 0, &json!({}));
        database.session("q", json!({"started_at": 1_790_000_060, "parent_session_id": "p"}));
        database.conversation("q", second, &json!({"_compressed_summary": 0}));
        database.message("q", 64, summary());
        database.message("q", 80, user("And the rye"));
        let expected = [("p", [Some(2), Some(1), Some(0), None]), ("q", [Some(1), Some(0), Some(0), Some(1)])];
        assert_eq!(database.counts(), counts(expected));
        let started = sessions(&database.log())[1].started_at.unwrap().micros();
        assert_eq!(started, 1_790_000_060_000_000, "the time of no copy");
    }
}

/// A compaction in place marks the messages so far, and inserts those that it keeps again: at their times, or at that of the summary.
#[test]
fn a_compaction_in_place_counts_each_message_once() {
    for kept_at in [10, 15] {
        let mut database = Database::default();
        let replaced = json!({"active": 0, "compacted": 1, "_compressed_summary": 0});
        database.session("s", json!({}));
        database.message("s", 0, merged(user("Grind the oats"), replaced.clone()));
        database.conversation("s", 10, &replaced);
        for second in 0..4 {
            let at = if kept_at == 10 { 10 + second } else { 15 };
            let mut copies = Database::default();
            copies.conversation("s", at - second, &json!({"_compressed_summary": 0}));
            let mut copy = copies.rows.swap_remove(usize::try_from(second).unwrap());
            copy["id"] = json!(100 + second);
            database.rows.push(copy);
        }
        database.message("s", 15, summary());
        database.message("s", 30, user("And the rye"));
        let answer = json!({"role": "assistant", "content": "The rye is ground.", "finish_reason": "stop"});
        database.message("s", 31, answer);
        let expected = ("s".to_owned(), [Some(3), Some(1), Some(0), Some(1)]);
        assert_eq!(database.counts(), [expected], "{kept_at}");
        assert_eq!(only(&database.log()).status, Status::Success);
    }
}

/// Hermes marks what it writes in the place of the user. A correction while it works is typed.
#[test]
fn texts_of_the_runtime_are_no_prompts() {
    let mut database = Database::default();
    database.session("s", json!({}));
    let begins = |text: &str| user(&format!("{text} into the summary below."));
    database.message("s", 0, user("Grind the oats"));
    database.message("s", 1, begins("[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted"));
    database.message("s", 2, user("[Your active task list was preserved across context compression]\n- [ ] 1. Grind"));
    for (second, kind) in
        ["process_complete", "async_delegation_complete", "auto_continue", "hidden"].into_iter().enumerate()
    {
        let columns = json!({"role": "user", "content": "x", "display_kind": kind});
        database.message("s", 3 + i64::try_from(second).unwrap(), columns);
    }
    database.message("s", 10, json!({"role": "user", "content": "Finer", "display_kind": "steer"}));
    database.message("s", 11, json!({"role": "assistant", "content": "They are ground.", "finish_reason": "stop"}));
    // It asks for nothing.
    database.message("s", 12, json!({"role": "user", "content": "[Note]", "display_kind": "model_switch"}));
    let session = only(&database.log());
    let compactions = session.events.iter().filter(|event| event.kind == EventKind::Compaction).count();
    assert_eq!((session.prompts.len(), compactions, session.status), (2, 1, Status::Success));
}

/// Since schema 25 a system prompt is a row of its own, which several sessions can have.
#[test]
fn a_system_prompt_can_be_a_row() {
    let mut database = Database::default();
    let tools = json!(["terminal", "todo", "mcp__git__log"]);
    for id in ["a", "b"] {
        database.session(id, json!({"system_prompt_hash": "h", "tool_names": tools}));
    }
    database.session("c", json!({"system_prompt": "You are Hermes."}));
    database.session("d", json!({"system_prompt_hash": "gone"}));
    for (hash, prompt) in [("g", "x"), ("h", "You are Hermes.")] {
        database.rows.push(json!({"table": "system_prompts", "hash": hash, "prompt": prompt}));
    }
    let sessions = sessions(&database.log());
    let instructions: Vec<_> = sessions.iter().map(|session| session.offer.instructions).collect();
    let [first, second, third, fourth] = instructions[..] else { panic!("{instructions:?}") };
    assert_eq!((first.unwrap().bytes, first, first, fourth), (15, second, third, None));
    assert_eq!(sessions[0].offer.tools.as_ref().map(BTreeSet::len), Some(3));
}

/// The API server makes the id of a session from its first prompt: sessions of several profiles have the same one.
#[test]
fn prompts_and_turns_of_several_profiles_add_up() {
    const ID: &str = "api-1acbeb1e8217dd4e";
    let log = |start: f64, prompts: u32, tokens: u32| {
        let session = json!({
            "table": "sessions", "id": ID, "source": "api_server", "model": "kimi-k2.6", "end_reason": null, "started_at": start,
            "billing_provider": "openrouter", "reasoning_tokens": 0, "input_tokens": tokens, "output_tokens": 40,
            "cache_read_tokens": 0, "cache_write_tokens": 0, "api_call_count": prompts,
        });
        let message = |number: u32, role: &str| {
            json!({
                "table": "messages", "id": number, "session_id": ID, "timestamp": start + f64::from(number), "role": role,
                "content": "What is your role?", "finish_reason": null, "tool_calls": null,
            })
        };
        let messages =
            (0..prompts).flat_map(|number| [message(2 * number, "user"), message(2 * number + 1, "assistant")]);
        std::iter::once(session).chain(messages).map(|row| row.to_string()).collect::<Vec<_>>().join("\n")
    };
    let counts = |logs: &[String]| {
        let tables = tables(logs);
        let [row] = &tables.sessions[..] else { panic!("{}", tables.sessions.len()) };
        (row.tokens.input, row.turns, row.user_turns)
    };
    let (first, second) = (1_791_532_800.5, 1_791_619_200.5);
    assert_eq!(counts(&[log(first, 1, 900), log(second, 2, 700)]), (Some(1600), Some(3), Some(3)));
    // An older state of a database is a copy.
    assert_eq!(counts(&[log(first, 1, 900), log(first, 3, 2000)]), (Some(2000), Some(3), Some(3)));
    assert_eq!(counts(&[log(first, 3, 2000), log(second, 2, 700), log(first, 1, 900)]), (Some(2700), Some(5), Some(5)));
    // So is the document of the session, whose messages have no times.
    let document = json!({
        "session_id": ID, "platform": "api_server", "session_start": "2026-10-09T08:00:00", "last_updated": "2026-10-09T08:00:09",
        "messages": [{"role": "user", "content": "What is your role?"}, {"role": "assistant", "content": "I answer."}],
    });
    assert_eq!(counts(&[document.to_string()]), (None, Some(1), Some(1)));
    assert_eq!(counts(&[log(first, 1, 900), document.to_string()]), (Some(900), Some(1), Some(1)));
}

/// The text of a column can be cut.
#[test]
fn calls_that_cannot_be_read_are_named() {
    let call =
        |calls: Value| json!({"role": "assistant", "content": "", "finish_reason": "tool_calls", "tool_calls": calls});
    let whole = json!([{"id": "c1", "type": "function", "function": {"name": "web_search", "arguments": "{}"}}]);
    for (calls, expected) in [(whole, 0), (json!("[{\"id\": \"c1"), 1), (Value::Null, 0)] {
        let log = database(&[prompt(), call(calls)]);
        let rejects = parse(log.as_bytes()).health.rejects;
        assert_eq!(rejects.iter().map(|it| it.lines).sum::<i64>(), expected, "{rejects:?}");
    }
}
