//! What the tables contain of telemetry, alone and beside other views of the session.

use agentlogs::model::session::{CallStatus, Status};
use agentlogs::model::tables::{SessionRow, Tables, Usage};
use serde_json::{Value, json};

use super::tables;

const SESSION: &str = "7c1d2e3f-4a5b-4c6d-8e7f-901122334455";

/// Nanoseconds, so many seconds after a time in 2026.
fn nanoseconds(second: u64) -> String {
    format!("{}000000000", 1_792_400_400 + second)
}

fn attributes(pairs: Value) -> Value {
    let Value::Object(pairs) = pairs else { panic!("{pairs}") };
    let typed = |value: Value| match value {
        Value::String(text) => json!({"stringValue": text}),
        Value::Bool(flag) => json!({"boolValue": flag}),
        number if number.is_f64() => json!({"doubleValue": number}),
        // Protocol Buffers write 64-bit integers as strings.
        number => json!({"intValue": number.to_string()}),
    };
    pairs.into_iter().map(|(key, value)| json!({"key": key, "value": typed(value)})).collect()
}

/// A line with one event of Claude Code.
fn event(second: u64, name: &str, mut pairs: Value) -> String {
    pairs["session.id"] = json!(SESSION);
    pairs["event.name"] = json!(name);
    let body = json!({"stringValue": format!("claude_code.{name}")});
    let record = json!({"timeUnixNano": nanoseconds(second), "body": body, "attributes": attributes(pairs)});
    json!({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}).to_string()
}

fn request(second: u64, id: &str, model: &str, input: i64, output: i64) -> String {
    let more = json!({
        "model": model, "request_id": id, "cost_usd": 0.25, "duration_ms": 900, "query_source": "repl_main_thread",
        "input_tokens": input, "output_tokens": output, "cache_read_tokens": 1000, "cache_creation_tokens": 0,
    });
    event(second, "api_request", more)
}

fn span(second: u64, name: &str, mut pairs: Value) -> String {
    pairs["session.id"] = json!(SESSION);
    let span = json!({
        "traceId": "4bf92f3577b34da6a3ce929d0e0e4736", "spanId": format!("00f067aa0ba9{second:04}"), "name": name,
        "startTimeUnixNano": nanoseconds(second), "endTimeUnixNano": nanoseconds(second + 1),
        "attributes": attributes(pairs), "status": {},
    });
    json!({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).to_string()
}

/// A line with the counters of an interval or, with `temporality` 2, since the start of the process.
fn counters(temporality: i64, start: u64, end: u64, input: i64, output: i64) -> String {
    let point = |kind: &str, value: i64| {
        json!({
            "attributes": attributes(json!({"session.id": SESSION, "model": "claude-sonnet-5", "type": kind})),
            "startTimeUnixNano": nanoseconds(start), "timeUnixNano": nanoseconds(end), "asInt": value.to_string(),
        })
    };
    let points = [point("input", input), point("output", output)];
    let sum = json!({"dataPoints": points, "aggregationTemporality": temporality, "isMonotonic": true});
    let metric = json!({"name": "claude_code.token.usage", "unit": "tokens", "sum": sum});
    json!({"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]}).to_string()
}

/// A line of Claude's own transcript.
fn transcript_line(second: u32, id: &str, input: i64, output: i64) -> String {
    let usage = json!({"input_tokens": input, "output_tokens": output, "cache_read_input_tokens": 1000, "cache_creation_input_tokens": 0});
    let message = json!({
        "id": id, "type": "message", "role": "assistant", "model": "claude-sonnet-5", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "Done."}], "usage": usage,
    });
    json!({
        "type": "assistant", "uuid": format!("u-{id}"), "parentUuid": null, "isSidechain": false, "sessionId": SESSION,
        "timestamp": format!("2026-10-19T09:00:{second:02}.100Z"), "requestId": "req_1", "message": message,
    })
    .to_string()
}

fn only(tables: &Tables) -> &SessionRow {
    assert_eq!(tables.sessions.len(), 1);
    &tables.sessions[0]
}

fn tokens<L: AsRef<str>>(logs: &[L]) -> [Option<i64>; 3] {
    let tables = tables(logs);
    let session = only(&tables);
    assert_eq!(session.session.runtime, "claude");
    [session.turns, session.tokens.input, session.tokens.output]
}

#[test]
fn a_title_request_counts_where_there_is_only_telemetry() {
    let log =
        [request(1, "req_0", "claude-haiku-4-5", 340, 20), request(5, "req_1", "claude-sonnet-5", 7, 50)].join("\n");
    assert_eq!(tokens(&[&log]), [Some(2), Some(347), Some(70)]);
    // Exporters repeat a batch that was not acknowledged.
    assert_eq!(tokens(&[format!("{log}\n{log}"), log]), [Some(2), Some(347), Some(70)]);
}

/// The log that the runtime keeps decides, even where telemetry has more: a title request, which no transcript contains.
#[test]
fn telemetry_beside_the_session_s_own_log_adds_nothing() {
    let telemetry = [
        request(1, "req_0", "claude-haiku-4-5", 340, 20),
        request(5, "req_1", "claude-sonnet-5", 7, 50),
        event(
            6,
            "tool_result",
            json!({"tool_name": "Bash", "tool_use_id": "toolu_01Otlp0000000001", "success": "true"}),
        ),
    ];
    let own = transcript_line(4, "msg_01Otlp0000000001", 7, 50);
    for logs in [[own.clone(), telemetry.join("\n")], [telemetry.join("\n"), own.clone()]] {
        let tables = tables(&logs);
        let session = only(&tables);
        assert_eq!([session.turns, session.tokens.input, session.tokens.output], [Some(1), Some(7), Some(50)]);
        assert_eq!((session.tool_calls, session.session.format.as_ref()), (Some(0), "claude-transcript"));
        assert_eq!(session.money.reported, None);
    }
}

/// Spans do not state how a session ended; a trajectory of it does.
#[test]
fn an_end_that_only_a_less_detailed_view_states_is_known() {
    let spans = span(
        5,
        "claude_code.llm_request",
        json!({"model": "claude-sonnet-5", "input_tokens": 8, "output_tokens": 60, "success": true}),
    );
    let metrics = json!({"prompt_tokens": 9, "completion_tokens": 70});
    let steps = json!([
        {"step_id": 1, "source": "user", "message": "Go."},
        {"step_id": 2, "source": "agent", "message": "Done.", "metrics": metrics},
    ]);
    let agent = json!({"name": "claude-code", "version": "2.1.0"});
    let view =
        json!({"schema_version": "ATIF-v1.6", "session_id": SESSION, "agent": agent, "steps": steps}).to_string();
    // A session that was killed during a call has not ended, whatever a trajectory of its beginning shows.
    let killed = transcript_line(4, "msg_01Otlp0000000001", 7, 50).replace("end_turn", "tool_use").replace(
        r#"{"text":"Done.","type":"text"}"#,
        r#"{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}"#,
    );
    assert!(killed.contains("toolu_1"));
    for (log, input, status) in [(spans, 8, Status::Success), (killed, 7, Status::Incomplete)] {
        for logs in [[&log, &view], [&view, &log]] {
            let tables = tables(&logs);
            let row = only(&tables);
            assert_eq!((row.tokens.input, row.session.status), (Some(input), status));
        }
    }
}

/// A transcript that was cut, and a trajectory of the whole session.
#[test]
fn what_a_trajectory_has_after_the_end_of_a_cut_log_ends_it() {
    let cut = transcript_line(4, "msg_01Otlp0000000001", 7, 50).replace("end_turn", "tool_use");
    let step = |id: i64, second: u32, message: &str| {
        let time = format!("2026-10-19T09:00:{second:02}.100Z");
        let metrics = json!({"prompt_tokens": 1007, "cached_tokens": 1000, "completion_tokens": 50});
        json!({"step_id": id, "source": "agent", "message": message, "timestamp": time, "metrics": metrics})
    };
    let steps = json!([step(1, 4, "Running."), step(2, 9, "Done.")]);
    let agent = json!({"name": "claude-code", "version": "2.1.0"});
    let view =
        json!({"schema_version": "ATIF-v1.6", "session_id": SESSION, "agent": agent, "steps": steps}).to_string();
    for logs in [[&cut, &view], [&view, &cut]] {
        let tables = tables(&logs);
        let row = only(&tables);
        assert_eq!((row.turns, row.session.status), (Some(2), Status::Success));
        assert_eq!(row.session.ended_at, tables.turns.iter().filter_map(|row| row.turn.occurred_at).max());
    }
}

#[test]
fn events_decide_before_spans_and_spans_before_counters() {
    let events = request(5, "req_1", "claude-sonnet-5", 7, 50);
    let spans = span(
        5,
        "claude_code.llm_request",
        json!({"model": "claude-sonnet-5", "input_tokens": 8, "output_tokens": 60, "success": true, "stop_reason": "end_turn"}),
    );
    let metrics = counters(1, 0, 60, 9, 70);
    assert_eq!(tokens(&[&metrics]), [None, Some(9), Some(70)]);
    assert_eq!(tokens(&[metrics.clone(), spans.clone()]), [Some(1), Some(8), Some(60)]);
    assert_eq!(tokens(&[metrics.clone(), spans.clone(), events.clone()]), [Some(1), Some(7), Some(50)]);
    // In one file, in any order.
    assert_eq!(tokens(&[[metrics, events, spans].join("\n")]), [Some(1), Some(7), Some(50)]);
}

#[test]
fn counters_of_intervals_add_up_and_running_ones_do_not() {
    let first = counters(1, 0, 60, 9, 70);
    let second = counters(1, 60, 120, 1, 5);
    let both = format!("{first}\n{second}");
    assert_eq!(tokens(&[&both]), [None, Some(10), Some(75)]);
    assert_eq!(tokens(&[first.clone(), second]), [None, Some(10), Some(75)]);
    assert_eq!(tokens(&[first, both]), [None, Some(10), Some(75)]);
    let running = [counters(2, 0, 60, 9, 70), counters(2, 0, 120, 19, 90)];
    // A process that resumed the session counts from 0 again.
    let resumed = counters(2, 500, 560, 3, 4);
    assert_eq!(tokens(&[running.join("\n")]), [None, Some(19), Some(90)]);
    assert_eq!(tokens(&[running[0].clone(), running[1].clone()]), [None, Some(19), Some(90)]);
    assert_eq!(tokens(&[running.join("\n"), resumed]), [None, Some(22), Some(94)]);
}

#[test]
fn spans_of_claude_code_show_calls_and_their_results() {
    let call = |name: &str, more: Value| {
        let mut pairs = json!({"tool_use_id": "toolu_01Otlp0000000001"});
        pairs.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        span(7, name, pairs)
    };
    let log = [
        call("claude_code.tool.execution", json!({"success": false, "error": "ShellError"})),
        call("claude_code.tool", json!({"tool_name": "Bash", "full_command": "cargo test"})),
        span(
            9,
            "claude_code.tool",
            json!({"tool_name": "Edit", "tool_use_id": "toolu_01Otlp0000000002", "file_path": "/w/a.rs"}),
        ),
    ];
    let tables = tables(&[log.join("\n")]);
    let calls: Vec<_> = tables
        .tool_calls
        .iter()
        .map(|row| (row.call.tool.as_ref(), row.call.status, row.call.target.as_deref().unwrap_or_default()))
        .collect();
    assert_eq!(calls, [("Bash", CallStatus::Error, "cargo"), ("Edit", CallStatus::Incomplete, "/w/a.rs")]);
}

/// By the conventions, input includes cached tokens; some programs exclude them.
#[test]
fn input_includes_caches_unless_the_counts_show_otherwise() {
    let cases = [
        (json!({"gen_ai.usage.input_tokens": 100, "gen_ai.usage.cache_read.input_tokens": 60}), (Some(40), Some(60))),
        (json!({"gen_ai.usage.input_tokens": 10, "gen_ai.usage.cache_read.input_tokens": 60}), (Some(10), Some(60))),
        (
            json!({"gen_ai.usage.input_tokens": 100, "gen_ai.usage.cache_read.input_tokens": 60,
                   "gen_ai.usage.output_tokens": 5, "gen_ai.usage.total_tokens": 165}),
            (Some(100), Some(60)),
        ),
        (json!({"gen_ai.usage.prompt_tokens": 7}), (Some(7), None)),
    ];
    for (counts, expected) in cases {
        let mut pairs = json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"});
        pairs.as_object_mut().unwrap().extend(counts.as_object().unwrap().clone());
        let tables = tables(&[span(3, "chat m", pairs)]);
        let session = only(&tables);
        assert_eq!(session.session.runtime, "otlp");
        assert_eq!((session.tokens.input, session.tokens.cache_read), expected, "{counts}");
    }
}

/// pydantic-ai and older conventions have other names for counts that are inside of the input and of the output.
#[test]
fn older_names_of_cache_counts_are_inside_of_the_input() {
    for (read, write, reasoning) in [
        ("details.cache_read_tokens", "details.cache_write_tokens", "details.reasoning_tokens"),
        ("details.cache_read_input_tokens", "details.cache_creation_input_tokens", "details.thinking_tokens"),
        ("cache_read_tokens", "cache_write_tokens", "reasoning_tokens"),
        ("cached_input_tokens", "cache_creation_tokens", "reasoning_tokens"),
        ("input_tokens.cached", "input_tokens.cache_write", "output_tokens.reasoning"),
        ("cache_read.input_tokens", "cache_creation.input_tokens", "reasoning.output_tokens"),
    ] {
        let name = |end: &str| format!("gen_ai.usage.{end}");
        let mut pairs = json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"});
        for (end, count) in [("input_tokens", 1000), ("output_tokens", 40), (read, 700), (write, 200), (reasoning, 30)]
        {
            pairs[name(end)] = json!(count);
        }
        let tables = tables(&[span(3, "chat m", pairs)]);
        let tokens = only(&tables).tokens;
        assert_eq!((tokens.input, tokens.cache_read, tokens.cache_write), (Some(100), Some(700), Some(200)), "{read}");
        assert_eq!((tokens.output, tokens.reasoning), (Some(40), Some(30)), "{reasoning}");
    }
}

/// No event ends a session: only a failed last request shows how it ended.
#[test]
fn a_failed_last_request_is_an_error() {
    let failed = event(9, "api_error", json!({"error": "Overloaded", "status_code": "529", "attempt": 11}));
    let request = request(5, "req_1", "claude-sonnet-5", 7, 50);
    let status = |lines: [&String; 2]| only(&tables(&[lines.map(String::as_str).join("\n")])).session.status;
    assert_eq!(status([&request, &failed]), Status::Error);
    assert_eq!(status([&failed, &request]), Status::Unknown);
}

/// Records of other programs in the same file are of no session.
#[test]
fn telemetry_of_other_programs_is_unknown() {
    let record = json!({"timeUnixNano": nanoseconds(1), "body": {"stringValue": "GET /"}, "attributes": []});
    let line = json!({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}).to_string();
    let parsed = agentlogs::adapters::parse(
        format!("{line}\n{}", request(5, "req_1", "m", 7, 50)).as_bytes(),
        agentlogs::adapters::Hints::default(),
        agentlogs::model::retention::Retention::None,
    );
    assert_eq!((parsed.format, parsed.sessions.len(), parsed.health.unknown_records), (Some("otlp"), 1, 1));
}

/// A line of Copilot's file exporter.
fn copilot_span(second: u64, id: &str, parent: &str, operation: &str, more: Value) -> String {
    let mut attributes = json!({"gen_ai.operation.name": operation});
    let Value::Object(more) = more else { panic!() };
    more.into_iter().for_each(|(key, value)| attributes[key] = value);
    json!({
        "type": "span", "traceId": "t1", "spanId": id, "parentSpanId": parent, "name": operation, "attributes": attributes,
        "startTime": [1_791_450_000 + second, 748_000_000], "endTime": [1_791_450_001 + second, 0], "status": {"code": 0},
        "resource": {"attributes": {"service.name": "github-copilot", "service.version": "1.0.84"}},
    })
    .to_string()
}

fn copilot_request(second: u64, id: &str, parent: &str, input: i64, output: i64) -> String {
    let more = json!({
        "gen_ai.response.model": "m", "gen_ai.response.id": format!("resp {id}"), "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": input, "gen_ai.usage.output_tokens": output,
        "gen_ai.usage.cache_read.input_tokens": 40, "gen_ai.usage.cache_creation.input_tokens": 0,
    });
    copilot_span(second, id, parent, "chat", more)
}

/// Requests are the spans with usage. The span of the agent repeats their sum, and names the conversation of its trace.
#[test]
fn spans_in_a_file_are_requests() {
    let sum = json!({"gen_ai.usage.input_tokens": 600, "gen_ai.conversation.id": SESSION});
    let lines = [
        r#"{"type":"metric","name":"gen_ai.client.token.usage","dataPoints":[]}"#.to_owned(),
        copilot_request(1, "a", "root", 100, 7),
        copilot_span(2, "b", "root", "chat", json!({"gen_ai.request.model": "m"})),
        copilot_span(
            3,
            "c",
            "root",
            "execute_tool",
            json!({"gen_ai.tool.name": "bash", "gen_ai.tool.call.id": "call_1"}),
        ),
        copilot_request(4, "d", "inner", 200, 9),
        copilot_span(4, "inner", "c", "invoke_agent", json!({"gen_ai.agent.name": "explore"})),
        copilot_request(5, "e", "root", 300, 8),
        copilot_span(0, "root", "", "invoke_agent", sum),
    ];
    let all = tables(&[lines.join("\n")]);
    let [row] = all.sessions.as_slice() else { panic!() };
    assert_eq!((row.session.runtime.as_ref(), row.session.session_id.as_str()), ("copilot", SESSION));
    assert_eq!((row.tokens.kinds(), row.tool_calls), ([Some(480), Some(24), Some(120), Some(0)], Some(1)));
    assert_eq!(row.session.runtime_version.as_deref(), Some("1.0.84"));
    // A credit is a cent.
    let billed = lines
        .join("\n")
        .replace("\"gen_ai.usage.output", "\"github.copilot.nano_aiu\":3000000000,\"gen_ai.usage.output");
    let costs = tables(&[billed]).turns.into_iter().map(|row| row.turn.cost.map(|cost| cost.total));
    assert_eq!(costs.collect::<Vec<_>>(), [Some(0.03); 3]);
    let agents: Vec<_> = all.turns.iter().map(|row| row.turn.agent.as_deref()).collect();
    assert_eq!(agents, [None, Some("explore"), None]);
    // Beside the log of a killed process, which has outputs only.
    let event = |second: u32, kind: &str, data: Value| {
        let time = format!("2026-10-08T09:00:{second:02}Z");
        json!({"type": kind, "data": data, "id": format!("e{second}"), "timestamp": time, "parentId": null}).to_string()
    };
    let answer = |second: u32, id: &str, output: i64| {
        event(
            second,
            "assistant.message",
            json!({"messageId": id, "apiCallId": id, "model": "m", "content": "", "outputTokens": output}),
        )
    };
    let start = event(0, "session.start", json!({"sessionId": SESSION}));
    // The first is found by its id, the others by their outputs.
    let log = [start, answer(2, "resp a", 7), answer(5, "x", 9), answer(6, "y", 8)].join("\n");
    for logs in [[log.clone(), lines.join("\n")], [lines.join("\n"), log]] {
        let both = tables(&logs);
        assert_eq!(both.sessions.len(), 1);
        assert_eq!((both.sessions[0].tokens.kinds(), both.sessions[0].turns), (row.tokens.kinds(), Some(3)));
    }
}

/// A span of another library: its names, its id and the span around it.
fn library_span(id: u64, parent: &str, name: &str, pairs: Value) -> Value {
    json!({
        "traceId": "4bf92f3577b34da6a3ce929d0e0e4736", "spanId": format!("{id:016}"), "parentSpanId": parent, "name": name,
        "startTimeUnixNano": nanoseconds(id), "endTimeUnixNano": nanoseconds(id + 1), "attributes": attributes(pairs),
    })
}

fn exported(spans: &[Value]) -> String {
    let resource = json!({"attributes": attributes(json!({"service.name": "shop"}))});
    json!({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]}).to_string()
}

/// Libraries that do not name the operation of a span: it is a request if it has a model and counts.
#[test]
fn spans_with_a_model_and_counts_are_requests() {
    for (name, pairs) in [
        (
            "ai.streamText.doStream",
            json!({"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 5,
                   "ai.usage.cachedInputTokens": 60}),
        ),
        (
            "ai.generateText.doGenerate",
            json!({"ai.model.id": "m", "ai.usage.inputTokens": 100, "ai.usage.outputTokens": 5,
                   "ai.usage.cachedInputTokens": 60, "ai.usage.totalTokens": 105}),
        ),
        (
            "openai.chat",
            json!({"gen_ai.request.model": "m", "gen_ai.usage.prompt_tokens": 100, "gen_ai.usage.completion_tokens": 5,
                   "gen_ai.usage.cache_read_input_tokens": 60}),
        ),
        (
            "ChatCompletion",
            json!({"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.token_count.prompt": 100,
                   "llm.token_count.completion": 5, "llm.token_count.prompt_details.cache_read": 60}),
        ),
        (
            "text_completion",
            json!({"gen_ai.operation.name": "responses", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 100,
                   "gen_ai.usage.output_tokens": 5, "gen_ai.usage.cache_read.input_tokens": 60}),
        ),
    ] {
        let tables = tables(&[exported(&[library_span(1, "", name, pairs)])]);
        let session = only(&tables);
        let found = (session.tokens.input, session.tokens.cache_read, session.tokens.output);
        assert_eq!(found, (Some(40), Some(60), Some(5)), "{name}");
        assert_eq!(session.session.model.as_deref().or(tables.turns[0].turn.model.as_deref()), Some("m"), "{name}");
    }
    let tool = json!({"openinference.span.kind": "TOOL", "llm.model_name": "m", "llm.token_count.prompt": 100});
    assert!(tables(&[exported(&[library_span(1, "", "tool", tool)])]).sessions.is_empty());
}

/// The sum that an agent states counts where no request of its trace is known.
#[test]
fn the_run_of_an_agent_is_a_total_without_its_requests() {
    let pairs = |operation: &str, input: i64| {
        json!({"gen_ai.operation.name": operation, "gen_ai.conversation.id": "c1", "gen_ai.request.model": "m",
               "gen_ai.usage.input_tokens": input, "gen_ai.usage.output_tokens": 10})
    };
    let id = |id: u64| format!("{id:016}");
    let trace = |mut span: Value, name: &str| {
        span["traceId"] = json!(name);
        span
    };
    let agent = |number: u64, parent: &str, input| library_span(number, parent, "agent", pairs("invoke_agent", input));
    let chat = |number: u64, parent: &str, input| library_span(number, parent, "chat m", pairs("chat", input));
    let tool = |number: u64, parent: &str| {
        let pairs =
            json!({"gen_ai.operation.name": "execute_tool", "gen_ai.conversation.id": "c1", "gen_ai.tool.name": "t"});
        library_span(number, parent, "tool", pairs)
    };
    let unnamed =
        json!({"openinference.span.kind": "AGENT", "llm.token_count.prompt": 1000, "llm.token_count.completion": 10});
    let inputs = |files: &[Vec<Value>]| {
        let logs: Vec<_> = files.iter().map(|spans| exported(spans)).collect();
        let tables = tables(&logs);
        let rows: Vec<_> = tables.turns.iter().map(|row| (row.grain.as_str(), row.turn.tokens.get().input)).collect();
        (only(&tables).usage.as_str(), rows)
    };
    let total = |input| ("lower_bound", vec![("session", Some(input))]);
    assert_eq!(inputs(&[vec![agent(1, "", 1000)]]), total(1000));
    assert_eq!(inputs(&[vec![library_span(1, "", "agent", unnamed)]]), total(1000));
    // An agent inside of another one, also where the span between them is in another file.
    assert_eq!(inputs(&[vec![agent(1, "", 1000), tool(2, &id(1)), agent(3, &id(2), 300)]]).1, total(1000).1);
    let mut outer = agent(1, "", 1000);
    outer["endTimeUnixNano"] = json!(nanoseconds(9));
    assert_eq!(inputs(&[vec![agent(3, &id(2), 300), outer]]), total(1000));
    // Two runs, and copies of them.
    let runs = || vec![agent(1, "", 1000), trace(agent(5, "", 500), "other")];
    let two = ("lower_bound", vec![("session", Some(1000)), ("session", Some(500))]);
    assert_eq!(inputs(&[runs()]), two);
    assert_eq!(inputs(&[runs(), runs()]), two);
    // Beside requests, in the same file or in another one.
    let request = || chat(2, &id(1), 900);
    assert_eq!(inputs(&[vec![request(), agent(1, "", 1000)]]), ("exact", vec![("turn", Some(900))]));
    assert_eq!(inputs(&[vec![agent(1, "", 1000), request()]]), ("exact", vec![("turn", Some(900))]));
    for files in [[vec![request()], vec![agent(1, "", 1000)]], [vec![agent(1, "", 1000)], vec![request()]]] {
        assert_eq!(inputs(&files).1, [("turn", Some(900)), ("session", Some(100))]);
    }
}

/// A span with any names, from a second up to another one. It states counts unless both are 0.
fn placed_span(id: u64, parent: u64, seconds: [u64; 2], operation: &str, [input, output]: [i64; 2]) -> Value {
    let parent = if parent == 0 { String::new() } else { format!("{parent:016}") };
    let mut pairs = json!({});
    if !operation.is_empty() {
        pairs =
            json!({"gen_ai.operation.name": operation, "gen_ai.conversation.id": "c1", "gen_ai.request.model": "m"});
    }
    if input > 0 {
        pairs["gen_ai.usage.input_tokens"] = json!(input);
        pairs["gen_ai.usage.output_tokens"] = json!(output);
    }
    let mut span = library_span(id, &parent, if operation.is_empty() { "POST /chat" } else { operation }, pairs);
    span["startTimeUnixNano"] = json!(nanoseconds(seconds[0]));
    span["endTimeUnixNano"] = json!(nanoseconds(seconds[1]));
    span
}

/// The usage and the sum of the only session of files with these spans, whatever the order of the files.
fn usage_of_spans(files: &[Vec<Value>]) -> (&'static str, Option<i64>) {
    let mut logs: Vec<_> = files.iter().map(|spans| exported(spans)).collect();
    let [first, second] = [(); 2].map(|()| {
        logs.reverse();
        let tables = tables(&logs);
        (only(&tables).usage.as_str(), only(&tables).tokens.total())
    });
    assert_eq!(first, second);
    first
}

/// Agents that run at the same time below one span are not inside of each other, whatever that span is and wherever it is.
#[test]
fn parallel_runs_below_one_span_add_up() {
    let root = |operation: &str| placed_span(1, 0, [0, 100], operation, [0, 0]);
    let first = || placed_span(2, 1, [1, 90], "invoke_agent", [1000, 10]);
    let second = |end: u64| placed_span(3, 1, [2, end], "invoke_agent", [2000, 20]);
    let both = ("lower_bound", Some(3030));
    for operation in ["", "invoke_workflow", "execute_tool"] {
        for end in [50, 95] {
            assert_eq!(usage_of_spans(&[vec![root(operation), first(), second(end)]]), both, "{operation}");
            assert_eq!(usage_of_spans(&[vec![root(operation), first()], vec![second(end)]]), both, "{operation}");
            assert_eq!(usage_of_spans(&[vec![first()], vec![root(operation), second(end)]]), both, "{operation}");
        }
    }
    assert_eq!(usage_of_spans(&[vec![first(), second(50)]]), both);
    assert_eq!(usage_of_spans(&[vec![first()], vec![second(50)]]), both);
}

/// The sum of a run contains those of the runs inside of it, also where another file has these or the spans between them.
#[test]
fn runs_inside_of_each_other_count_once_over_files() {
    let outer = || placed_span(2, 0, [1, 90], "invoke_agent", [1000, 10]);
    let tool = || placed_span(4, 2, [4, 11], "execute_tool", [0, 0]);
    let inner = |parent: u64| placed_span(3, parent, [5, 10], "invoke_agent", [400, 4]);
    let once = ("lower_bound", Some(1010));
    assert_eq!(usage_of_spans(&[vec![outer(), inner(2)]]), once);
    assert_eq!(usage_of_spans(&[vec![outer()], vec![inner(2)]]), once);
    assert_eq!(usage_of_spans(&[vec![outer(), tool()], vec![inner(4)]]), once);
    assert_eq!(usage_of_spans(&[vec![outer()], vec![inner(4), tool()]]), once);
    assert_eq!(usage_of_spans(&[vec![outer()], vec![inner(4)], vec![tool()]]), once);
    // Copies of the files add nothing.
    assert_eq!(usage_of_spans(&[vec![outer()], vec![inner(2)], vec![inner(2), outer()]]), once);
}

/// Only the runs around a request repeat it. Others of its trace count.
#[test]
fn a_run_without_requests_counts_beside_those_of_another_run() {
    let root = || placed_span(1, 0, [0, 100], "", [0, 0]);
    let workflow = || placed_span(1, 0, [0, 100], "invoke_workflow", [6000, 60]);
    let run = || placed_span(2, 1, [1, 90], "invoke_agent", [1000, 10]);
    let tool = || placed_span(6, 2, [2, 5], "execute_tool", [0, 0]);
    let request = |parent: u64| placed_span(3, parent, [3, 4], "chat", [300, 5]);
    let other = || placed_span(4, 1, [92, 95], "invoke_agent", [5000, 50]);
    let both = ("lower_bound", Some(305 + 5050));
    assert_eq!(usage_of_spans(&[vec![root(), run(), request(2), other()]]), both);
    assert_eq!(usage_of_spans(&[vec![other(), request(6), tool(), run(), workflow()]]), both);
    // The span between them is absent: its times show that the request is inside of the first run.
    assert_eq!(usage_of_spans(&[vec![root(), run(), request(6), other()]]), both);
    // A later part of the session is not exact either.
    let later = placed_span(5, 1, [96, 99], "chat", [40, 4]);
    assert_eq!(usage_of_spans(&[vec![root(), other(), later]]), ("lower_bound", Some(5050 + 44)));
    assert_eq!(usage_of_spans(&[vec![root(), run(), request(2)]]), ("exact", Some(305)));
    // What another file states of the run may contain its requests.
    assert_eq!(usage_of_spans(&[vec![root(), run(), request(2)], vec![other()]]), ("lower_bound", Some(5050)));
}

/// Of spans around each other the innermost is the request, unless one around it names its operation.
#[test]
fn nested_spans_of_a_request_count_once() {
    let usage = |input: i64| json!({"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": input});
    let named = |input: i64| {
        let mut pairs = usage(input);
        pairs["gen_ai.operation.name"] = json!("chat");
        pairs
    };
    let id = |id: u64| format!("{id:016}");
    let tool = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read"});
    let inputs = |mut spans: Vec<Value>| {
        let mut all = Vec::new();
        for _ in 0..2 {
            let tables = tables(&[exported(&spans)]);
            let mut inputs: Vec<_> = tables.turns.iter().filter_map(|row| row.turn.tokens.get().input).collect();
            inputs.sort_unstable();
            assert!(tables.tool_calls.iter().all(|row| row.call.turn.is_none_or(|turn| turn < inputs.len())));
            all.push(inputs);
            spans.reverse();
        }
        assert_eq!(all[0], all[1]);
        all.swap_remove(0)
    };
    let sum = || library_span(1, "", "ai.generateText", usage(30));
    let steps =
        || [10, 20].map(|input| library_span(input, &id(1), "ai.generateText.doGenerate", usage(input.cast_signed())));
    let [one, two] = steps();
    assert_eq!(inputs(vec![sum(), one, two, library_span(21, &id(1), "ai.toolCall", tool)]), [10, 20]);
    let outer = library_span(1, "", "chat m", named(30));
    let inner = library_span(2, &id(1), "openai.chat", usage(30));
    assert_eq!(inputs(vec![outer.clone(), inner]), [30]);
    let inner = library_span(2, &id(1), "chat m", named(29));
    assert_eq!(inputs(vec![library_span(1, "", "ChatOpenAI.chat", usage(30)), inner.clone()]), [29]);
    // Both name their operation: they are requests.
    assert_eq!(inputs(vec![outer, inner]), [29, 30]);
}

/// Spans with counts that are not read are named.
#[test]
fn spans_with_unread_counts_are_named() {
    let pairs = json!({"llm.tokens.used": 100});
    let line = exported(&[library_span(1, "", "llm call", pairs)]);
    let parsed = agentlogs::adapters::parse(
        line.as_bytes(),
        agentlogs::adapters::Hints::default(),
        agentlogs::model::retention::Retention::None,
    );
    let found: Vec<_> =
        parsed.health.unknown_types.iter().map(|it| (it.name.as_str(), it.contents.has_counts)).collect();
    assert_eq!(found, [("span/llm call", true)]);
}

/// Gemini CLI itself writes its events to a file, each over several lines.
#[test]
fn events_in_a_file_are_read() {
    let record = |name: &str, more: Value| {
        let mut attributes = json!({
            "session.id": SESSION, "event.name": format!("gemini_cli.{name}"), "event.timestamp": "2026-10-11T12:02:03.456Z",
        });
        attributes.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let resource = json!({"_rawAttributes": [["service.name", "gemini-cli"], ["service.version", "0.9"]]});
        let record = json!({"hrTime": [1_791_720_123, 456_000_000], "_body": "x", "resource": resource, "attributes": attributes});
        serde_json::to_string_pretty(&record).unwrap()
    };
    let response = json!({
        "model": "gemini-3-pro", "input_token_count": 20, "cached_content_token_count": 5, "output_token_count": 7,
        "thoughts_token_count": 3, "total_token_count": 30, "duration_ms": 2300, "prompt_id": "p1",
    });
    // It repeats the response.
    let details = json!({
        "event.name": "gen_ai.client.inference.operation.details", "gen_ai.response.model": "gemini-3-pro",
        "gen_ai.usage.input_tokens": 20, "gen_ai.usage.output_tokens": 7,
    });
    let call = json!({"function_name": "read_file", "function_args": "{}", "success": true, "decision": "accept"});
    let prompt = json!({"prompt_id": "p1", "prompt_length": 9});
    let metrics = json!({"resource": {}, "scopeMetrics": [{"metrics": [{"name": "gemini_cli.token.usage"}]}]});
    let log = [
        record("config", json!({"model": "gemini-3-pro"})),
        record("user_prompt", prompt),
        record("api_response", response),
        record("", details),
        record("tool_call", call),
        serde_json::to_string_pretty(&metrics).unwrap(),
    ];
    let tables = tables(&[log.join("\n")]);
    let session = only(&tables);
    assert_eq!((session.session.runtime.as_ref(), session.session.runtime_version.as_deref()), ("gemini", Some("0.9")));
    let tokens = session.tokens;
    assert_eq!((tokens.input, tokens.cache_read, tokens.output), (Some(15), Some(5), Some(10)));
    assert_eq!((session.user_turns, tables.tool_calls.len()), (Some(1), 1));
    assert_eq!(session.usage, Usage::Exact);
}

#[test]
fn events_of_claude_code_state_tools_of_servers_skills_and_places() {
    let server = |server: &str| format!(r#"{{"mcp_server_name":"{server}","mcp_tool_name":"create_issue"}}"#);
    let decided = |second, id: &str, more: Value| {
        let mut pairs = json!({"tool_name": "mcp_tool", "tool_use_id": id, "decision": "accept"});
        pairs.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event(second, "tool_decision", pairs)
    };
    let result = |second, id: &str, more: Value| {
        let mut pairs = json!({"tool_name": "mcp_tool", "tool_use_id": id, "success": "true", "duration_ms": 900});
        pairs.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event(second, "tool_result", pairs)
    };
    let mut answered: Value = serde_json::from_str(&request(5, "req_1", "claude-opus-5", 7, 50)).unwrap();
    let record = &mut answered["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]["attributes"];
    let paths = json!({"arrayValue": {"values": [{"stringValue": "/home/u/web"}, {"stringValue": "/home/u/lib"}]}});
    let place = json!({
        "vcs.repository.url.full": "https://github.com/acme/web.git", "vcs.ref.head.name": "main",
        "skill.name": "code-review", "plugin.name": "acme",
    });
    record.as_array_mut().unwrap().extend(attributes(place).as_array().unwrap().clone());
    record.as_array_mut().unwrap().push(json!({"key": "workspace.host_paths", "value": paths}));
    let log = [
        answered.to_string(),
        decided(6, "toolu_1", json!({})),
        result(7, "toolu_1", json!({"tool_parameters": server("git hub"), "tool_input": r#"{"title":"x"}"#})),
        decided(8, "toolu_2", json!({"tool_parameters": server("github")})),
        result(9, "toolu_2", json!({"tool_parameters": server("github")})),
        result(10, "toolu_3", json!({})),
        event(11, "compaction", json!({"trigger": "auto", "success": "false", "pre_tokens": 190_000})),
    ];
    let tables = tables(&[log.join("\n")]);
    let call = |call: &agentlogs::model::session::ToolCall| {
        let server = call.mcp_server.as_deref().map(str::to_owned);
        (call.tool.to_string(), call.category.to_string(), server, call.args_bytes.get())
    };
    let calls: Vec<_> = tables.tool_calls.iter().map(|row| call(&row.call)).collect();
    let expected = |tool: &str, server: Option<&str>, arguments| {
        (tool.to_owned(), "mcp".to_owned(), server.map(str::to_owned), arguments)
    };
    assert_eq!(
        calls,
        [
            expected("mcp__git_hub__create_issue", Some("git_hub"), Some(13)),
            expected("mcp__github__create_issue", Some("github"), None),
            expected("mcp_tool", None, None),
        ]
    );
    let session = only(&tables);
    assert_eq!(session.compactions, Some(0));
    let place = &session.session;
    assert_eq!(
        [&place.cwd, &place.repository, &place.git_branch].map(Option::as_deref),
        [Some("/home/u/web"), Some("github.com/acme/web"), Some("main")]
    );
    let details = tables.turns[0].turn.details.as_ref().unwrap();
    assert_eq!((details.skill.as_deref(), details.plugin.as_deref()), (Some("code-review"), Some("acme")));
}

/// The input of Codex includes both caches.
#[test]
fn events_of_codex_state_cache_writes_tier_and_effort() {
    let event = |second, name: &str, mut pairs: Value| {
        pairs["conversation.id"] = json!(SESSION);
        pairs["event.name"] = json!(format!("codex.{name}"));
        let record = json!({"timeUnixNano": nanoseconds(second), "attributes": attributes(pairs)});
        json!({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}).to_string()
    };
    let completed = json!({
        "event.kind": "response.completed", "input_token_count": "10000", "output_token_count": "100",
        "cached_token_count": 2000, "cache_write_token_count": 3000, "reasoning_token_count": 50,
        "service_tier": "priority", "model_reasoning_effort": "high",
    });
    let log = [event(1, "conversation_starts", json!({"reasoning_effort": "low"})), event(2, "sse_event", completed)];
    let tables = tables(&[log.join("\n")]);
    let tokens = only(&tables).tokens;
    assert_eq!((tokens.input, tokens.cache_read, tokens.cache_write), (Some(5000), Some(2000), Some(3000)));
    let turn = &tables.turns[0].turn;
    assert_eq!((turn.service_tier.as_deref(), turn.effort.as_deref()), (Some("priority"), Some("high")));
}

/// The tracing of Anthropic's SDK states the compaction of a request apart from its counts.
#[test]
fn a_compaction_beside_the_counts_of_a_request_is_counted() {
    let pairs = json!({
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic", "gen_ai.conversation.id": SESSION,
        "gen_ai.request.model": "claude-opus-5", "gen_ai.request.reasoning.level": "high", "gen_ai.response.id": "msg_1",
        "gen_ai.usage.input_tokens": 11_510, "gen_ai.usage.cache_read.input_tokens": 11_000,
        "gen_ai.usage.cache_write.input_tokens": 500, "gen_ai.usage.output_tokens": 200,
        "anthropic.usage.cache_creation.ephemeral_1h_input_tokens": 500,
        "anthropic.usage.compaction.input_tokens": 90_000, "anthropic.usage.compaction.output_tokens": 3000,
    });
    let tables = tables(&[exported(&[library_span(1, "", "anthropic.messages.create", pairs)])]);
    let tokens = only(&tables).tokens;
    assert_eq!([tokens.input, tokens.output, tokens.cache_read], [Some(90_010), Some(3200), Some(11_000)]);
    assert_eq!([tokens.cache_write, tokens.cache_write_1h], [Some(500), Some(500)]);
    let efforts: Vec<_> = tables.turns.iter().map(|row| row.turn.effort.as_deref()).collect();
    assert!(efforts.contains(&Some("high")), "{efforts:?}");
}
