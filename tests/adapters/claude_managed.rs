//! Events of Claude Managed Agents: in several containers and files, with totals and threads.

use agentlogs::model::session::{EventKind, Status, Tokens};
use agentlogs::model::tables::{Grain, Tables};

use super::{sessions, sessions_at, tables};

/// An id as Anthropic makes them, which is unique everywhere.
fn id(number: u32) -> String {
    format!("sevt_01AbCdEfGhJkLmNpQrSt{number:04}")
}

/// An event, which is logged at a second.
fn event(number: u32, kind: &str, more: &str) -> String {
    let (id, minute, second) = (id(number), number / 60, number % 60);
    format!(r#"{{"id":"{id}","type":"{kind}","processed_at":"2026-09-01T10:{minute:02}:{second:02}Z"{more}}}"#)
}

fn thread(number: u32, status: &str, thread: &str, more: &str) -> String {
    let more = format!(r#","session_thread_id":"{thread}","agent_name":"{thread}-agent"{more}"#);
    event(number, &format!("session.thread_status_{status}"), &more)
}

/// A request that ends two seconds after it began.
fn request(number: u32, input: u32, output: u32) -> [String; 2] {
    let usage = format!(
        r#","model_request_start_id":"{}","is_error":false,"model_usage":{{"input_tokens":{input},"output_tokens":{output},"cache_read_input_tokens":0,"cache_creation_input_tokens":0}}"#,
        id(number)
    );
    [event(number, "span.model_request_start", ""), event(number + 2, "span.model_request_end", &usage)]
}

fn usage(input: u32, output: u32, cents: &str) -> String {
    format!(
        r#","usage":{{"input_tokens":{input},"output_tokens":{output},"cache_read_input_tokens":0,"cache_creation":{{"ephemeral_5m_input_tokens":0}},"list_cost":{{"amount":"{cents}","currency":"USD"}}}}"#
    )
}

fn idle(number: u32, reason: &str) -> String {
    event(number, "session.status_idle", &format!(r#","stop_reason":{{"type":"{reason}"}}"#))
}

const OBJECT: &str = r#"{"type":"session","id":"sesn_1","environment_id":"env_1","status":"idle","created_at":"2026-09-01T09:59:59Z","updated_at":"2026-09-01T10:00:00Z","agent":{"name":"main","model":{"id":"claude-sonnet-5"}}"#;

/// A session with two requests, of which the last total contains 3 more input tokens.
fn session() -> Vec<String> {
    let mut events = vec![
        event(1, "session.status_running", ""),
        thread(2, "running", "sthr_a", ""),
        event(3, "user.message", r#","content":[{"type":"text","text":"Go"}]"#),
    ];
    events.extend(request(4, 10, 5));
    let call = r#","name":"bash","input":{"command":"make"},"evaluated_permission":"allow""#;
    events.insert(4, event(5, "agent.tool_use", call));
    let result = format!(r#","tool_use_id":"{}","is_error":true,"content":[{{"type":"text","text":"x"}}]"#, id(5));
    events.push(event(7, "agent.tool_result", &result));
    events.extend(request(8, 20, 6));
    events.push(thread(901, "idle", "sthr_a", "").replace("10:15:01", "10:00:11"));
    events.push(event(11, "session.usage", &usage(33, 11, "2")));
    events.push(idle(12, "end_turn"));
    events
}

/// Session id, tokens, cost, prompts, calls and failed calls of each session.
type Row<'a> = (&'a str, Option<i64>, Option<f64>, [Option<i64>; 4]);

fn rows(tables: &Tables) -> Vec<Row<'_>> {
    let row = |it: &'_ agentlogs::model::tables::SessionRow| {
        let counts = [it.turns, it.user_turns, it.tool_calls, it.tool_errors];
        // Shares of a cost do not add up to the last digit.
        (it.tokens.total(), it.money.cost.map(|cost| (cost * 1e6).round() / 1e6), counts)
    };
    let ids = tables.sessions.iter().map(|it| it.session.session_id.as_str());
    ids.zip(tables.sessions.iter().map(row)).map(|(id, (tokens, cost, counts))| (id, tokens, cost, counts)).collect()
}

const COUNTS: [Option<i64>; 4] = [Some(2), Some(1), Some(1), Some(1)];

#[test]
fn events_are_the_same_in_each_container() {
    let events = session();
    let joined = events.join(",");
    let backwards = events.iter().rev().cloned().collect::<Vec<_>>().join(",");
    let wrapped = |name: &str| events.iter().map(|it| format!(r#"{{"{name}":{it}}}"#)).collect::<Vec<_>>().join("\n");
    for log in [
        events.join("\n"),
        format!("[{joined}]"),
        format!(r#"{{"data":[{joined}],"next_page":null}}"#),
        format!(r#"{{"data":[{backwards}],"next_page":null}}"#),
        format!("{{\"events\":[\n{joined}\n]}}"),
        wrapped("raw"),
        wrapped("event"),
        wrapped("data"),
        // The list is read again after the stream broke.
        [&events[..6], &events[..]].concat().join("\n"),
    ] {
        assert_eq!(rows(&tables(&[&log])), [("sthr_a", Some(44), Some(0.02), COUNTS)], "{log}");
    }
}

#[test]
fn events_of_the_stream_and_of_the_list_count_once() {
    let events = session();
    let document = |more: &str| format!(r#"{{"session":{OBJECT}{more}}},"events":[{}]}}"#, events.join(","));
    let (stream, list) = (events[3..].join("\n"), events[..8].join("\n"));
    for logs in [
        vec![events.join("\n"), document("")],
        vec![document(&usage(33, 11, "2")), events.join("\n")],
        vec![document(""), stream.clone()],
        vec![document(""), list],
    ] {
        let tables = tables(&logs);
        assert_eq!(rows(&tables), [("sesn_1", Some(44), Some(0.02), COUNTS)], "{logs:?}");
    }
    // An object beside events that do not name it: its total would be counted in addition to theirs.
    let object = format!("{OBJECT}{}}}", usage(33, 11, "2"));
    let tokens: Vec<_> = tables(&[object, events.join("\n")]).sessions.iter().map(|it| it.tokens.total()).collect();
    assert_eq!(tokens, [None, Some(44)]);
}

#[test]
fn a_path_names_the_session() {
    let id = |path: &str| sessions_at(path, &session().join("\n")).swap_remove(0).session_id;
    assert_eq!(id("runs/sesn_01Ab/events.jsonl"), "sesn_01Ab");
    assert_eq!(id("runs/sesn_01Ab.jsonl"), "sesn_01Ab");
    assert_eq!(id("runs/events.jsonl"), "sthr_a");
}

/// The session object can have been fetched at any time.
#[test]
fn a_total_of_the_object_is_that_of_its_time() {
    let events: Vec<String> = session().into_iter().filter(|it| !it.contains("session.usage")).collect();
    let spent = |more: &str| {
        let tables = tables(&[format!("{OBJECT}{more}}}\n{}", events.join("\n"))]);
        (tables.sessions[0].tokens.total(), tables.sessions[0].usage.as_str())
    };
    assert_eq!(spent(""), (Some(41), "exact"));
    assert_eq!(spent(&usage(33, 11, "2")), (Some(44), "exact"), "at the end");
    assert_eq!(spent(&usage(30, 11, "2")), (Some(41), "exact"), "the same");
}

#[test]
fn the_cost_of_a_part_is_not_that_of_the_session() {
    let mut events = session();
    let place = events.iter().position(|it| it.contains("session.usage")).unwrap();
    for (total, cost, usage_state) in [
        (usage(30, 11, "2"), Some(0.02), "exact"),
        (usage(33, 2, "1"), None, "conflict"),
        (usage(35, 9, "2"), Some(0.02), "conflict"),
    ] {
        events[place] = event(11, "session.usage", &total);
        let tables = tables(&[events.join("\n")]);
        assert_eq!((tables.sessions[0].money.cost, tables.sessions[0].usage.as_str()), (cost, usage_state), "{total}");
    }
}

#[test]
fn requests_that_a_log_lacks_make_it_a_lower_bound() {
    let without_total: Vec<String> = session().into_iter().filter(|it| !it.contains("session.usage")).collect();
    let state = |more: &[String]| {
        let mut events = without_total.clone();
        events.splice(3..3, more.iter().cloned());
        tables(&[events.join("\n")]).sessions[0].usage.as_str()
    };
    assert_eq!(state(&[]), "exact");
    let graded = r#","outcome_id":"o","iteration":0,"result":"satisfied","usage":{"input_tokens":6,"output_tokens":2}"#;
    assert_eq!(state(&[event(40, "span.outcome_evaluation_end", graded)]), "lower_bound");
    let created = r#","session_thread_id":"sthr_b","agent_name":"b""#;
    assert_eq!(state(&[event(40, "session.thread_created", created)]), "lower_bound");
    assert_eq!(state(&[event(40, "span.model_request_start", "")]), "lower_bound");
    let mut failed = request(40, 0, 0);
    failed[1] = failed[1].replace(r#""is_error":false"#, r#""is_error":true"#);
    assert_eq!(state(&failed), "exact", "a request that failed without tokens");
}

/// The events of a subagent's thread are in a log of their own; the total of the session contains them.
#[test]
fn a_thread_of_a_subagent_belongs_to_its_session() {
    let mut main = session();
    main.insert(3, event(3, "session.thread_created", r#","session_thread_id":"sthr_b","agent_name":"sthr_b-agent""#));
    main[3] = main[3].replace(&id(3), &id(900));
    let message = r#","from_session_thread_id":"sthr_a","content":[{"type":"text","text":"Read"}]"#;
    let mut child = vec![thread(70, "running", "sthr_b", ""), event(71, "agent.thread_message_received", message)];
    child.extend(request(72, 2, 1));
    child.push(thread(75, "idle", "sthr_b", r#","stop_reason":{"type":"end_turn"}"#));
    let later = r#","from_session_thread_id":"sthr_b","from_agent_name":"sthr_b-agent","content":[]"#;
    main.insert(10, event(76, "agent.thread_message_received", later));
    main[12] = event(77, "session.usage", &usage(33, 12, "2"));
    main[13] = idle(78, "end_turn");
    let (main, child) = (main.join("\n"), child.join("\n"));
    for logs in [[&main, &child], [&child, &main]] {
        let tables = tables(&logs);
        assert_eq!(rows(&tables), [("sthr_a", Some(45), Some(0.02), [Some(3), Some(1), Some(1), Some(1)])], "{logs:?}");
        let session = &tables.sessions[0];
        assert_eq!(
            (session.subagents, session.session.status, session.usage.as_str()),
            (Some(1), Status::Success, "exact")
        );
        let agents: Vec<_> = tables.turns.iter().map(|row| row.turn.agent.as_deref().unwrap_or_default()).collect();
        assert_eq!(agents, ["sthr_a-agent", "sthr_a-agent", "sthr_b-agent", ""]);
        let of_agent = tables.turns.iter().filter(|row| row.turn.is_subagent && row.grain == Grain::Turn);
        assert_eq!(of_agent.map(|row| row.turn.agent_id.as_deref()).collect::<Vec<_>>(), [Some("sthr_b")]);
    }
    // The log of the session names it, and that of the subagent does not. A third one is the beginning of the first.
    let named = format!("{OBJECT}}}\n{main}");
    let cut = main.lines().take(5).collect::<Vec<_>>().join("\n");
    for logs in [vec![&named, &child], vec![&child, &named], vec![&named, &cut, &child], vec![&child, &cut, &named]] {
        let tables = tables(&logs);
        let found: Vec<_> = rows(&tables).into_iter().map(|(id, tokens, _, counts)| (id, tokens, counts[0])).collect();
        assert_eq!(found, [("sesn_1", Some(45), Some(3))], "{logs:?}");
    }
}

#[test]
fn the_last_status_decides() {
    use EventKind::{Abort, Error, Retry};
    let end = |more: &[String]| {
        let mut events = session();
        events.extend(more.iter().cloned());
        let session = sessions(&events.join("\n")).swap_remove(0);
        let kinds: Vec<EventKind> = session.events.iter().map(|it| it.kind).collect();
        (session.status, session.error_kind.map(agentlogs::model::errors::ErrorKind::as_str), kinds)
    };
    let running = event(20, "session.status_running", "");
    let interrupt = |number| event(number, "user.interrupt", "");
    let error = |number, status: &str| {
        let error = format!(
            r#","error":{{"type":"model_overloaded_error","message":"Busy.","retry_status":{{"type":"{status}"}}}}"#
        );
        event(number, "session.error", &error)
    };
    for (more, status, kind, events) in [
        (vec![], Status::Success, None, vec![]),
        (vec![interrupt(21)], Status::Success, None, vec![]),
        (vec![running.clone()], Status::Incomplete, None, vec![]),
        (vec![running.clone(), idle(21, "requires_action")], Status::Incomplete, None, vec![]),
        (vec![running.clone(), interrupt(21), idle(22, "end_turn")], Status::Aborted, Some("cancelled"), vec![Abort]),
        (vec![running.clone(), idle(22, "budget_reached")], Status::Error, Some("budget"), vec![]),
        (
            vec![running.clone(), error(21, "retrying"), event(22, "session.status_rescheduled", "")],
            Status::Incomplete,
            None,
            vec![Retry],
        ),
        (vec![running.clone(), event(22, "session.status_rescheduled", "")], Status::Incomplete, None, vec![Retry]),
        (
            vec![running.clone(), error(21, "exhausted"), idle(22, "retries_exhausted")],
            Status::Error,
            Some("overloaded"),
            vec![Error],
        ),
        (
            vec![running.clone(), error(21, "terminal"), event(22, "session.status_terminated", "")],
            Status::Error,
            Some("overloaded"),
            vec![Error],
        ),
        (vec![running.clone(), event(22, "session.status_terminated", "")], Status::Error, Some("other"), vec![]),
        (
            vec![event(22, "session.status_terminated", ""), event(23, "session.deleted", "")],
            Status::Success,
            None,
            vec![],
        ),
    ] {
        assert_eq!(end(&more), (status, kind, events), "{more:?}");
    }
    // Only some types of events were asked for.
    let log: Vec<String> = session().into_iter().filter(|it| it.contains("span.")).collect();
    assert_eq!(sessions(&log.join("\n"))[0].status, Status::Unknown);
}

#[test]
fn an_event_that_waited_is_read_with_its_time() {
    let mut events = session();
    let queued = events[2].replace(r#""processed_at":"2026-09-01T10:00:03Z""#, r#""processed_at":null"#);
    events.insert(2, queued);
    let session = sessions(&events.join("\n")).swap_remove(0);
    assert_eq!((session.prompts.len(), session.turns[0].latency_ms.map(u32::from)), (1, Some(3000)));
    assert_eq!(session.turns[0].duration_ms.get(), Some(2000));
    assert_eq!(session.turns.iter().map(|it| it.tokens.get()).sum::<Tokens>().total(), Some(41));
}

#[test]
fn records_of_other_runtimes_are_not_events() {
    for log in [
        r#"{"type":"user.message","id":"1","timestamp":"2026-09-01T10:00:00Z","data":{"content":"x"}}"#,
        r#"{"type":"session.error","properties":{"error":{}}}"#,
        r#"{"data":[{"type":"message","processed_at":1}]}"#,
        r#"{"type":"session","version":3,"id":"x"}"#,
    ] {
        let claims = agentlogs::adapters::detect(log.as_bytes(), agentlogs::adapters::Hints::default());
        assert!(claims.iter().all(|(adapter, _)| adapter.id != "claude-managed-events"), "{log}");
    }
}
