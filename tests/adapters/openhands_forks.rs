//! Forks of OpenHands' conversations, which copy the files of their events.

use agentlogs::model::source::{Source, SourceStatus};
use agentlogs::model::tables::Tables;

use super::sessions_at;
use crate::reconciled;

const EARLY: &str = "a0000000000000000000000000000001";
const LATE: &str = "c0000000000000000000000000000003";
const MIDDLE: &str = "b0000000000000000000000000000002";

/// A file of a conversation. Equal files have equal hashes.
fn file(conversation: &str, name: &str, text: &str) -> Source {
    let path = format!("/conversations/{conversation}/{name}");
    Source {
        sessions: sessions_at(&path, text),
        path,
        content_hash: Some(text.to_owned()),
        status: SourceStatus::Parsed,
        ..Source::default()
    }
}

fn event(number: u32, source: &str, rest: &str) -> (String, String) {
    let id = format!("e0000000-0000-4000-8000-0000000000{number:02}");
    let head = format!(r#""id":"{id}","timestamp":"2026-08-20T10:00:{number:02}.000000","source":"{source}""#);
    (format!("events/event-000{number:02}-{id}.json"), format!("{{{head},{rest}}}"))
}

fn said(number: u32, source: &str, response: &str) -> (String, String) {
    let message = r#""kind":"MessageEvent","llm_message":{"role":"user","content":[{"type":"text","text":"Fix it"}]}"#;
    let response = if response.is_empty() { String::new() } else { format!(r#","llm_response_id":"{response}""#) };
    event(number, source, &format!("{message}{response}"))
}

/// A prompt, a call, its result and an answer: the responses have short ids, which servers of local models give to many.
fn exchange(number: u32, responses: [&str; 2]) -> Vec<(String, String)> {
    let call = format!(r#""tool_name":"terminal","tool_call_id":"call_{number}""#);
    vec![
        said(number, "user", ""),
        event(
            number + 1,
            "agent",
            &format!(
                r#""kind":"ActionEvent","llm_response_id":"{}",{call},"tool_call":{{"id":"call_{number}","name":"terminal","arguments":"{{\"command\":\"make\"}}"}}"#,
                responses[0]
            ),
        ),
        event(
            number + 2,
            "environment",
            &format!(
                r#""kind":"ObservationEvent",{call},"observation":{{"content":[],"is_error":false,"exit_code":0}}"#
            ),
        ),
        said(number + 3, "agent", responses[1]),
    ]
}

/// The saved state, with the requests of these responses: the prompt of each is its place.
fn state(id: &str, requests: &[(&str, u32)]) -> (String, String) {
    let list = |of: &dyn Fn(&(&str, u32)) -> String| requests.iter().map(of).collect::<Vec<_>>().join(",");
    let usages = list(&|(id, input)| {
        format!(r#"{{"model":"m","prompt_tokens":{input},"completion_tokens":1,"response_id":"{id}"}}"#)
    });
    let costs = list(&|_| r#"{"model":"m","cost":0.01}"#.to_owned());
    let input: u32 = requests.iter().map(|it| it.1).sum();
    let output = requests.len();
    let cost = 0.01 * f64::from(u32::try_from(output).unwrap());
    let metrics = format!(
        r#""model_name":"m","accumulated_cost":{cost},"accumulated_token_usage":{{"model":"m","prompt_tokens":{input},"completion_tokens":{output}}},"costs":[{costs}],"token_usages":[{usages}]"#
    );
    let agent = r#""agent":{"kind":"Agent","llm":{"model":"m","usage_id":"default"}},"workspace":{"working_dir":"/w"}"#;
    let stats = format!(r#""stats":{{"usage_to_metrics":{{"default":{{{metrics}}}}}}}"#);
    ("base_state.json".to_owned(), format!(r#"{{"id":"{id}",{agent},"execution_status":"finished",{stats}}}"#))
}

fn files(id: &str, events: &[(String, String)], requests: &[(&str, u32)]) -> Vec<Source> {
    let all = events.iter().cloned().chain([state(id, requests)]);
    all.map(|(name, text)| file(id, &name, &text)).collect()
}

/// The id of a session, and the numbers of its prompts, turns, calls and tokens.
type Row<'a> = (&'a str, [Option<i64>; 4]);

fn rows(tables: &Tables) -> Vec<Row<'_>> {
    let mut rows: Vec<_> = (tables.sessions.iter())
        .map(|row| (&*row.session.session_id, [row.user_turns, row.turns, row.tool_calls, row.tokens.total()]))
        .collect();
    rows.sort_unstable();
    rows
}

/// A fork copies the events of its source, by default with new counts, and with those of its source if it was asked for. Each response,
/// prompt and call counts in the source, whichever id is the smaller one.
#[test]
fn a_fork_counts_only_what_it_added() {
    let (first, second) = (exchange(10, ["r1", "r2"]), exchange(30, ["r3", "r4"]));
    let both = [&first[..], &second].concat();
    let (own, added) = ([("r1", 1000), ("r2", 1200)], [("r3", 1500), ("r4", 1700)]);
    let copied = [&own[..], &added].concat();
    for source in [EARLY, LATE] {
        for counts in [&added[..], &copied] {
            let logs = [files(source, &first, &own), files(MIDDLE, &both, counts)].concat();
            let tables = reconciled(logs);
            let mut expected =
                [(source, [Some(1), Some(2), Some(1), Some(2202)]), (MIDDLE, [Some(1), Some(2), Some(1), Some(3202)])];
            expected.sort_unstable();
            assert_eq!(rows(&tables), expected, "{} requests", counts.len());
            let cost: f64 = tables.sessions.iter().filter_map(|row| row.money.cost).sum();
            assert!((cost - 0.04).abs() < 1e-9, "{cost}");
            let fork = tables.sessions.iter().find(|row| row.session.session_id == MIDDLE).unwrap();
            assert_eq!(fork.session.parent_session_id.as_deref(), Some(source));
        }
    }
}

/// Some servers give the same ids to responses of each conversation.
#[test]
fn ids_of_responses_are_those_of_a_conversation() {
    let logs = [
        files(EARLY, &exchange(10, ["r1", "r2"]), &[("r1", 1000), ("r2", 1200)]),
        files(MIDDLE, &exchange(50, ["r1", "r2"]), &[("r1", 1000), ("r2", 1200)]),
    ];
    let expected = [EARLY, MIDDLE].map(|id| (id, [Some(1), Some(2), Some(1), Some(2202)]));
    assert_eq!(rows(&reconciled(logs.concat())), expected);
}
