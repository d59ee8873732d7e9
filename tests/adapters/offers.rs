//! What sessions state about their instructions, tools, skills and MCP servers: docs/accounting.md#offers.

use std::fs;

use agentlogs::base::text::Symbol;
use agentlogs::model::session::{Instructions, Offer};

use super::sessions_at;
use crate::root;

/// The offer of the first session of a sample in which a text was replaced.
fn offer(sample: &str, old: &str, new: &str) -> Offer {
    let log = fs::read_to_string(root().join("sample-logs").join(sample)).unwrap();
    assert!(log.contains(old), "{sample}: {old}");
    let edited = log.replacen(old, new, 1);
    sessions_at(sample, &edited).swap_remove(0).offer
}

fn text(texts: &[&str]) -> Option<Instructions> {
    let all = texts.iter().fold(Instructions::default(), |all, text| all.then(text));
    (!texts.is_empty()).then_some(all)
}

#[expect(clippy::unnecessary_wraps, reason = "fields are options")]
fn names<const N: usize>(names: [&str; N]) -> Option<std::collections::BTreeSet<Symbol>> {
    Some(names.into_iter().map(Symbol::new).collect())
}

#[test]
fn codex_states_instructions_skills_and_tools_of_apps() {
    let sample = "codex-rollout/fork-refused-and-interrupted.jsonl";
    let meta = r#""cli_version":"0.142.3","#;
    let with = format!(
        r#"{meta}"base_instructions":{{"text":"You are Codex."}},"dynamic_tools":[{{"type":"namespace","name":"app","tools":[{{"name":"open_file"}}]}}],"#
    );
    assert_eq!(
        offer(sample, meta, &with),
        Offer {
            instructions: text(&["You are Codex."]),
            tools: names(["open_file"]),
            mcp_servers: names([]),
            ..Offer::default()
        }
    );
    // The directory before the instruction file is not a part of it; rules for skills are none.
    let before = "{\"timestamp\":\"2026-10-07T11:00:00.002Z\"";
    let message = |role: &str, text: &str| {
        let payload =
            serde_json::json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]});
        format!("{{\"timestamp\":\"2026-10-07T11:00:00.002Z\",\"type\":\"response_item\",\"payload\":{payload}}}\n")
    };
    let skills = "<skills_instructions>\n### Available skills\n- pdf: Reads. (file: r0/pdf/SKILL.md)\n### How to use skills\n- Discovery: The list.\n</skills_instructions>";
    let file = "<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>";
    let messages = [
        message("developer", skills),
        message("user", &format!("# AGENTS.md instructions for /work/shop\n\n{file}")),
        message("user", "# AGENTS.md is my prompt"),
    ];
    let found = offer(sample, before, &format!("{}{before}", messages.concat()));
    let list = "\n- pdf: Reads. (file: r0/pdf/SKILL.md)";
    assert_eq!(
        found,
        Offer {
            instructions: text(&[file]),
            skills: names(["pdf"]),
            skills_bytes: i64::try_from(list.len()).ok(),
            ..Offer::default()
        }
    );
}

#[test]
fn claude_states_skills_tools_and_servers() {
    let sample = "claude-transcript/stubs-and-a-cut.jsonl";
    let first = "\n{\"parentUuid\"";
    let attachment = |attachment: serde_json::Value| {
        let record = serde_json::json!({
            "type": "attachment", "attachment": attachment, "sessionId": "cc011cdd-9474-431b-bf26-144b98289fcd",
            "timestamp": "2026-10-07T21:00:01.000Z",
        });
        format!("\n{record}")
    };
    let list = "- office:pptx: Makes slides.\n- When asked to: do it\n- review";
    let records = [
        attachment(serde_json::json!({"type": "skill_listing", "content": list, "skillCount": 2, "isInitial": true})),
        attachment(serde_json::json!({"type": "deferred_tools_delta", "addedNames": ["WebFetch", "mcp__git__log"]})),
        attachment(serde_json::json!({"type": "mcp_instructions_delta", "addedNames": ["claude.ai Mail"]})),
        attachment(serde_json::json!({"type": "skill_listing", "content": "- a", "names": ["added", "no name"]})),
    ];
    assert_eq!(
        offer(sample, first, &format!("{}{first}", records.concat())),
        Offer {
            instructions: None,
            tools: names(["WebFetch", "mcp__git__log"]),
            skills: names(["added", "office:pptx", "review"]),
            skills_bytes: i64::try_from(list.len()).ok(),
            mcp_servers: names(["claude_ai_Mail", "git"]),
        }
    );
    let found = offer(
        "claude-stream-json/limits-of-two-windows.jsonl",
        r#""mcp_servers":[],"#,
        r#""mcp_servers":[{"name":"git","status":"connected"},{"name":"mail","status":"needs-auth"}],"skills":["loop"],"#,
    );
    let expected = Offer {
        tools: names(["Bash", "Read"]),
        skills: names(["loop"]),
        mcp_servers: names(["git"]),
        ..Offer::default()
    };
    assert_eq!(found, expected);
}

#[test]
fn other_formats_state_what_their_logs_contain() {
    let copilot = r#"{"type":"user.message","data":{"content":"Round"#;
    let event = |kind: &str, data: &str| {
        format!(
            r#"{{"type":"{kind}","data":{data},"id":"{kind}","timestamp":"2026-09-24T08:00:01.500Z","parentId":null}}"#
        ) + "\n"
    };
    let events = [
        event("session.skills_loaded", r#"{"skills":[{"name":"a","enabled":true},{"name":"b","enabled":false}]}"#),
        event("session.mcp_servers_loaded", r#"{"servers":[{"name":"github-mcp-server","status":"connected"}]}"#),
        event("system.message", r#"{"role":"system","content":"You are."}"#),
    ];
    let with_events = format!("{}{copilot}", events.concat());
    let openclaw = r#"{"traceSchema":"openclaw-trajectory","schemaVersion":1,"traceId":"01a1005b-7c00-7e41-8f3a-4be02d9c5510","source":"runtime","type":"trace.metadata""#;
    let compiled = r#"{"traceSchema":"openclaw-trajectory","type":"context.compiled","ts":"2026-10-03T07:00:00.022Z","sessionId":"01a1005b-7c00-7e41-8f3a-4be02d9c5510","runId":"r","data":{"systemPrompt":"You are.","tools":[{"name":"edit"}]}}"#;
    let compiled = format!("{compiled}\n{compiled}\n{openclaw}");
    let openhands = r#""system_prompt":{"text":"x"},"tools":[]"#;
    let prompt = r#""system_prompt":{"text":"You are."},"tools":[{"type":"function","function":{"name":"edit"}}]"#;
    let system = [
        ("copilot-events/subagent-and-compaction.jsonl", copilot, with_events.as_str()),
        (
            "hermes-session/session_20260503_070000_0f0f0f.json",
            "\"system_prompt\": \"x\",\n  \"tools\": []",
            r#""system_prompt": "You are.", "tools": [{"type": "function", "function": {"name": "edit"}}]"#,
        ),
        ("openclaw-trajectory/limit-then-idle-timeout.jsonl", openclaw, &compiled),
        ("openhands-conversation/condensed-and-rejected.jsonl", openhands, prompt),
        ("swe-agent/shop__sums-3.traj", "\"SETTING\"", "\"You are.\""),
        ("mini-swe-agent/submitted.json", "You can use bash.", "You are."),
        (
            "atif/claude-code-with-a-subagent.json",
            "\"steps\": [",
            r#""steps": [{"step_id": 0, "source": "system", "message": "You are."},"#,
        ),
        (
            "inspect-log/two-epochs-and-a-grader.json",
            "\"input\": []",
            r#""input": [{"role": "system", "content": "You are."}]"#,
        ),
    ];
    for (sample, old, new) in system {
        assert_eq!(offer(sample, old, new).instructions, text(&["You are."]), "{sample}");
    }
    let [copilot, hermes, openclaw, openhands] = [0, 1, 2, 3].map(|index| {
        let (sample, old, new) = system[index];
        offer(sample, old, new)
    });
    assert_eq!((copilot.skills, copilot.mcp_servers), (names(["a"]), names(["github-mcp-server"])));
    for offer in [hermes, openclaw, openhands] {
        assert_eq!((offer.tools, offer.mcp_servers, offer.skills), (names(["edit"]), names([]), None));
    }
}
