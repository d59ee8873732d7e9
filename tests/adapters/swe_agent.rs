//! SWE-agent's trajectories.

use agentlogs::model::session::{CallStatus, Status};
use agentlogs::model::tables::Tables;
use serde_json::{Value, json};

use super::tables;

/// The trajectory of one attempt, as its own file contains it.
fn attempt(name: &str, steps: usize, cost: f64, sent: i64, status: &str) -> Value {
    let step = |number: usize| {
        json!({"action": format!("pytest {name}{number}"), "observation": "1 passed", "response": "I run the tests.", "thought": "I run the tests.",
            "execution_time": 0.25, "state": {"open_file": "n/a", "working_dir": "/testbed"}})
    };
    let steps: Vec<Value> = (0..steps).map(step).collect();
    let stats = json!({"instance_cost": cost, "tokens_sent": sent, "tokens_received": 100, "api_calls": steps.len()});
    json!({"trajectory": steps, "history": [], "info": {"exit_status": status, "model_stats": stats}, "replay_config": "{}", "environment": "main"})
}

/// The document of all attempts: that of the chosen one, with the sums of all and of the reviewer.
fn retried(attempts: &[Value], chosen: usize) -> Value {
    let mut document = json!({"attempts": attempts});
    document.as_object_mut().unwrap().extend(attempts[chosen].as_object().unwrap().clone());
    document["info"]["model_stats"] =
        json!({"instance_cost": 0.35, "tokens_sent": 35_000, "tokens_received": 250, "api_calls": 6});
    document["info"]["rloop_model_stats"] =
        json!({"instance_cost": 0.05, "tokens_sent": 5000, "tokens_received": 50, "api_calls": 1});
    document
}

/// Turns, calls, tokens, cost and status of a session.
type Found = (Option<i64>, Option<i64>, Option<i64>, Option<f64>, Status);

fn found(tables: &Tables) -> Vec<Found> {
    let rows = tables.sessions.iter();
    rows.map(|row| (row.turns, row.tool_calls, row.tokens.total(), row.money.cost, row.session.status)).collect()
}

/// An agent that retries writes each attempt to a file of its own, `attempt_N/INSTANCE.traj`, and all of them to `INSTANCE.traj`.
#[test]
fn attempts_count_once() {
    let attempts = [attempt("a", 2, 0.1, 10_000, "submitted"), attempt("b", 3, 0.2, 20_000, "submitted (exit_cost)")];
    let [first, second] = attempts.each_ref().map(|it| format!("{it:#}"));
    let all = format!("{:#}", retried(&attempts, 1));
    let expected = vec![(Some(5), Some(5), Some(35_250), Some(0.35), Status::Error)];
    for logs in
        [vec![&all], vec![&all, &first, &second], vec![&second, &first, &all], vec![&first, &all], vec![&all, &second]]
    {
        assert_eq!(found(&tables(&logs)), expected);
    }
    // Attempts whose document is missing are sessions.
    assert_eq!(found(&tables(&[&first, &second])).len(), 2);
}

#[test]
fn a_run_that_begins_like_an_attempt_is_a_session() {
    let attempts = [attempt("a", 2, 0.1, 10_000, "submitted"), attempt("b", 3, 0.2, 20_000, "submitted")];
    let all = retried(&attempts, 1).to_string();
    for name in ["a", "b"] {
        let other = attempt(name, 5, 9.0, 90_000, "submitted").to_string();
        let mut counts: Vec<_> = found(&tables(&[&all, &other])).iter().map(|it| it.2).collect();
        counts.sort();
        assert_eq!(counts, [Some(35_250), Some(90_100)], "{name}");
    }
    // The documents of two runs, one attempt of which is the same.
    let other = [attempts[1].clone(), attempt("c", 1, 0.3, 5000, "submitted")];
    assert_eq!(found(&tables(&[&all, &retried(&other, 0).to_string()])).len(), 2);
}

/// Two runs of a task can begin with the same steps; a file that was copied while the agent worked contains a beginning of the run.
#[test]
fn runs_that_begin_with_the_same_step_are_sessions_of_their_own() {
    let first = attempt("a", 3, 0.1, 10_000, "submitted");
    let mut second = attempt("a", 3, 0.2, 20_000, "submitted");
    second["trajectory"][2]["action"] = json!("pytest other");
    let copied = attempt("a", 1, 0.05, 5000, "");
    // A run of another trial that ended after the same steps.
    let short = attempt("a", 2, 0.07, 7000, "submitted");
    let logs = [first, second, copied, short].map(|log| log.to_string());
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 2, 0]] {
        let mut counts: Vec<_> =
            found(&tables(&order.map(|index| &logs[index]))).iter().map(|it| (it.0, it.2)).collect();
        counts.sort();
        assert_eq!(counts, [(Some(2), Some(7100)), (Some(3), Some(10_100)), (Some(3), Some(20_100))], "{order:?}");
    }
}

/// SWE-agent's own words begin an observation. Further below, the same words are those of a file.
#[test]
fn words_of_a_failure_begin_an_observation() {
    let status = |observation: String| {
        let mut document = attempt("a", 1, 0.1, 10_000, "submitted");
        document["trajectory"][0]["observation"] = json!(observation);
        tables(&[document.to_string()]).tool_calls[0].call.status
    };
    assert_eq!(status("EXECUTION TIMED OUT".to_owned()), CallStatus::Error);
    // The 400th byte is one inside of a character.
    for before in ["é".repeat(250), format!("x{}", "é".repeat(250))] {
        assert_eq!(status(format!("{before} EXECUTION TIMED OUT")), CallStatus::Ok);
    }
}
