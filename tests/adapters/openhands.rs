//! OpenHands' conversations: a directory with a file for each event is one session.

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::base::time::Time;
use agentlogs::model::session::{CallStatus, Operation};
use agentlogs::model::source::Source;
use agentlogs::model::tables::SessionRow;

use crate::{facts, reconciled};

fn session(id: &str) -> SessionRow {
    let tables = reconciled(facts(Retention::None));
    tables.sessions.into_iter().find(|it| it.session.session_id == id).unwrap()
}

#[test]
fn the_files_of_a_conversation_are_one_session() {
    let row = session("5e1f0a2b3c4d5e6f7a8b9c0d1e2f3a4b");
    assert_eq!((row.tokens.input, row.tokens.output, row.tokens.cache_read), (Some(3300), Some(70), Some(2900)));
    assert_eq!((row.turns, row.tool_calls, row.tool_errors, row.user_turns), (Some(2), Some(1), Some(0), Some(1)));
    let table = reconciled(facts(Retention::None)).tool_calls;
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
    let whole = reconciled(vec![Source {
        path: "log".to_owned(),
        sessions: super::sessions(&events.join("\n")),
        ..Source::default()
    }]);
    let files = events.iter().enumerate().map(|(number, event)| {
        let path = format!("/conversations/0123456789abcdef0123456789abcdef/events/event-{number}.json");
        Source { sessions: super::sessions_at(&path, event), path, ..Source::default() }
    });
    for tables in [whole, reconciled(files.collect())] {
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
        reconciled(vec![edit(1, "k1"), edit(2, "k2"), edit(3, "k3"), result(4, "k1", false), result(5, "k2", true)]);
    let changes: Vec<_> =
        tables.file_changes.iter().map(|it| (it.call_id.as_deref(), it.change.path.as_str())).collect();
    assert_eq!(changes, [(Some("k1"), "/w/a.py")]);
    assert!(
        tables.tool_calls.iter().all(|it| it.call.category == "edit" && it.call.target.as_deref() == Some("/w/a.py"))
    );
}

const PARENT: &str = "a0000000000000000000000000000001";
const CHILD: &str = "b0000000000000000000000000000002";

/// A request: the id of its response, the tokens of its prompt, its output and those from the cache, and its cost.
type Request<'a> = (&'a str, i64, i64, i64, f64);

/// The metrics of one use in a saved state.
fn saved(usage: &str, model: &str, requests: &[Request<'_>]) -> String {
    let sum = |of: fn(&Request<'_>) -> i64| requests.iter().map(of).sum::<i64>();
    let counts = |prompt: i64, output: i64, read: i64, id: &str| {
        let tokens = format!(r#""prompt_tokens":{prompt},"completion_tokens":{output},"cache_read_tokens":{read}"#);
        format!(
            r#"{{"model":"{model}",{tokens},"cache_write_tokens":0,"reasoning_tokens":0,"context_window":200000,"response_id":"{id}"}}"#
        )
    };
    let list = |of: &dyn Fn(&Request<'_>) -> String| requests.iter().map(of).collect::<Vec<_>>().join(",");
    let all = counts(sum(|it| it.1), sum(|it| it.2), sum(|it| it.3), "");
    let usages = list(&|it| counts(it.1, it.2, it.3, it.0));
    let costs = list(&|it| format!(r#"{{"model":"{model}","cost":{},"timestamp":1793181600.5}}"#, it.4));
    let latencies = list(&|it| format!(r#"{{"model":"{model}","latency":1.25,"response_id":"{}"}}"#, it.0));
    let cost: f64 = requests.iter().map(|it| it.4).sum();
    format!(
        r#""{usage}":{{"model_name":"{model}","accumulated_cost":{cost},"accumulated_token_usage":{all},"costs":[{costs}],"response_latencies":[{latencies}],"token_usages":[{usages}]}}"#
    )
}

fn state(id: &str, uses: &[String]) -> String {
    let agent = r#""agent":{"kind":"Agent","llm":{"model":"anthropic/claude-sonnet-4-5","usage_id":"agent"}}"#;
    let stats = format!(r#""stats":{{"usage_to_metrics":{{{}}}}}"#, uses.join(","));
    format!(r#"{{"id":"{id}",{agent},"workspace":{{"working_dir":"/w"}},"execution_status":"finished",{stats}}}"#)
}

fn file(path: &str, text: &str) -> Source {
    let path = format!("/conversations/{path}");
    Source { sessions: super::sessions_at(&path, text), path, ..Source::default() }
}

fn said(number: usize, source: &str, rest: &str) -> String {
    let head = format!(r#""id":"e{number}","timestamp":"2026-11-20T10:00:0{number}.000000","source":"{source}""#);
    format!(r#"{{{head},"kind":"MessageEvent",{rest}}}"#)
}

fn text(text: &str) -> String {
    format!(r#""llm_message":{{"role":"user","content":[{{"type":"text","text":"{text}"}}]}}"#)
}

const SONNET: &str = "anthropic/claude-sonnet-4-5";

/// A conversation with a subagent, of which its state has a copy of the sums, and a condensation.
fn parent_and_child() -> (Vec<Source>, Vec<Source>) {
    let own = saved("agent", SONNET, &[("r1", 1000, 100, 0, 0.01), ("r2", 1200, 50, 900, 0.02)]);
    let condenser = saved("condenser", "openai/gpt-5-mini", &[("k1", 300, 30, 0, 0.001)]);
    // The sum of several uses has no model of its own.
    let copy = saved("task:task_00000001", SONNET, &[("s1", 500, 20, 0, 0.005)]);
    let copy = copy.replacen(SONNET, "default", 1);
    let parent = vec![
        file(&format!("{PARENT}/base_state.json"), &state(PARENT, &[own, condenser, copy])),
        file(&format!("{PARENT}/events/event-00000-e0.json"), &said(0, "user", &text("Fix it"))),
        file(
            &format!("{PARENT}/events/event-00001-e1.json"),
            &said(1, "agent", &format!(r#"{},"llm_response_id":"r1""#, text("I look."))),
        ),
        file(
            &format!("{PARENT}/events/event-00002-e2.json"),
            &said(2, "agent", &format!(r#"{},"llm_response_id":"r2""#, text("Done."))),
        ),
    ];
    let directory = format!("{PARENT}/subagents/{CHILD}");
    let child = vec![
        file(
            &format!("{directory}/base_state.json"),
            &state(CHILD, &[saved("agent", SONNET, &[("s1", 500, 20, 0, 0.005)])]),
        ),
        file(&format!("{directory}/events/event-00000-e0.json"), &said(0, "user", &text("Look"))),
        file(
            &format!("{directory}/events/event-00001-e1.json"),
            &said(1, "agent", &format!(r#"{},"llm_response_id":"s1""#, text("Seen."))),
        ),
    ];
    (parent, child)
}

#[test]
fn a_subagent_counts_once() {
    let (parent, child) = parent_and_child();
    let sum = |tables: &agentlogs::model::tables::Tables| -> Option<i64> {
        tables.sessions.iter().map(|row| row.tokens.total()).sum()
    };
    let tables = reconciled(parent.into_iter().chain(child).collect());
    assert_eq!(sum(&tables), Some(1100 + 1250 + 330 + 520));
    let child = tables.sessions.iter().find(|row| row.session.session_id == CHILD).unwrap();
    assert_eq!(child.session.parent_session_id.as_deref(), Some(PARENT));
    assert_eq!((child.user_turns, child.turns, child.money.cost), (Some(0), Some(1), Some(0.005)));
    // Without the log of the subagent, the copy is all that is known of it.
    let (parent, _) = parent_and_child();
    let tables = reconciled(parent);
    let [row] = &tables.sessions[..] else { panic!("{}", tables.sessions.len()) };
    assert_eq!(
        (row.tokens.input, row.tokens.output, row.tokens.cache_read),
        (Some(1000 + 300 + 300 + 500), Some(200), Some(900))
    );
    assert_eq!(row.usage.as_str(), "exact");
}

/// The log of one subagent is not that of another one.
#[test]
fn the_sum_of_a_subagent_counts_without_its_log() {
    let sums = |tables: &agentlogs::model::tables::Tables| -> Vec<_> {
        let of_row = |row: &SessionRow| (row.tokens.total(), row.usage.as_str());
        tables.sessions.iter().map(of_row).collect()
    };
    let other = saved("task:task_00000002", SONNET, &[("t1", 700, 30, 0, 0.007)]);
    let with_two = || {
        let (mut parent, child) = parent_and_child();
        let own = saved("agent", SONNET, &[("r1", 1000, 100, 0, 0.01), ("r2", 1200, 50, 900, 0.02)]);
        let first = saved("task:task_00000001", SONNET, &[("s1", 500, 20, 0, 0.005)]);
        parent[0] = file(&format!("{PARENT}/base_state.json"), &state(PARENT, &[own, first, other.clone()]));
        (parent, child)
    };
    let (parent, child) = with_two();
    let tables = reconciled(parent.into_iter().chain(child).collect());
    assert_eq!(sums(&tables), [(Some(2350 + 730), "exact"), (Some(520), "exact")]);
    // A log that was cut has a part of its sum.
    let (parent, mut child) = with_two();
    let cut = state(CHILD, &[saved("agent", SONNET, &[("s1", 5, 2, 0, 0.0005)])]);
    child[0] = file(&format!("{PARENT}/subagents/{CHILD}/base_state.json"), &cut);
    let tables = reconciled(parent.into_iter().chain(child).collect());
    assert_eq!(sums(&tables), [(Some(2350 + 730 + 513), "conflict"), (Some(7), "exact")]);
}

#[test]
fn the_state_lists_the_requests() {
    let (parent, child) = parent_and_child();
    let tables = reconciled(parent.into_iter().chain(child).collect());
    let index = tables.sessions.iter().position(|row| row.session.session_id == PARENT).unwrap();
    let rows = tables.turns.iter().filter(|row| row.session == index);
    let shown: Vec<_> = rows
        .map(|row| {
            let tokens = row.turn.tokens.get();
            let cost = row.turn.cost.as_deref().map(|cost| cost.total);
            (row.turn.message_id.as_deref(), row.turn.model.as_deref(), tokens.input, cost, row.turn.duration_ms.get())
        })
        .collect();
    assert_eq!(
        shown,
        [
            (Some("r1"), Some(SONNET), Some(1000), Some(0.01), Some(1250)),
            (Some("r2"), Some(SONNET), Some(300), Some(0.02), Some(1250)),
            (Some("k1"), Some("openai/gpt-5-mini"), Some(300), Some(0.001), Some(1250)),
        ]
    );
    assert_eq!(tables.sessions[index].user_turns, Some(1));
}

/// Another program that runs the agent names its session in each request, and its prompts do not include cached tokens.
#[test]
fn requests_of_one_id_are_several() {
    let uses = saved("acp-managed", SONNET, &[("acp-1", 10, 5, 900, 0.01), ("acp-1", 700, 5, 600, 0.02)]);
    let tables = reconciled(vec![file(&format!("{PARENT}/base_state.json"), &state(PARENT, &[uses]))]);
    let [row] = &tables.sessions[..] else { panic!("{}", tables.sessions.len()) };
    assert_eq!((row.turns, row.tokens.input, row.tokens.cache_read), (Some(2), Some(710), Some(1500)));
    assert_eq!((tables.turns.len(), row.money.cost), (2, Some(0.03)));
}

/// A cost of 0 has no entry, so that the costs of the other requests are not known.
#[test]
fn fewer_costs_than_requests_are_those_of_none() {
    let uses = saved("agent", SONNET, &[("r1", 10, 5, 0, 0.01), ("r2", 20, 5, 0, 0.0)]);
    let uses = uses.replace(r#",{"model":"anthropic/claude-sonnet-4-5","cost":0,"timestamp":1793181600.5}"#, "");
    let tables = reconciled(vec![file(&format!("{PARENT}/base_state.json"), &state(PARENT, &[uses]))]);
    assert_eq!(tables.turns.iter().filter(|row| row.turn.message_id.is_some()).count(), 2);
    assert!(tables.turns.iter().all(|row| row.turn.message_id.is_none() || row.turn.cost.is_none()));
    assert_eq!(tables.sessions[0].money.cost, Some(0.01));
}

/// Sums of the agent and of a subagent grow in one event: the response is the agent's.
#[test]
fn a_response_is_what_the_agent_s_own_use_grew_by() {
    let stats = |number: usize, uses: &str| {
        let head =
            format!(r#""id":"e{number}","timestamp":"2026-11-20T10:00:0{number}.000000","source":"environment""#);
        format!(
            r#"{{{head},"kind":"ConversationStateUpdateEvent","key":"stats","value":{{"usage_to_metrics":{{{uses}}}}}}}"#
        )
    };
    let sum = |usage: &str, model: &str, prompt: i64, output: i64| {
        let tokens = format!(r#""prompt_tokens":{prompt},"completion_tokens":{output}"#);
        format!(r#""{usage}":{{"model_name":"{model}","accumulated_cost":0.0,"accumulated_token_usage":{{{tokens}}}}}"#)
    };
    let answer = |number, id: &str| said(number, "agent", &format!(r#"{},"llm_response_id":"{id}""#, text("Yes.")));
    for usage in ["agent", "my-agent"] {
        let first = sum(usage, SONNET, 1000, 10);
        let second = [sum(usage, SONNET, 2100, 30), sum("task:task_00000001", "openai/gpt-5-mini", 900, 90)].join(",");
        let log = [
            r#"{"id":"e0","timestamp":"2026-11-20T10:00:00.000000","source":"agent","kind":"SystemPromptEvent","system_prompt":{"text":"x"},"tools":[]}"#.to_owned(),
            stats(1, &first),
            answer(2, "r1"),
            stats(3, &second),
            answer(4, "r2"),
        ];
        let sessions = super::sessions(&log.join("\n"));
        let [session] = &sessions[..] else { panic!("{}", sessions.len()) };
        let shown: Vec<_> = session
            .turns
            .iter()
            .map(|it| (it.model.as_deref(), it.tokens.get().input, it.tokens.get().output))
            .collect();
        assert_eq!(shown, [(Some(SONNET), Some(1000), Some(10)), (Some(SONNET), Some(1100), Some(20))], "{usage}");
        let tables = reconciled(vec![Source { path: "log".to_owned(), sessions, ..Source::default() }]);
        assert_eq!(tables.sessions[0].tokens.total(), Some(2130 + 990));
    }
}

#[test]
fn only_what_a_human_typed_is_a_prompt() {
    let user_turns = |messages: &[String]| {
        let tables = reconciled(vec![Source {
            path: "log".to_owned(),
            sessions: super::sessions(&messages.join("\n")),
            ..Source::default()
        }]);
        tables.sessions[0].user_turns
    };
    let prompt = || said(0, "user", &text("Make all tests pass"));
    for of_program in [
        "The goal is NOT yet complete (audit iteration 1).\\nOutstanding: the tests",
        "Resuming a goal that was paused or interrupted. Re-check the state.",
        "<<RESUMED CONVERSATION>>\\nIt was lost.\\n\\n[USER]: Go\\n\\n--- End of prior session ---",
        "Your previous response was blocked by the content filter.",
    ] {
        assert_eq!(user_turns(&[prompt(), said(1, "user", &text(of_program))]), Some(1), "{of_program}");
    }
    let with_more = text("<<RESUMED CONVERSATION>>\\n[USER]: Go\\n\\n--- End of prior session ---\\n\\nAnd now?");
    assert_eq!(user_turns(&[prompt(), said(1, "user", &with_more)]), Some(2));
    let of_agent = format!(r#"{},"sender":"Planner""#, text("Look"));
    assert_eq!(user_turns(&[prompt(), said(1, "user", &of_agent)]), Some(1));
}

#[test]
fn an_interrupt_cancels_calls() {
    let action = r#"{"id":"e1","timestamp":"2026-11-20T10:00:01.000000","source":"agent","kind":"ActionEvent","tool_name":"terminal","tool_call_id":"c1","tool_call":{"id":"c1","arguments":"{}"},"llm_response_id":"r1"}"#;
    for (error, status) in [
        ("Tool call interrupted before completion. The conversation was paused.", CallStatus::Cancelled),
        ("Tool call cancelled by interrupt.", CallStatus::Cancelled),
        ("Error executing tool 'terminal': no", CallStatus::Error),
    ] {
        let end = r#"{"id":"e2","timestamp":"2026-11-20T10:00:02.000000","source":"agent","kind":"AgentErrorEvent","tool_name":"terminal","tool_call_id":"c1""#;
        let log = format!("{action}\n{end},\"error\":\"{error}\"}}");
        assert_eq!(super::sessions(&log)[0].tool_calls[0].status, status, "{error}");
    }
}

#[test]
fn an_interrupt_pauses_a_conversation_and_aborts_it() {
    let head = r#""timestamp":"2026-11-20T10:00:01.000000","source":"environment""#;
    let interrupt = format!(r#"{{"id":"e1",{head},"kind":"InterruptEvent"}}"#);
    let paused = format!(
        r#"{{"id":"e2",{head},"kind":"ConversationStateUpdateEvent","key":"execution_status","value":"paused"}}"#
    );
    let status = |log: String| super::sessions(&log)[0].status.as_str();
    assert_eq!(status(format!("{interrupt}\n{paused}")), "aborted");
    assert_eq!(status(paused), "incomplete");
}

/// Events of an evaluation state the sums of each use, and its result those of all.
#[test]
fn an_evaluation_states_its_sums_once() {
    let tokens = r#""accumulated_token_usage":{"prompt_tokens":900,"completion_tokens":90}"#;
    let stats = format!(r#"{{"usage_to_metrics":{{"agent":{{"model_name":"m","accumulated_cost":0.5,{tokens}}}}}}}"#);
    let event = format!(
        r#"{{"id":"e1","timestamp":"2026-11-20T10:00:01.000000","source":"environment","kind":"ConversationStateUpdateEvent","key":"stats","value":{stats}}}"#
    );
    let log = format!(
        r#"{{"instance_id":"i","history":[{event}],"metrics":{{"model_name":"default","accumulated_cost":0.5,{tokens}}},"metadata":{{"llm":{{"model":"m"}}}}}}"#
    );
    let tables =
        reconciled(vec![Source { path: "log".to_owned(), sessions: super::sessions(&log), ..Source::default() }]);
    assert_eq!((tables.sessions[0].tokens.total(), tables.sessions[0].money.cost), (Some(990), Some(0.5)));
}

/// An event before 1.0: an action of the agent, and its result.
fn event_before_1(number: usize, rest: &str) -> String {
    format!(r#"{{"id":{number},"timestamp":"2026-11-20T10:00:0{number}.000000","source":"agent",{rest}}}"#)
}

/// The response that events before 1.0 repeat.
fn repeated(call: &str, id: &str, usage: &str) -> String {
    let response = format!(r#"{{"id":"{id}","model":"claude-sonnet-4-5","usage":{usage}}}"#);
    format!(
        r#""tool_call_metadata":{{"function_name":"execute_bash","tool_call_id":"{call}","model_response":{response}}}"#
    )
}

/// The model and the tokens of a response.
type Response = (String, [Option<i64>; 4]);

/// The responses of a session, its number of turns, its cost and the certainty of its tokens.
fn responses_before_1(log: &str) -> (Vec<Response>, Option<i64>, Option<f64>, &'static str) {
    let tables =
        reconciled(vec![Source { path: "log".to_owned(), sessions: super::sessions(log), ..Source::default() }]);
    let [row] = &tables.sessions[..] else { panic!("{}", tables.sessions.len()) };
    let model = |turn: &agentlogs::model::session::Turn| turn.model.as_deref().unwrap_or_default().to_owned();
    let turns = tables.turns.iter().map(|it| (model(&it.turn), it.turn.tokens.get().kinds()));
    let cost = row.money.cost.map(|cost| (cost * 1e6).round() / 1e6);
    (turns.collect(), row.turns, cost, row.usage.as_str())
}

/// Versions of 2025 have no running total of tokens. Each event lists its own request, and a message names its response only there.
#[test]
fn an_event_lists_its_own_request() {
    let usage = r#"{"prompt_tokens":5214,"completion_tokens":104,"prompt_tokens_details":{"cached_tokens":5210},"cache_creation_input_tokens":148,"cache_read_input_tokens":5210}"#;
    let metrics = |cost: f64, id: &str, [prompt, output, read, write]: [i64; 4]| {
        let tokens = format!(
            r#""prompt_tokens":{prompt},"completion_tokens":{output},"cache_read_tokens":{read},"cache_write_tokens":{write}"#
        );
        format!(
            r#""llm_metrics":{{"accumulated_cost":{cost},"costs":[],"response_latencies":[],"token_usages":[{{"model":"anthropic/claude-sonnet-4-5",{tokens},"response_id":"{id}"}}]}}"#
        )
    };
    let run = r#""action":"run","args":{"command":"ls"}"#;
    let log = [
        r#"{"id":0,"timestamp":"2026-11-20T10:00:00.000000","source":"user","action":"message","args":{"content":"Go"}}"#.to_owned(),
        event_before_1(1, &format!("{},{},{run}", repeated("c1", "r1", usage), metrics(0.004, "r1", [5214, 104, 5210, 148]))),
        event_before_1(2, &format!(r#"{},"cause":1,"observation":"run","content":"a""#, repeated("c1", "r1", usage))),
        event_before_1(3, &format!(r#"{},"action":"message","args":{{"content":"Done"}}"#, metrics(0.007, "r2", [300, 20, 100, 50]))),
    ];
    let model = "anthropic/claude-sonnet-4-5";
    let (mut turns, count, cost, usage) = responses_before_1(&format!("[{}]", log.join(",")));
    turns.truncate(2);
    assert_eq!(
        turns,
        [
            (model.to_owned(), [Some(4), Some(104), Some(5210), Some(148)]),
            (model.to_owned(), [Some(150), Some(20), Some(100), Some(50)]),
        ]
    );
    assert_eq!((count, cost, usage), (Some(2), Some(0.007), "exact"));
}

/// Older versions have no metrics in their events: the response has its usage. Parallel calls are one response.
#[test]
fn a_response_before_1_states_its_usage() {
    let usage = r#"{"prompt_tokens":1000,"completion_tokens":30,"prompt_tokens_details":{"cached_tokens":400},"completion_tokens_details":{"reasoning_tokens":10}}"#;
    let run = r#""action":"run","args":{"command":"ls"}"#;
    let log = [
        r#"{"id":0,"timestamp":"2026-11-20T10:00:00.000000","source":"user","action":"message","args":{"content":"Go"}}"#.to_owned(),
        event_before_1(1, &format!("{},{run}", repeated("c1", "r1", usage))),
        event_before_1(2, &format!("{},{run}", repeated("c2", "r1", usage))),
        event_before_1(3, &format!(r#"{},"cause":1,"observation":"run","content":"a""#, repeated("c1", "r1", usage))),
    ];
    let (turns, count, ..) = responses_before_1(&format!("[{}]", log.join(",")));
    let response = ("claude-sonnet-4-5".to_owned(), [Some(600), Some(30), Some(400), None]);
    assert_eq!((turns, count), (vec![response.clone()], Some(1)));
    // Each event in a file of its own.
    let file = |(number, event): (usize, &String)| {
        let path = format!("/sessions/barn/events/{number}.json");
        Source { sessions: super::sessions_at(&path, event), path, ..Source::default() }
    };
    let tables = reconciled(log.iter().enumerate().map(file).collect());
    let tokens: Vec<_> = tables.turns.iter().map(|it| it.turn.tokens.get().kinds()).collect();
    assert_eq!(tokens, [response.1]);
    // A running total contains it.
    let total = r#""llm_metrics":{"accumulated_cost":0.1,"accumulated_token_usage":{"prompt_tokens":900,"completion_tokens":30}}"#;
    let with_total = log.join(",").replacen(run, &format!("{run},{total}"), 1);
    let (turns, ..) = responses_before_1(&format!("[{with_total}]"));
    assert_eq!(turns[0].1, [Some(900), Some(30), None, None]);
}

/// The first running total contains the usage that responses before it stated, also if their events list no metrics.
#[test]
fn the_first_running_total_contains_earlier_usage() {
    let run = r#""action":"run","args":{"command":"ls"}"#;
    let usage = |prompt: i64| format!(r#"{{"prompt_tokens":{prompt},"completion_tokens":{}}}"#, prompt / 100);
    let total = |prompt: i64| {
        let tokens = format!(r#""prompt_tokens":{prompt},"completion_tokens":{}"#, prompt / 100);
        format!(r#""llm_metrics":{{"accumulated_cost":0.1,"accumulated_token_usage":{{{tokens}}}}}"#)
    };
    let listed = r#""llm_metrics":{"accumulated_cost":0.1,"token_usages":[{"prompt_tokens":1000,"completion_tokens":10,"response_id":"r1"}]}"#;
    let prompt = r#"{"id":0,"timestamp":"2026-11-20T10:00:00.000000","source":"user","action":"message","args":{"content":"Go"}}"#;
    let first = |rest: &str| event_before_1(1, &format!("{}{rest},{run}", repeated("c1", "r1", &usage(1000))));
    let second = |call: &str, id: &str, prompt: i64| {
        event_before_1(2, &format!("{},{},{run}", repeated(call, id, &usage(2000)), total(prompt)))
    };
    let third = event_before_1(3, &format!("{},{},{run}", repeated("c3", "r3", &usage(4000)), total(7000)));
    let cases = [
        ("without metrics", vec![first(""), second("c2", "r2", 3000), third.clone()], vec![1000, 2000, 4000]),
        ("a list", vec![first(&format!(",{listed}")), second("c2", "r2", 3000), third], vec![1000, 2000, 4000]),
        ("another call of the response", vec![first(""), second("c2", "r1", 1000)], vec![1000]),
    ];
    for (name, events, expected) in cases {
        let log = format!("[{prompt},{}]", events.join(","));
        // What is left of the total follows the turns.
        let (turns, count, _, certainty) = responses_before_1(&log);
        let input: Vec<_> = turns.iter().take(expected.len()).filter_map(|(_, tokens)| tokens[0]).collect();
        assert_eq!((input, count), (expected.clone(), i64::try_from(expected.len()).ok()), "{name}");
        assert_ne!(certainty, "conflict", "{name}");
    }
}

/// The sum shows that the prompts contain what was read from the cache, and not what was written to it.
#[test]
fn prompts_can_contain_reads_but_not_writes() {
    let uses = saved("agent", SONNET, &[("r1", 900, 5, 0, 0.01), ("r2", 1000, 5, 900, 0.02)]);
    let uses = uses.replace(
        r#""cache_write_tokens":0,"reasoning_tokens":0,"context_window":200000,"response_id":"""#,
        r#""cache_write_tokens":1600,"reasoning_tokens":0,"context_window":200000,"response_id":"""#,
    );
    let uses = uses.replace(r#""cache_write_tokens":0"#, r#""cache_write_tokens":800"#);
    let tables = reconciled(vec![file(&format!("{PARENT}/base_state.json"), &state(PARENT, &[uses]))]);
    let [row] = &tables.sessions[..] else { panic!("{}", tables.sessions.len()) };
    assert_eq!((row.tokens.input, row.tokens.cache_read, row.tokens.cache_write), (Some(1000), Some(900), Some(1600)));
    assert_eq!(row.usage.as_str(), "exact");
}
