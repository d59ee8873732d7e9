//! What responses are for: skills, plugins, types of agents, slash commands, effort, and why a cache was missed.

use agentlogs::model::tables::Tables;

use super::tables;

/// A line of a transcript of Claude Code.
fn line(kind: &str, second: u32, more: &str) -> String {
    format!(
        r#"{{"type":"{kind}","sessionId":"s","uuid":"u{second}","timestamp":"2026-11-05T10:00:{second:02}Z",{more}}}"#
    )
}

/// A response with members of the record in `more`, and members of the message in `message`.
fn response(second: u32, content: &str, message: &str, more: &str) -> String {
    let usage = r#""usage":{"input_tokens":1,"output_tokens":5}"#;
    let message = format!(
        r#"{{"id":"msg_{second}","model":"m","content":[{content}],"stop_reason":"end_turn",{usage}{message}}}"#
    );
    line("assistant", second, &format!(r#""message":{message}{more}"#))
}

fn user(second: u32, content: &str, more: &str) -> String {
    line("user", second, &format!(r#""message":{{"role":"user","content":{content}}}{more}"#))
}

/// A call of the tool for skills with its result.
fn load(second: u32, skill: &str) -> [String; 2] {
    let call = format!(r#"{{"type":"tool_use","id":"toolu_{second}","name":"Skill","input":{{"skill":"{skill}"}}}}"#);
    let result = format!(r#"[{{"type":"tool_result","tool_use_id":"toolu_{second}","content":"Launching skill"}}]"#);
    [response(second, &call, "", ""), user(second + 1, &result, "")]
}

/// The skill, the plugin, the type of the agent and the command of each response; `-` for NULL.
fn attributions(tables: &Tables) -> Vec<String> {
    let words = tables.turns.iter().map(|row| {
        let names = row.turn.details.as_deref().cloned().unwrap_or_default();
        let names = [names.skill, names.plugin, names.agent_type, names.command];
        names.map(|name| name.map_or("-".to_owned(), |it| it.to_string())).join(" ")
    });
    words.collect()
}

#[test]
fn skills_plugins_and_agents_are_as_stated() {
    let [call, result] = load(2, "office:pptx");
    let lines = [
        user(1, r#""Make slides.""#, ""),
        call,
        result,
        response(4, "", "", r#","attributionSkill":"office:pptx","attributionPlugin":"office","effort":"high""#),
        response(
            5,
            "",
            "",
            r#","isSidechain":true,"agentId":"a1","attributionAgent":"Explore","attributionSkill":"office:pptx""#,
        ),
        response(
            6,
            "",
            r#","diagnostics":{"cache_miss_reason":{"type":"tools_changed","cache_missed_input_tokens":9}}"#,
            r#","attributionMcpServer":"docs","attributionMcpTool":"find""#,
        ),
        response(7, "", r#","diagnostics":null"#, r#","attributionSkill":"make the slides of Ann","effort":"low""#),
    ];
    let tables = tables(&[lines.join("\n")]);
    assert_eq!(
        attributions(&tables),
        ["- - - -", "office:pptx office - -", "office:pptx - Explore -", "- - - -", "- - - -"]
    );
    let efforts: Vec<_> = tables.turns.iter().map(|row| row.turn.effort.as_deref()).collect();
    assert_eq!(efforts, [None, Some("high"), None, None, Some("low")]);
    let reasons: Vec<_> = tables.turns.iter().map(|row| row.details()?.cache_miss_reason.as_deref()).collect();
    assert_eq!(reasons, [None, None, None, Some("tools_changed"), None]);
    let call = &tables.tool_calls[0].call;
    assert_eq!((call.target.as_deref(), call.skill.as_deref()), (Some("office:pptx"), Some("office:pptx")));
}

/// A name that may be text is not stored.
#[test]
fn a_skill_whose_name_may_be_text_is_unknown() {
    let lines = load(1, "write to Ann").to_vec();
    let tables = tables(&[[lines, vec![response(3, "", "", "")]].concat().join("\n")]);
    let call = &tables.tool_calls[0].call;
    assert_eq!((call.target.as_deref(), call.skill.as_deref()), (None, None));
    assert_eq!(attributions(&tables), ["- - - -", "- - - -"]);
}

#[test]
fn the_type_of_a_subagent_is_in_the_file_of_its_parent() {
    let call = r#"{"type":"tool_use","id":"toolu_1","name":"Task","input":{"subagent_type":"Explore"}}"#;
    let result = r#"[{"type":"tool_result","tool_use_id":"toolu_1","content":"Found."}]"#;
    let rich = r#","toolUseResult":{"status":"completed","agentId":"a1"}"#;
    let main = [response(1, call, "", ""), user(8, result, rich), response(9, "", "", "")];
    let agent = |id: &str| response(5, "", "", &format!(r#","isSidechain":true,"agentId":"{id}""#));
    let found = |id: &str| attributions(&tables(&[main.join("\n"), agent(id)]));
    assert_eq!(found("a1"), ["- - - -", "- - Explore -", "- - - -"]);
    assert_eq!(found("a2"), ["- - - -", "- - - -", "- - - -"]);
}

#[test]
fn skills_are_loaded_by_calls_reads_and_commands() {
    let command = |second, name: &str| {
        user(
            second,
            &format!(r#""<command-message>{name}</command-message>\n<command-name>/{name}</command-name>""#),
            "",
        )
    };
    let base = |second| user(second, r#""Base directory for this skill: /s/x""#, r#","isMeta":true"#);
    let shell = |second| {
        response(
            second,
            r#"{"type":"tool_use","id":"toolu_b","name":"Bash","input":{"command":"sed -n 1,9p ~/.agents/skills/merge/SKILL.md"}}"#,
            "",
            "",
        )
    };
    let read = |second| {
        response(
            second,
            r#"{"type":"tool_use","id":"toolu_r","name":"Read","input":{"file_path":"/s/pdf/SKILL.md"}}"#,
            "",
            "",
        )
    };
    let [call, result] = load(21, "a:b");
    let lines = [
        command(1, "review"),
        response(2, "", "", ""),
        command(3, "find-skills"),
        base(4),
        response(5, "", "", ""),
        user(6, r#""Go on.""#, ""),
        response(7, "", "", ""),
        shell(8),
        response(9, "", "", ""),
        read(10),
        response(11, "", "", ""),
        user(12, r#""Thanks.""#, ""),
        response(13, "", "", ""),
        call,
        result,
        response(23, "", "", ""),
    ];
    let tables = tables(&[lines.join("\n")]);
    assert_eq!(
        attributions(&tables),
        [
            "- - - review",
            "find-skills - - find-skills",
            "- - - -",
            "- - - -",
            "merge - - -",
            "merge - - -",
            "pdf - - -",
            "- - - -",
            "- - - -",
            "a:b a - -",
        ]
    );
    let loads: Vec<_> = tables.tool_calls.iter().map(|row| row.call.skill.as_deref()).collect();
    assert_eq!(loads, [Some("merge"), Some("pdf"), Some("a:b")]);
}

/// The rule is the same for the logs of other runtimes.
#[test]
fn a_skill_that_codex_reads_is_in_effect_until_the_next_prompt() {
    let record = |second: u32, kind: &str, payload: &str| {
        format!(r#"{{"timestamp":"2026-11-05T10:00:{second:02}.000Z","type":"{kind}","payload":{payload}}}"#)
    };
    let prompt = |second| record(second, "event_msg", r#"{"type":"user_message","message":"Merge it."}"#);
    let count = |second: u32, total: u32| {
        let usage = format!(r#"{{"input_tokens":{total},"output_tokens":1,"total_tokens":{}}}"#, total + 1);
        record(
            second,
            "event_msg",
            &format!(r#"{{"type":"token_count","info":{{"total_token_usage":{usage},"last_token_usage":{usage}}}}}"#),
        )
    };
    let lines = [
        record(0, "session_meta", r#"{"id":"t"}"#),
        prompt(1),
        record(
            2,
            "response_item",
            r#"{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"cat /s/merge/SKILL.md\"}","call_id":"a"}"#,
        ),
        count(3, 10),
        record(
            4,
            "response_item",
            r#"{"type":"function_call_output","call_id":"a","output":"Process exited with code 0\nOutput:\n"}"#,
        ),
        count(5, 20),
        prompt(6),
        count(7, 30),
    ];
    assert_eq!(attributions(&tables(&[lines.join("\n")])), ["- - - -", "merge - - -", "- - - -"]);
}
