//! What a session contains of Codex's paginated histories, and of the scripts of code mode.

use agentlogs::model::errors::ErrorKind;
use agentlogs::model::session::{CallStatus, CommandKind, EventKind, SessionResult, Status};

use super::{sessions, tables};

mod counts;

/// A log whose records have numbers and times, one second apart.
struct Log {
    lines: Vec<String>,
    first: usize,
}

impl Log {
    fn of(meta: &str) -> Self {
        Self::from(0, meta)
    }

    /// A log that continues another one, whose records it does not repeat.
    fn from(first: usize, meta: &str) -> Self {
        let log = Self { lines: Vec::new(), first };
        log.record("session_meta", &format!(r#"{{"history_mode":"paginated",{meta}}}"#))
    }

    fn record(mut self, kind: &str, payload: &str) -> Self {
        let ordinal = self.first + self.lines.len();
        let (minute, second) = (ordinal / 60, ordinal % 60);
        self.lines.push(format!(
            r#"{{"timestamp":"2026-10-07T08:{minute:02}:{second:02}.000Z","ordinal":{ordinal},"type":"{kind}","payload":{payload}}}"#
        ));
        self
    }

    fn event(self, payload: &str) -> Self {
        self.record("event_msg", payload)
    }

    fn response(self, payload: &str) -> Self {
        self.record("response_item", payload)
    }

    fn item(self, item: &str) -> Self {
        self.event(&format!(r#"{{"type":"item_completed","thread_id":"t","turn_id":"1","item":{item}}}"#))
    }

    fn start(self) -> Self {
        self.task("1")
    }

    fn task(self, turn: &str) -> Self {
        self.event(&format!(r#"{{"type":"task_started","turn_id":"{turn}"}}"#))
    }

    fn said(self, text: &str) -> Self {
        self.event(&format!(r#"{{"type":"user_message","message":"{text}"}}"#))
    }

    fn end(self) -> Self {
        self.event(r#"{"type":"task_complete","turn_id":"1","last_agent_message":"Done."}"#)
    }

    fn prompt(self, id: &str, text: &str) -> Self {
        self.item(&format!(r#"{{"type":"UserMessage","id":"{id}","content":[{{"type":"text","text":"{text}"}}]}}"#))
    }

    fn count(self, total: i64, last: i64) -> Self {
        let usage = |input: i64| {
            format!(r#"{{"input_tokens":{input},"cached_input_tokens":0,"output_tokens":0,"total_tokens":{input}}}"#)
        };
        self.event(&format!(
            r#"{{"type":"token_count","info":{{"total_token_usage":{},"last_token_usage":{}}}}}"#,
            usage(total),
            usage(last)
        ))
    }

    fn script(self, id: &str, script: &str) -> Self {
        let script = serde_json::to_string(script).unwrap();
        self.response(&format!(r#"{{"type":"custom_tool_call","name":"exec","call_id":"{id}","input":{script}}}"#))
    }

    fn output(self, id: &str, texts: &[&str]) -> Self {
        let parts: Vec<_> = texts
            .iter()
            .map(|text| format!(r#"{{"type":"input_text","text":{}}}"#, serde_json::to_string(text).unwrap()))
            .collect();
        let parts = parts.join(",");
        self.response(&format!(r#"{{"type":"custom_tool_call_output","call_id":"{id}","output":[{parts}]}}"#))
    }

    fn ran(self, id: &str, command: &str, exit_code: i64) -> Self {
        let status = if exit_code == 0 { "completed" } else { "failed" };
        self.item(&format!(
            r#"{{"type":"CommandExecution","id":"{id}","command":["/bin/bash","-lc","{command}"],"status":"{status}","exit_code":{exit_code},"duration":{{"secs":2,"nanos":0}}}}"#
        ))
    }

    fn text(&self) -> String {
        self.lines.join("\n")
    }

    fn session(&self) -> SessionResult {
        sessions(&self.text()).swap_remove(0)
    }
}

const COMPLETED: &str = "Script completed\nWall time 1.5 seconds\nOutput:\n";
const FAILED: &str = "Script failed\nWall time 0.1 seconds\nOutput:\n";

fn user_turns(log: &Log) -> Option<i64> {
    tables(&[log.text()]).sessions[0].user_turns
}

#[test]
fn a_prompt_is_an_item_or_an_event() {
    let event = r#"{"type":"user_message","message":"a"}"#;
    let prompt = |log: Log| log.prompt("i1", "a");
    let log = || Log::of(r#""id":"t""#).start();
    for (name, log, expected) in [
        ("items", prompt(log()).prompt("i2", "a"), 2),
        ("an item, then the event of it", prompt(log()).event(event), 1),
        ("the event, then its item", prompt(log().event(event)), 1),
        ("two prompts in both forms", prompt(log()).event(event).prompt("i2", "a").event(event), 2),
        ("prompts of two tasks", prompt(log()).end().start().event(event), 2),
    ] {
        assert_eq!(user_turns(&log), Some(expected), "{name}");
    }
}

#[test]
fn prompts_of_programs_are_not_typed() {
    for source in [
        r#""source":{"subagent":{"other":"guardian"}}"#,
        r#""source":{"subagent":"review"}"#,
        r#""source":{"subagent":{"thread_spawn":{"parent_thread_id":"p","depth":1}}}"#,
        r#""source":"cli","thread_source":"subagent""#,
    ] {
        let log = Log::of(&format!(r#""id":"t",{source}"#)).start().prompt("i1", "a");
        assert_eq!(user_turns(&log.event(r#"{"type":"user_message","message":"b"}"#)), Some(0), "{source}");
    }
    let log = Log::of(r#""id":"t","source":"cli","thread_source":"user""#).start().prompt("i1", "a");
    assert_eq!(user_turns(&log), Some(1));
}

/// The conversation is in the log of the other runtime.
#[test]
fn an_imported_conversation_is_not_counted() {
    let log = Log::of(r#""id":"t""#)
        .event(r#"{"type":"task_started","turn_id":"external-import-turn-1"}"#)
        .event(r#"{"type":"user_message","message":"imported"}"#)
        .event(r#"{"type":"task_complete","turn_id":"external-import-turn-1"}"#);
    assert_eq!((user_turns(&log), log.session().status), (Some(0), Status::Unknown));
    let log = log.start().prompt("i1", "own").count(10, 10).end();
    assert_eq!((user_turns(&log), log.session().status), (Some(1), Status::Success));
}

#[test]
fn a_failed_task_has_the_kind_of_its_error() {
    for (info, kind, code) in [
        (r#""usage_limit_exceeded""#, "rate_limit", Some("usage_limit_exceeded")),
        (r#""context_window_exceeded""#, "context_overflow", Some("context_window_exceeded")),
        (r#""session_budget_exceeded""#, "budget", Some("session_budget_exceeded")),
        (r#""server_overloaded""#, "overloaded", Some("server_overloaded")),
        (r#""unauthorized""#, "auth", Some("unauthorized")),
        (r#""internal_server_error""#, "other", Some("internal_server_error")),
        (r#""cyber_policy""#, "other", Some("cyber_policy")),
        (r#"{"http_connection_failed":{"http_status_code":401}}"#, "auth", Some("http_connection_failed")),
        (
            r#"{"response_too_many_failed_attempts":{"http_status_code":429}}"#,
            "rate_limit",
            Some("response_too_many_failed_attempts"),
        ),
        (
            r#"{"response_stream_disconnected":{"http_status_code":null}}"#,
            "other",
            Some("response_stream_disconnected"),
        ),
        (r#"{"model_cap":{"model":"m","reset_after_seconds":1}}"#, "rate_limit", Some("model_cap")),
        ("null", "other", None),
    ] {
        let failed = format!(
            r#"{{"type":"task_complete","last_agent_message":null,"error":{{"message":"No.","codex_error_info":{info}}}}}"#
        );
        let log = Log::of(r#""id":"t""#).start().event(&failed);
        let session = log.session();
        assert_eq!(session.status, Status::Error, "{info}");
        assert_eq!(session.error_kind.map(ErrorKind::as_str), Some(kind), "{info}");
        let events: Vec<_> = session.events.iter().map(|it| (it.kind, it.code.as_deref())).collect();
        assert_eq!(events, [(EventKind::Error, code)], "{info}");
        assert_eq!(log.start().end().session().status, Status::Success, "{info}");
        // An event and the end of the task state the same error.
        let event = r#"{"type":"error","message":"No.","codex_error_info":"usage_limit_exceeded"}"#;
        assert_eq!(Log::of(r#""id":"t""#).start().event(event).event(&failed).session().events.len(), 1);
    }
    let session = Log::of(r#""id":"t""#)
        .start()
        .event(r#"{"type":"task_complete","last_agent_message":null,"error":null}"#)
        .session();
    assert_eq!((session.status, session.events.len()), (Status::Success, 0));
}

/// Codex does not log every error: a task fails whose last prompt or result got no response.
#[test]
fn a_task_without_an_answer_failed() {
    let null = |log: Log| log.event(r#"{"type":"task_complete","last_agent_message":null,"duration_ms":2873}"#);
    let start = || Log::of(r#""id":"t""#).start();
    let call = r#"{"type":"function_call","name":"exec_command","call_id":"a","arguments":"{\"cmd\":\"ls\"}"}"#;
    let output = r#"{"type":"function_call_output","call_id":"a","output":"x"}"#;
    let message = r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"A plan."}]}"#;
    let worked = || start().said("go").response(call).response(output).count(10, 10);
    let limits = r#"{"type":"token_count","info":null,"rate_limits":null}"#;
    for (name, log, status) in [
        ("a prompt", start().said("go"), Status::Error),
        ("a prompt and limits", start().said("go").event(limits), Status::Error),
        ("an item", start().prompt("i1", "go"), Status::Error),
        ("a result", worked(), Status::Error),
        ("a result and the same count", worked().count(10, 10), Status::Error),
        ("a response", start().said("go").response(message).count(10, 10), Status::Success),
        ("a response to a result", worked().response(message).count(20, 10), Status::Success),
        ("a message", start().said("go").event(r#"{"type":"agent_message","message":"A plan."}"#), Status::Success),
        ("a response that is only counted", start().said("go").count(10, 10), Status::Success),
        ("another response that is only counted", worked().count(20, 10), Status::Success),
        ("a compaction", start().record("compacted", r#"{"message":""}"#), Status::Success),
        ("a compaction after a failure", null(worked()).task("2").record("compacted", "{}"), Status::Success),
    ] {
        let session = null(log).session();
        assert_eq!(
            (session.status, session.events.iter().filter(|it| it.kind == EventKind::Error).count()),
            (status, 0),
            "{name}"
        );
        let kind = (status == Status::Error).then_some(ErrorKind::Other);
        assert_eq!(session.error_kind, kind, "{name}");
    }
    assert_eq!(null(start().said("go")).task("2").said("again").count(10, 10).end().session().status, Status::Success);
}

/// The user stopped the calls: none of them failed.
#[test]
fn calls_that_the_user_stopped_are_cancelled() {
    let output = |kind: &str, output: &str| format!(r#"{{"type":"{kind}","call_id":"a","output":{output}}}"#);
    let function = |name: &str, arguments: &str, text: &str| {
        let call = format!(r#"{{"type":"function_call","name":"{name}","call_id":"a","arguments":"{arguments}"}}"#);
        Log::of(r#""id":"t""#).start().response(&call).response(&output("function_call_output", text))
    };
    let custom = |name: &str, text: &str| {
        let call = format!(r#"{{"type":"custom_tool_call","name":"{name}","call_id":"a","input":"*** Begin Patch"}}"#);
        Log::of(r#""id":"t""#).start().response(&call).response(&output("custom_tool_call_output", text))
    };
    let after = r#""aborted by user after 7.4s""#;
    let list = r#"[{"type":"input_text","text":"aborted by user after 7.4s"}]"#;
    let ended = r#"{"type":"exec_command_end","call_id":"a","exit_code":-1,"status":"failed"}"#;
    // A program that prints the word.
    let call = r#"{"type":"function_call","name":"exec_command","call_id":"a","arguments":"{\"cmd\":\"status\"}"}"#;
    let succeeded = r#"{"type":"exec_command_end","call_id":"a","exit_code":0,"status":"completed"}"#;
    let printed = Log::of(r#""id":"t""#).start().response(call).event(succeeded);
    for (log, status) in [
        (function("exec_command", r#"{\"cmd\":\"npm test\"}"#, after), CallStatus::Cancelled),
        (function("exec_command", r#"{\"cmd\":\"npm test\"}"#, after).event(ended), CallStatus::Cancelled),
        (printed.response(&output("function_call_output", r#""aborted""#)), CallStatus::Ok),
        (function("shell_command", "{}", r#""Wall time: 6.4 seconds\naborted by user""#), CallStatus::Cancelled),
        (function("write_stdin", r#"{\"session_id\":7}"#, after), CallStatus::Cancelled),
        (function("mcp__s__t", "{}", after), CallStatus::Cancelled),
        (function("exec_command", "{}", r#""aborted""#), CallStatus::Cancelled),
        (function("exec_command", "{}", r#""aborted: no such file""#), CallStatus::Error),
        (
            function("exec_command", "{}", r#""Exit code: 1\nWall time: 1 seconds\nOutput:\naborted by user""#),
            CallStatus::Error,
        ),
        (function("exec_command", "{}", r#""Exit code: 0\nOutput:\naborted by user""#), CallStatus::Ok),
        (custom("apply_patch", after), CallStatus::Cancelled),
        (custom("exec", after), CallStatus::Cancelled),
        (custom("exec", list), CallStatus::Cancelled),
    ] {
        let session = log.session();
        assert_eq!(session.tool_calls.iter().map(|it| it.status).collect::<Vec<_>>(), [status], "{}", log.text());
    }
}

/// A call: its id, category, target, status and exit code.
type Call = (String, String, Option<String>, CallStatus, Option<i64>);

fn calls(log: &Log) -> Vec<Call> {
    let row = |call: &agentlogs::model::session::ToolCall| {
        let target = call.target.as_deref().map(str::to_owned);
        (call.call_id.to_string(), call.category.to_string(), target, call.status, call.exit_code.get())
    };
    log.session().tool_calls.iter().map(|call| row(call)).collect()
}

fn row(
    id: &str,
    category: &str,
    target: Option<&str>,
    status: CallStatus,
    exit_code: Option<i64>,
) -> (String, String, Option<String>, CallStatus, Option<i64>) {
    (id.to_owned(), category.to_owned(), target.map(str::to_owned), status, exit_code)
}

#[test]
fn a_script_has_the_outcome_of_its_commands() {
    use CallStatus::{Error, Ok};
    let log = Log::of(r#""id":"t""#)
        .start()
        .script("a", r#"const r = await tools.exec_command({cmd: "pytest -q"}); text(r.output);"#)
        .ran("exec-1", "pytest -q", 1)
        .output("a", &[COMPLETED, "1 failed\n"])
        .script("b", r#"text(await tools.exec_command({cmd: "cargo test"}))"#)
        .output("b", &[COMPLETED, r#"{"chunk_id":"1","exit_code":101,"output":"exit_code"}"#])
        .script("c", r#"text(await tools.exec_command({cmd: "ls"}))"#)
        .output("c", &[COMPLETED, "a.py\n"])
        .script("d", "await tools.view_imag({path: 'a.png'})")
        .output("d", &[FAILED, "Script error:\nTypeError: tools.view_imag is not a function"])
        .script("e", r#"await Promise.all([tools.exec_command({cmd: "ls"}), tools.exec_command({cmd: "make"})])"#)
        .ran("exec-2", "ls", 0)
        .ran("exec-3", "make", 2)
        .output("e", &[COMPLETED, ""])
        .script("f", "await tools.exec_command({cmd: commands.pop()})")
        .ran("exec-4", "git status", 0)
        .output("f", &[COMPLETED, ""])
        .end();
    let expected = [
        row("a", "shell", Some("pytest"), Error, Some(1)),
        row("b", "shell", Some("cargo"), Error, Some(101)),
        row("c", "shell", Some("ls"), Ok, None),
        row("d", "other", Some("a.png"), Error, None),
        row("e", "shell", Some("ls"), Error, Some(2)),
        row("f", "shell", Some("git"), Ok, Some(0)),
    ];
    assert_eq!(calls(&log), expected);
    let session = log.session();
    let kinds: Vec<_> = session.tool_calls.iter().map(|call| call.command_kind.map(CommandKind::as_str)).collect();
    assert_eq!(kinds[..3], [Some("test"), Some("test"), Some("search")]);
    assert_eq!(session.tool_calls[0].duration_ms.get(), Some(1500));
}

/// Parallel scripts run at the same time: an item belongs to the script that contains its command.
#[test]
fn an_item_belongs_to_the_script_with_its_command() {
    use CallStatus::{Error, Ok};
    let log = Log::of(r#""id":"t""#)
        .start()
        .script("a", r#"await tools.exec_command({cmd: "ls"})"#)
        .script("b", r#"await tools.exec_command({cmd: "make"})"#)
        .ran("exec-1", "make", 2)
        .output("a", &[COMPLETED, ""])
        .output("b", &[COMPLETED, ""])
        .ran("exec-2", "ls", 0);
    let expected = [row("a", "shell", Some("ls"), Ok, Some(0)), row("b", "shell", Some("make"), Error, Some(2))];
    assert_eq!(calls(&log), expected);
    // An item whose script is in another file is a call.
    let log = Log::of(r#""id":"t""#).start().ran("exec-1", "make", 2);
    assert_eq!(calls(&log), [row("exec-1", "shell", Some("make"), Error, Some(2))]);
}

/// A script that runs on ends in the output of a call that waits for it.
#[test]
fn a_call_that_waits_gets_the_end_of_a_script() {
    use CallStatus::{Error, Ok};
    let log = Log::of(r#""id":"t""#)
        .start()
        .script("a", r#"text(await tools.exec_command({cmd: "make"}))"#)
        .response(r#"{"type":"custom_tool_call_output","call_id":"a","output":"Script running with cell ID 8\nWall time 10.0 seconds\nOutput:\n"}"#);
    assert_eq!(calls(&log), [row("a", "shell", Some("make"), CallStatus::Incomplete, None)]);
    let log = log
        .response(r#"{"type":"function_call","name":"wait","call_id":"w","arguments":"{\"cell_id\":\"8\"}"}"#)
        .output("w", &[COMPLETED, r#"{"exit_code":2,"output":""}"#]);
    let expected = [row("a", "shell", Some("make"), Error, Some(2)), row("w", "other", Some("make"), Ok, None)];
    assert_eq!(calls(&log), expected);
}

#[test]
fn a_script_changes_files_and_calls_servers() {
    let patch = "await tools.apply_patch(\"*** Begin Patch\\n*** Add File: a.rs\\n+a\\n*** End Patch\")";
    let item = r#"{"type":"FileChange","id":"exec-1","changes":{"/w/a.rs":{"type":"add","content":"a\nb\n"}},"status":"completed"}"#;
    for (name, log, path, lines) in [
        ("only the script", Log::of(r#""id":"t""#).start().script("a", patch), "a.rs", Some(1)),
        ("an item", Log::of(r#""id":"t""#).start().script("a", patch).item(item), "/w/a.rs", Some(2)),
    ] {
        let log = log.output("a", &[COMPLETED, "{}"]);
        assert_eq!(calls(&log), [row("a", "edit", Some("a.rs"), CallStatus::Ok, None)], "{name}");
        let changes = log.session().file_changes;
        let changes: Vec<_> = changes.iter().map(|it| (it.path.as_ref(), it.lines_added)).collect();
        assert_eq!(changes, [(path, lines)], "{name}");
    }
    let failed =
        r#"{"type":"FileChange","id":"exec-1","changes":{"/w/a.rs":{"type":"add","content":"a"}},"status":"failed"}"#;
    let log = Log::of(r#""id":"t""#).start().script("a", patch).item(failed).output("a", &[COMPLETED, "{}"]);
    assert_eq!((calls(&log)[0].3, log.session().file_changes.len()), (CallStatus::Error, 0));

    let log = Log::of(r#""id":"t""#)
        .start()
        .script("a", "text(await tools.mcp__docs__find({query: 'x'}))")
        .item(r#"{"type":"McpToolCall","id":"exec-1","server":"docs","tool":"find","arguments":{},"status":"failed","error":{"message":"no"}}"#)
        .output("a", &[COMPLETED, "no"]);
    assert_eq!(calls(&log), [row("a", "mcp", None, CallStatus::Error, None)]);
    assert_eq!(log.session().tool_calls[0].mcp_server.as_deref(), Some("docs"));
}

/// An item and a response item with the same id are the same call.
#[test]
fn an_item_is_the_call_with_its_id() {
    use CallStatus::{Denied, Error, Ok};
    let call = |name: &str, id: &str, arguments: &str| {
        format!(r#"{{"type":"function_call","name":"{name}","call_id":"{id}","arguments":{arguments:?}}}"#)
    };
    let log = Log::of(r#""id":"t""#)
        .start()
        .response(&call("exec_command", "c1", r#"{"cmd":"make"}"#))
        .ran("c1", "make", 2)
        .response(r#"{"type":"function_call_output","call_id":"c1","output":"Process exited with code 2\nOutput:\n"}"#)
        .response(&call("find", "c2", "{}"))
        .item(r#"{"type":"McpToolCall","id":"c2","server":"docs","tool":"find","arguments":{},"status":"completed","result":{"content":[]},"duration":{"secs":1,"nanos":0}}"#)
        .response(&call("pick", "c3", "{}"))
        .item(r#"{"type":"DynamicToolCall","id":"c3","tool":"pick","arguments":{},"status":"completed","success":false}"#)
        .response(r#"{"type":"web_search_call","id":"ws_1","action":{"type":"search","query":"x"}}"#)
        .item(r#"{"type":"WebSearch","id":"ws_1","query":"x","action":{"type":"search","query":"x"}}"#)
        .event(r#"{"type":"web_search_end","call_id":"ws_1","query":"x"}"#)
        .item(r#"{"type":"WebSearch","id":"ws_2","query":"y","action":{"type":"search","query":"y"}}"#)
        .response(r#"{"type":"web_search_call","action":{"type":"search","query":"y"}}"#)
        .item(r#"{"type":"CommandExecution","id":"c6","command":["bash","-lc","rm x"],"source":"agent","status":"declined"}"#)
        .item(r#"{"type":"CommandExecution","id":"u","command":["bash","-lc","ls"],"source":"user_shell","status":"completed","exit_code":0}"#)
        .end();
    let expected = [
        row("c1", "shell", Some("make"), Error, Some(2)),
        row("c2", "mcp", None, Ok, None),
        row("c3", "other", None, Error, None),
        row("ws_1", "web", None, Ok, None),
        row("ws_2", "web", None, Ok, None),
        row("c6", "shell", Some("rm"), Denied, None),
    ];
    assert_eq!(calls(&log), expected);
    let session = log.session();
    assert_eq!(session.tool_calls[0].duration_ms.get(), Some(2000));
    assert_eq!(session.tool_calls[1].duration_ms.get(), Some(1000));
}

#[test]
fn other_items_are_events_or_carry_nothing() {
    let log = Log::of(r#""id":"t""#)
        .start()
        .item(r#"{"type":"ContextCompaction","id":"k"}"#)
        .record("compacted", r#"{"message":""}"#)
        .event(r#"{"type":"context_compacted"}"#)
        .item(r#"{"type":"SubAgentActivity","id":"c1","kind":"started","agent_thread_id":"child","agent_path":"/root/a"}"#)
        .event(r#"{"type":"sub_agent_activity","event_id":"c1","kind":"started","agent_thread_id":"child"}"#)
        .item(r#"{"type":"SubAgentActivity","id":"c2","kind":"interacted","agent_thread_id":"other","agent_path":"/root"}"#)
        .item(r#"{"type":"Plan","id":"p","text":"1."}"#)
        .item(r#"{"type":"Reasoning","id":"r","summary_text":[]}"#)
        .item(r#"{"type":"AgentMessage","id":"m","content":[{"type":"Text","text":"Answer."}]}"#)
        .record("world_state", r#"{"full":true}"#)
        .record("security_risk_score", "{}")
        .record("realtime_item", r#"{"type":"x"}"#)
        .event(r#"{"type":"guardian_assessment","id":"g","status":"approved"}"#)
        .response(r#"{"type":"agent_message","author":"/root","content":[]}"#)
        .response(r#"{"type":"context_compaction"}"#)
        .response(r#"{"type":"additional_tools","tools":[]}"#);
    let session = log.session();
    let events: Vec<_> = session.events.iter().map(|it| (it.kind, it.code.as_deref())).collect();
    assert_eq!(events, [(EventKind::Compaction, None), (EventKind::Subagent, Some("child"))]);
    assert_eq!(session.text.as_deref(), Some("Answer."));
    let parsed = agentlogs::adapters::parse(
        log.text().as_bytes(),
        agentlogs::adapters::Hints::default(),
        agentlogs::model::retention::Retention::None,
    );
    assert_eq!(parsed.health.unknown_records, 0);
}

#[test]
fn a_rejection_of_the_guardian_is_a_denial() {
    let reason = "x".repeat(2000);
    let rejected = format!(
        r#"exec_command failed for `{reason}`: CreateProcess {{ message: "Rejected(\"This action was rejected due to unacceptable risk.\\nReason: {reason}\")" }}"#
    );
    let output = format!(
        r#"{{"type":"function_call_output","call_id":"c1","output":{}}}"#,
        serde_json::to_string(&rejected).unwrap()
    );
    let call = r#"{"type":"function_call","name":"exec_command","call_id":"c1","arguments":"{\"cmd\":\"curl x\"}"}"#;
    let denied = r#"{"type":"guardian_assessment","id":"g","target_item_id":"c1","status":"denied"}"#;
    let log = || Log::of(r#""id":"t""#).start().response(call);
    for (name, log) in [
        ("the output", log().response(&output)),
        ("the assessment", log().event(denied)),
        ("both", log().event(denied).response(&output)),
        (
            "a script",
            Log::of(r#""id":"t""#)
                .start()
                .script("c1", r#"await tools.exec_command({cmd: "curl x"})"#)
                .output("c1", &[FAILED, &format!("Script error:\n{rejected}")]),
        ),
    ] {
        assert_eq!(calls(&log), [row("c1", "shell", Some("curl"), CallStatus::Denied, None)], "{name}");
        let events = log.session().events;
        let kinds: Vec<_> = events.iter().map(|it| it.kind).collect();
        assert_eq!(kinds, [EventKind::PermissionDenial], "{name}");
    }
}

/// A session: its id, its parent, its input tokens and its prompts.
type Inputs = (String, Option<String>, Option<i64>, Option<i64>);

fn inputs(logs: &[&Log]) -> Vec<Inputs> {
    let logs: Vec<_> = logs.iter().map(|it| it.text()).collect();
    let mut rows: Vec<_> = tables(&logs)
        .sessions
        .iter()
        .map(|it| (it.session.session_id.clone(), it.session.parent_session_id.clone(), it.tokens.input, it.user_turns))
        .collect();
    rows.sort();
    rows
}

#[test]
fn files_that_continue_others_count_what_they_add() {
    let base = Log::of(r#""id":"t""#).start().prompt("i1", "go on").count(100, 100).count(250, 150).end();
    let history = r#""history_base":{"thread_id":"t","end_ordinal_exclusive":6,"end_byte_offset":9}"#;
    let page = |log: Log| log.start().prompt("i9", "go on").count(320, 70).end();
    let continuation = page(Log::from(6, &format!(r#""id":"t",{history}"#)));
    let repeated = page(Log::from(6, &format!(r#""id":"t",{history}"#)).count(250, 150));
    let fork = |id: &str| page(Log::from(6, &format!(r#""id":"{id}","forked_from_id":"t",{history}"#)));
    let own = ("t".to_owned(), None, Some(250), Some(1));
    let whole = ("t".to_owned(), None, Some(320), Some(2));
    let forked = |id: &str| (id.to_owned(), Some("t".to_owned()), Some(70), Some(1));
    assert_eq!(inputs(&[&base, &continuation]), std::slice::from_ref(&whole));
    assert_eq!(inputs(&[&base, &repeated]), [whole]);
    assert_eq!(inputs(&[&base, &fork("u"), &fork("v")]), [own, forked("u"), forked("v")]);
    assert_eq!(inputs(&[&fork("u")]), [forked("u")]);
}

#[test]
fn a_subagent_counts_nothing_that_it_copied() {
    let parent = Log::of(r#""id":"p""#).start().prompt("i1", "go").count(100, 100).end();
    let child = |first: i64, last: i64| {
        Log::of(r#""id":"c","session_id":"p","source":{"subagent":{"thread_spawn":{"parent_thread_id":"p"}}},"subagent_history_start_ordinal":6"#)
            .record("session_meta", r#"{"id":"p"}"#)
            .start()
            .prompt("i1", "go")
            .count(100, 100)
            .end()
            .start()
            .count(first, last)
            .end()
    };
    let own = |tokens| ("c".to_owned(), Some("p".to_owned()), Some(tokens), Some(0));
    for (name, child, expected) in [
        ("the count goes on", child(130, 30), own(30)),
        ("the count begins again", child(130, 130), own(130)),
        ("the count begins again below", child(30, 30), own(30)),
    ] {
        assert_eq!(inputs(&[&child]), std::slice::from_ref(&expected), "{name}");
        let rows = inputs(&[&parent, &child]);
        assert_eq!(rows, [expected, ("p".to_owned(), None, Some(100), Some(1))], "{name}");
    }
}

/// Two children of one thread, with equal counts and prompts and without calls, differ by the ids of their tasks.
#[test]
fn children_of_one_thread_with_equal_counts_are_two() {
    let parent = Log::of(r#""id":"p""#).task("1").said("go").count(100, 100).end();
    let task = |log: Log, turn: &str, total: i64| log.task(turn).said("again").count(total, 30).end();
    let fork = |id: &str, turn: &str| {
        let history = Log::of(&format!(r#""id":"{id}","forked_from_id":"p""#)).record("session_meta", r#"{"id":"p"}"#);
        task(history.task("1").said("go").count(100, 100).end(), turn, 130)
    };
    let agent = |id: &str, turn: &str| {
        let source = r#"{"subagent":{"thread_spawn":{"parent_thread_id":"p"}}}"#;
        task(Log::of(&format!(r#""id":"{id}","source":{source}"#)), turn, 30)
    };
    let child = |id: &str, prompts| (id.to_owned(), Some("p".to_owned()), Some(30), Some(prompts));
    let own = || ("p".to_owned(), None, Some(100), Some(1));
    assert_eq!(inputs(&[&parent, &fork("b", "2"), &fork("c", "3")]), [child("b", 1), child("c", 1), own()]);
    assert_eq!(inputs(&[&fork("c", "3"), &parent, &fork("b", "2")]), [child("b", 1), child("c", 1), own()]);
    assert_eq!(inputs(&[&parent, &agent("b", "2"), &agent("c", "3")]), [child("b", 0), child("c", 0), own()]);
}

/// The end of a recording that was cut before its id, and two whole ones.
#[test]
fn a_turn_that_starts_before_any_thread_is_no_session() {
    let recording = |id: &str| {
        [
            format!(r#"{{"type":"thread.started","thread_id":"{id}"}}"#),
            r#"{"type":"turn.started"}"#.to_owned(),
            r#"{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"Done."}}"#.to_owned(),
            r#"{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":3}}"#
                .to_owned(),
        ]
    };
    let start = [r#"{"type":"turn.started"}"#.to_owned()];
    let log = [&start[..], &recording("t1"), &recording("t2")].concat().join("\n");
    let sessions = sessions(&log);
    assert_eq!(sessions.iter().map(|it| it.session_id.as_str()).collect::<Vec<_>>(), ["t1", "t2"]);
}

#[test]
fn the_role_of_an_agent_is_its_type() {
    let spawn = r#""source":{"subagent":{"thread_spawn":{"parent_thread_id":"p","depth":1,"agent_nickname":"Curie","agent_role":"explorer"}}}"#;
    for (source, role) in [(spawn, Some("explorer")), (r#""source":{"subagent":"review"}"#, None)] {
        let log = Log::of(&format!(r#""id":"t",{source}"#)).start().prompt("i1", "a").count(10, 10).end();
        let tables = tables(&[log.lines.join("\n")]);
        assert_eq!(tables.sessions[0].session.agent.as_deref(), role);
        let turn = &tables.turns[0].turn;
        assert_eq!(turn.details.as_ref().and_then(|it| it.agent_type.as_deref()), role);
    }
}

/// The extension for VS Code asks for the title of a task in a thread of its own.
#[test]
fn prompts_for_titles_are_not_typed() {
    let title = "Generate a concise UI title (20-40 characters) for this task.";
    let older =
        "You are a helpful assistant. You will be presented with a user prompt, and your job is to provide a title.";
    let extension = r#""originator":"codex_vscode","source":"exec""#;
    for (meta, text, expected) in [
        (extension, title, 0),
        (extension, older, 0),
        (extension, "Fix the login.", 1),
        (r#""originator":"codex_vscode","source":"vscode""#, title, 1),
        (r#""originator":"codex_exec","source":"exec""#, title, 1),
    ] {
        let log = Log::of(&format!(r#""id":"t",{meta}"#)).start();
        let log = log.event(&format!(r#"{{"type":"user_message","message":"{text}"}}"#));
        assert_eq!(user_turns(&log), Some(expected), "{meta} {text}");
    }
}

#[test]
fn a_task_that_its_budget_stopped_failed() {
    let stopped = |reason: &str| {
        Log::of(r#""id":"t""#).start().event(&format!(r#"{{"type":"turn_aborted","reason":"{reason}"}}"#)).session()
    };
    let session = stopped("budget_limited");
    let kind = session.error_kind.map(ErrorKind::as_str);
    assert_eq!((session.status, kind), (Status::Error, Some("budget")));
    let events: Vec<_> = session.events.iter().map(|it| (it.kind, it.code.as_deref())).collect();
    assert_eq!(events, [(EventKind::Error, Some("budget_limited"))]);
    assert_eq!(stopped("interrupted").status, Status::Aborted);
}

#[test]
fn prompts_of_automations_are_not_typed() {
    let heartbeat = r"<heartbeat>\n  <automation_id>a</automation_id>\n</heartbeat>\n";
    for (name, text, expected) in [("an automation", heartbeat, 1), ("a text", "What is <heartbeat>?", 2)] {
        let log = || Log::of(r#""id":"t""#).start();
        for log in [log().prompt("i1", "go").prompt("i2", text), log().said("go").said(text)] {
            assert_eq!(user_turns(&log), Some(expected), "{name}");
        }
    }
}

/// Items since 0.159.
#[test]
fn tools_of_extensions_are_calls_if_they_search() {
    let search = r#"{"type":"Extension","kind":"web.search","id":"ws_1","query":"x","action":{"type":"search"}}"#;
    let log = Log::of(r#""id":"t""#)
        .start()
        .item(search)
        .item(search)
        .item(r#"{"type":"Extension","kind":"clock.sleep","id":"s","durationMs":5}"#)
        .item(r#"{"type":"Extension","kind":"image_gen.generation","id":"i"}"#)
        .item(r#"{"type":"FunctionCallOutput","id":"o","name":"x","output":"y"}"#)
        .record("retained_context", r#"{"type":"verified_answer","turn_id":"1","questions":[]}"#)
        .item(r#"{"type":"CollabAgentToolCall","id":"c","tool":"send_message","status":"interrupted","receiver_thread_ids":[]}"#)
        .event(r#"{"type":"sub_agent_activity","event_id":"e1","kind":"started","agent_thread_id":"child"}"#);
    let statuses: Vec<_> = calls(&log).into_iter().map(|(id, category, _, status, _)| (id, category, status)).collect();
    let row = |id: &str, category: &str, status| (id.to_owned(), category.to_owned(), status);
    assert_eq!(statuses, [row("ws_1", "web", CallStatus::Ok), row("c", "subagent", CallStatus::Cancelled)]);
    let event = &log.session().events[0];
    assert_eq!((event.kind, event.call_id.as_deref()), (EventKind::Subagent, Some("e1")));
    let unknown = |log: &Log| super::parse(log.text().as_bytes()).health.unknown_records;
    assert_eq!(unknown(&log), 0);
    assert_eq!(unknown(&log.item(r#"{"type":"Extension","kind":"x.y","id":"i"}"#)), 1);
}

/// Only calls that run something have a header with their end. What follows another first line is the output of a tool.
#[test]
fn an_exit_code_is_in_the_header_of_a_command() {
    use CallStatus::{Denied, Error, Ok};
    let log = |name: &str, kind: &str, output: &str| {
        let member = if kind == "custom_tool_call" { "input" } else { "arguments" };
        let call = format!(r#"{{"type":"{kind}","call_id":"a",{name},"{member}":"{{}}"}}"#);
        let output = serde_json::to_string(output).unwrap();
        let result = format!(r#"{{"type":"{kind}_output","call_id":"a","output":{output}}}"#);
        (Log::of(r#""id":"t""#).start().response(&call), result)
    };
    let mcp = r#""name":"list","namespace":"mcp__gh""#;
    let header = "Chunk ID: 1\nWall time: 2.0 seconds\nProcess exited with code 3\nOutput:\nExit code: 5";
    let server = "Wall time: 2.0 seconds\nOutput:\nthe request was rejected by user x";
    for (name, kind, output, status, exit_code) in [
        (r#""name":"exec_command""#, "function_call", header, Error, Some(3)),
        (r#""name":"shell_command""#, "function_call", "Exit code: 3\nOutput:\n", Error, Some(3)),
        (
            r#""name":"apply_patch""#,
            "custom_tool_call",
            "Exit code: 1\nWall time: 0 seconds\nOutput:\n",
            Error,
            Some(1),
        ),
        (r#""name":"exec_command""#, "function_call", "build log\nExit code: 5\nbye", Ok, None),
        (r#""name":"exec_command""#, "function_call", "rejected by user", Denied, None),
        (r#""name":"js""#, "custom_tool_call", "x\nExit code: 7", Ok, None),
        (r#""name":"js""#, "custom_tool_call", "Exit code: 7\nOutput:\n", Ok, None),
        (r#""name":"js""#, "custom_tool_call", r#"{"output":"","metadata":{"exit_code":7}}"#, Ok, None),
        (mcp, "function_call", "line\nProcess exited with code 4", Ok, None),
        (mcp, "function_call", header, Ok, None),
        (mcp, "function_call", server, Ok, None),
    ] {
        let (log, result) = log(name, kind, output);
        let session = log.response(&result).session();
        let call = &session.tool_calls[0];
        assert_eq!((call.status, call.exit_code.get()), (status, exit_code), "{name} {output}");
        let has_time = output.contains("Wall time: 2.0");
        assert!(!has_time || call.duration_ms.get() == Some(2000), "{name} {output}");
    }
    // What an event stated remains.
    for (result, status) in [(r#"{"Ok":{}}"#, Ok), (r#"{"Err":"x"}"#, Error)] {
        let event =
            format!(r#"{{"type":"mcp_tool_call_end","call_id":"a","invocation":{{"server":"gh"}},"result":{result}}}"#);
        let (log, result) = log(mcp, "function_call", header);
        let session = log.event(&event).response(&result).session();
        assert_eq!((session.tool_calls[0].status, session.tool_calls[0].exit_code.get()), (status, None));
    }
}

/// Calls without a script are logged before their items: an item whose id no call has is of the script of the task that runs.
#[test]
fn an_item_of_a_running_script_is_no_call() {
    use CallStatus::{Denied, Error, Ok};
    let patch = r#"await tools.apply_patch("*** Begin Patch\n*** Add File: /w/n.py\n+1\n+2\n*** End Patch")"#;
    let change = |id: &str| {
        format!(
            r#"{{"type":"FileChange","id":"{id}","changes":{{"/w/n.py":{{"type":"add","content":"1\n2\n"}}}},"status":"completed"}}"#
        )
    };
    let refused = r#"{"type":"CommandExecution","id":"e9","command":["rm","x"],"status":"declined","exit_code":null}"#;
    let log = Log::of(r#""id":"t""#)
        .start()
        .script("a", patch)
        .item(&change("fc1"))
        .output("a", &[COMPLETED, "Success"])
        .script("b", r#"await tools.exec_command({cmd: "rm x"})"#)
        .item(refused)
        .output("b", &[FAILED, "Script error:\nRejected(\"rejected by user\")"])
        .script("c", "await tools.exec_command({cmd: commands.pop()})")
        .ran("x1", "make", 2)
        // A tool that no running script calls, a search by the provider, and a command of the user.
        .item(r#"{"type":"McpToolCall","id":"m","server":"gh","tool":"list","status":"failed"}"#)
        .event(r#"{"type":"web_search_end","call_id":"ws_1","query":"x"}"#)
        .event(r#"{"type":"exec_command_end","call_id":"u","source":"user_shell","command":["ls"],"exit_code":9}"#);
    let session = log.session();
    let found: Vec<_> =
        session.tool_calls.iter().map(|it| (it.call_id.to_string(), it.status, it.exit_code.get())).collect();
    let row = |id: &str, status, code| (id.to_owned(), status, code);
    let expected = [
        row("a", Ok, None),
        row("b", Denied, None),
        row("c", Error, Some(2)),
        row("m", Error, None),
        row("ws_1", Ok, None),
    ];
    assert_eq!(found, expected);
    assert_eq!(session.file_changes.iter().map(|it| it.lines_added).collect::<Vec<_>>(), [Some(2)]);
    assert_eq!(session.events.iter().filter(|it| it.kind == EventKind::PermissionDenial).count(), 1);
    // The script of an earlier task was stopped.
    let later = log.task("2").item(&change("fc2")).session();
    assert_eq!(later.tool_calls.last().map(|it| it.call_id.to_string()).as_deref(), Some("fc2"));
}
