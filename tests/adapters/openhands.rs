//! OpenHands' conversations: a directory with a file for each event is one session.

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::base::time::Time;
use agentlogs::model::session::{CallStatus, Operation};
use agentlogs::model::source::Source;
use agentlogs::model::tables::SessionRow;

use crate::{facts, settled};

fn session(id: &str) -> SessionRow {
    let tables = settled(facts(Retention::None));
    tables.sessions.into_iter().find(|it| it.session.session_id == id).unwrap()
}

#[test]
fn the_files_of_a_conversation_are_one_session() {
    let row = session("5e1f0a2b3c4d5e6f7a8b9c0d1e2f3a4b");
    assert_eq!((row.tokens.input, row.tokens.output, row.tokens.cache_read), (Some(3300), Some(70), Some(2900)));
    assert_eq!((row.turns, row.tool_calls, row.tool_errors, row.user_turns), (Some(2), Some(1), Some(0), Some(1)));
    let table = settled(facts(Retention::None)).tool_calls;
    let call = table.iter().find(|it| it.call.call_id == "call_H1").unwrap();
    assert_eq!((call.call.target.as_deref(), call.duration_ms()), (Some("make"), Some(3000)));
    assert_eq!((row.money.cost, row.session.status.as_str()), (Some(0.019), "success"));
    let earlier = session("barn-roof-0f3a");
    assert_eq!((earlier.tokens.input, earlier.turns, earlier.tool_errors), (Some(1200), Some(1), Some(1)));
    assert_eq!(earlier.session.status.as_str(), "error");
}

/// Events of Claude Code, which OpenHands runs by the Agent Client Protocol.
fn acp_events() -> Vec<String> {
    let event = |number: usize, rest: &str| {
        format!(r#"{{"id":"e{number}","timestamp":"2026-11-20T10:00:0{number}.000000",{rest}}}"#)
    };
    let call = |number: usize, id: &str, kind: &str, status: &str, more: &str| {
        let failed = status == "failed";
        let call = format!(r#""tool_call_id":"{id}","title":"A title","tool_kind":"{kind}","status":"{status}""#);
        event(number, &format!(r#""kind":"ACPToolCallEvent","source":"agent",{call},"is_error":{failed},{more}"#))
    };
    let test = r#""raw_input":{"command":"npm test"}"#;
    let diff = r#""raw_input":{"file_path":"/w/a.ts"},"content":[{"type":"diff","path":"/w/a.ts","old_text":"a","new_text":"b\nc"}]"#;
    let file = r#""raw_input":{},"content":[{"type":"diff","path":"/w/new.ts","old_text":null,"new_text":"b"}]"#;
    let said = r#""llm_message":{"role":"user","content":[{"type":"text","text":"Go."}]}"#;
    vec![
        event(0, &format!(r#""kind":"MessageEvent","source":"user",{said}"#)),
        call(1, "t1", "execute", "in_progress", test),
        call(2, "t1", "execute", "failed", &format!(r#"{test},"raw_output":{{"exit_code":1,"stdout":"1 failing"}}"#)),
        call(3, "t2", "edit", "pending", r#""raw_input":{}"#),
        call(4, "t2", "edit", "completed", diff),
        call(5, "t3", "think", "in_progress", r#""raw_input":{"subagent_type":"Explore"}"#),
        call(6, "t4", "read", "completed", r#""raw_input":{"file_path":"/w/b.ts"},"parent_tool_call_id":"t3""#),
        call(7, "t5", "edit", "completed", file),
        call(8, "t3", "think", "completed", r#""raw_input":{"subagent_type":"Explore"},"raw_output":"Found.""#),
    ]
}

/// The same conversation in one log, and with each event in a file of its own.
#[test]
fn calls_of_another_agent_are_calls() {
    let events = acp_events();
    let whole = settled(vec![Source {
        path: "log".to_owned(),
        sessions: super::sessions(&events.join("\n")),
        ..Source::default()
    }]);
    let files = events.iter().enumerate().map(|(number, event)| {
        let path = format!("/conversations/0123456789abcdef0123456789abcdef/events/event-{number}.json");
        Source { sessions: super::sessions_at(&path, event), path, ..Source::default() }
    });
    for tables in [whole, settled(files.collect())] {
        let [session] = &tables.sessions[..] else { panic!("{}", tables.sessions.len()) };
        assert_eq!((session.tool_calls, session.tool_errors, session.subagents), (Some(5), Some(1), Some(1)));
        let mut calls: Vec<_> = tables.tool_calls.iter().map(|row| &row.call).collect();
        calls.sort_by(|a, b| a.call_id.cmp(&b.call_id));
        let shown: Vec<_> =
            calls.iter().map(|it| (it.tool.as_str(), it.category.as_str(), it.status, it.target.as_deref())).collect();
        assert_eq!(
            shown,
            [
                ("execute", "shell", CallStatus::Error, Some("npm")),
                ("edit", "edit", CallStatus::Ok, Some("/w/a.ts")),
                ("think", "subagent", CallStatus::Ok, None),
                ("read", "read", CallStatus::Ok, Some("/w/b.ts")),
                ("edit", "write", CallStatus::Ok, Some("/w/new.ts")),
            ]
        );
        assert_eq!((calls[0].exit_code.get(), calls[0].occurred_at), (Some(1), Time::parse("2026-11-20T10:00:01Z")));
        assert_eq!(calls.iter().map(|it| it.is_subagent).collect::<Vec<_>>(), [false, false, false, true, false]);
        let mut changes: Vec<_> = tables.file_changes.iter().map(|it| &it.change).collect();
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        let shown: Vec<_> = changes.iter().map(|it| (it.path.as_str(), it.operation, it.lines_added)).collect();
        assert_eq!(shown, [("/w/a.ts", Some(Operation::Update), Some(2)), ("/w/new.ts", None, None)]);
    }
}

/// A state without the model that the other agent uses.
#[test]
fn a_placeholder_is_no_model() {
    let state = |model: &str| {
        let agent = format!(r#""agent":{{"kind":"ACPAgent","llm":{{"model":"{model}","usage_id":"acp-managed"}}}}"#);
        let log = format!(r#"{{"id":"c",{agent},"workspace":{{"working_dir":"/w"}},"execution_status":"finished"}}"#);
        super::sessions(&log)[0].model.as_deref().map(str::to_owned)
    };
    assert_eq!((state("acp-managed"), state("claude-sonnet-5").as_deref()), (None, Some("claude-sonnet-5")));
}

/// The file with a call does not show whether it changed a file: another one has its result.
#[test]
fn a_call_and_its_result_may_be_in_two_files() {
    let event = |number: usize, rest: &str| {
        let event = format!(r#"{{"id":"e{number}","timestamp":"2026-11-20T10:00:0{number}.000000",{rest}}}"#);
        let path = format!("/conversations/0123456789abcdef0123456789abcdef/events/event-{number}.json");
        Source { sessions: super::sessions_at(&path, &event), path, ..Source::default() }
    };
    let edit = |number: usize, id: &str| {
        let arguments = r#"{\"command\":\"str_replace\",\"path\":\"/w/a.py\",\"old_str\":\"a\",\"new_str\":\"b\"}"#;
        let call = format!(r#""tool_call":{{"id":"{id}","name":"file_editor","arguments":"{arguments}"}}"#);
        let action = r#""kind":"ActionEvent","source":"agent","llm_response_id":"r","tool_name":"file_editor""#;
        event(number, &format!(r#"{action},"tool_call_id":"{id}",{call}"#))
    };
    let result = |number: usize, id: &str, is_error: bool| {
        let observation = format!(r#""observation":{{"content":[],"is_error":{is_error}}}"#);
        let rest = format!(r#""tool_name":"file_editor","tool_call_id":"{id}",{observation}"#);
        event(number, &format!(r#""kind":"ObservationEvent","source":"environment",{rest}"#))
    };
    let tables =
        settled(vec![edit(1, "k1"), edit(2, "k2"), edit(3, "k3"), result(4, "k1", false), result(5, "k2", true)]);
    let changes: Vec<_> =
        tables.file_changes.iter().map(|it| (it.call_id.as_deref(), it.change.path.as_str())).collect();
    assert_eq!(changes, [(Some("k1"), "/w/a.py")]);
    assert!(
        tables.tool_calls.iter().all(|it| it.call.category == "edit" && it.call.target.as_deref() == Some("/w/a.py"))
    );
}
