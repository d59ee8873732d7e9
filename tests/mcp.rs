//! `agentlogs mcp`: a client that writes requests as lines of JSON, and reads the answers.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::root;

/// A directory with the archive of the demo and an archive with text, made once.
fn directory() -> &'static Path {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let directory = FOLDER.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        for (logs, archive, content) in [("demo", "demo", "none"), ("sample-logs/claude-transcript", "texts", "full")] {
            let ingested = command(directory.path(), &["ingest", "--archive", archive, "--content", content])
                .arg(root().join(logs))
                .output()
                .unwrap();
            assert!(ingested.status.success(), "{}", text(&ingested.stderr));
        }
        directory
    });
    directory.path()
}

fn command(directory: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
    command.args(args).current_dir(directory).env("HOME", directory).env("TZ", "UTC").env_remove("AGENTLOGS_ARCHIVE");
    command.env_remove("XDG_CONFIG_HOME").env_remove("CODEX_HOME").env_remove("CLAUDE_CONFIG_DIR");
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// What the server answers to this input.
fn served(args: &[&str], input: &[u8]) -> Output {
    let mut command = command(directory(), &[&["mcp"], args].concat());
    let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    server.stdin.take().unwrap().write_all(input).unwrap();
    server.wait_with_output().unwrap()
}

/// The answers to lines, each a message.
fn answers(args: &[&str], lines: &[String]) -> Vec<Value> {
    let output = served(args, (lines.join("\n") + "\n").as_bytes());
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn request(id: usize, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// The texts of calls, and whether they are errors.
fn called(args: &[&str], calls: &[(&str, Value)]) -> Vec<(String, bool)> {
    let lines: Vec<String> = calls
        .iter()
        .enumerate()
        .map(|(id, (tool, arguments))| request(id, "tools/call", &json!({"name": tool, "arguments": arguments})))
        .collect();
    let answers = answers(args, &lines);
    assert_eq!(answers.len(), calls.len());
    let result = |(id, answer): (usize, &Value)| {
        assert_eq!(answer["id"], id, "{answer}");
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        (text.to_owned(), result["isError"].as_bool().unwrap())
    };
    answers.iter().enumerate().map(result).collect()
}

const DEMO: &[&str] = &["--archive", "demo"];

/// The text of a call without an error.
fn answered(tool: &str, arguments: &Value) -> String {
    let (text, is_error) = called(DEMO, &[(tool, arguments.clone())]).remove(0);
    assert!(!is_error, "{text}");
    text
}

/// A text with the place of the demo replaced.
fn placed(text: &str) -> String {
    text.replace(&root().display().to_string(), "ROOT")
}

/// What a tool is described as is what it answers.
#[test]
fn the_overview_has_the_periods_of_its_description() {
    let listed = answers(DEMO, &[request(1, "tools/list", &json!({}))]);
    let tools = listed[0]["result"]["tools"].as_array().unwrap();
    let overview = tools.iter().find(|tool| tool["name"] == "overview").unwrap();
    let (description, answer) = (overview["description"].as_str().unwrap(), answered("overview", &json!({})));
    for period in ["today", "last 7 days", "last 30 days"] {
        assert!(
            description.contains(period) && answer.lines().any(|line| line.starts_with(period)),
            "{period}\n{answer}"
        );
    }
}

#[test]
fn a_client_learns_what_the_server_can_do() {
    let asked = [
        request(
            1,
            "initialize",
            &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}),
        ),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
        request(2, "tools/list", &json!({})),
        request(3, "resources/list", &Value::Null),
        request(4, "ping", &json!({})),
        request(5, "initialize", &json!({"protocolVersion": "1999-01-01"})),
        request(6, "resources/templates/list", &json!({})),
    ];
    let answers = answers(DEMO, &asked);
    assert_eq!(answers.iter().map(|it| it["id"].clone()).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(answers[0]["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(answers[4]["result"]["protocolVersion"], "2025-11-25");
    let tools = answers[1]["result"]["tools"].as_array().unwrap();
    assert!(tools.iter().all(|tool| tool["annotations"]["readOnlyHint"] == true));
    let document = fs::read_to_string(root().join("docs/mcp.md")).unwrap();
    for tool in tools {
        let row = format!("| `{}` | ", tool["name"].as_str().unwrap());
        assert!(document.contains(&row), "docs/mcp.md has no row {row}");
    }
    insta::assert_snapshot!(serde_json::to_string_pretty(&answers[..4]).unwrap());
}

#[test]
fn tools_answer_in_csv() {
    let report = json!({"name": "cost", "by": ["model"], "filters": ["runtime=claude"], "limit": 3});
    let sql = "SELECT model, COUNT(*) AS turns, SUM(total_tokens) AS tokens FROM turns GROUP BY model ORDER BY model";
    let sessions = json!({"filters": ["status=error"], "limit": 2, "max_bytes": 20_000});
    let compared = json!({"a": ["runtime=claude"], "b": ["runtime=codex"]});
    let shown = json!({"session": "01a1f188", "max_bytes": 5_000});
    let failed = json!({"filters": ["runtime=claude"], "max_bytes": 20_000});
    let texts = [
        ("report", report),
        ("query", json!({"sql": sql})),
        ("sessions", sessions),
        ("compare", compared),
        ("failures", failed),
        ("show", shown),
        ("explain", json!({"session": "01a1f188"})),
    ]
    .map(|(tool, arguments)| format!("{tool} {arguments}\n{}", placed(&answered(tool, &arguments))));
    insta::assert_snapshot!(texts.join("\n"));
    let overview = answered("overview", &json!({}));
    assert!(overview.contains("cost") && overview.len() <= 2_000, "{overview}");
}

/// Answers have the size that was asked for, and cursors lead through all rows.
#[test]
fn answers_are_small_and_continue() {
    let sql = json!({"sql": "SELECT session_id, turn, total_tokens FROM turns ORDER BY session_id, turn, line"});
    let mut rows: Vec<String> = Vec::new();
    let mut arguments = sql.clone();
    loop {
        let text = answered("query", &arguments);
        assert!(text.len() <= 2_000, "{}", text.len());
        rows.extend(text.lines().skip(1).filter(|line| !line.starts_with('#')).map(str::to_owned));
        let Some((_, cursor)) = text.split_once("cursor: ") else { break };
        arguments["cursor"] = cursor.trim().into();
    }
    let count = answered("query", &json!({"sql": "SELECT COUNT(*) AS n FROM turns"}));
    assert_eq!(count, format!("n\n{}\n", rows.len()));
    assert!(answered("report", &json!({"name": "tools", "max_bytes": 500})).len() <= 500);
    let other = json!({"sql": "SELECT 1 AS one", "cursor": arguments["cursor"]});
    let (text, is_error) = called(DEMO, &[("query", other)]).remove(0);
    assert!(is_error && text.contains("other arguments"), "{text}");
}

/// What is wrong with arguments is an answer of the tool.
#[test]
fn hostile_arguments_are_answers() {
    let long = "x".repeat(100_000);
    let calls = [
        ("report", json!({})),
        ("report", json!({"name": 7})),
        ("report", json!({"name": "costs"})),
        ("report", json!({"name": "cost", "by": "model"})),
        ("report", json!({"name": "cost", "by": ["modle"]})),
        ("report", json!({"name": "cost", "limit": 99_999_999_999_u64})),
        ("report", json!({"name": "cost", "limit": 0})),
        ("report", json!({"name": "cost", "limit": -1})),
        ("report", json!({"name": "cost", "filters": ["since=soon"]})),
        ("report", json!({"name": "cost", "filters": ["x"]})),
        ("report", json!({"name": "cost", "max_bytes": 1e18})),
        ("report", json!({"name": "cost", "max_bytes": 10})),
        ("report", json!({"name": "cost", "max_bytes": "many"})),
        ("report", json!({"name": "cost", "cursor": 1})),
        ("report", json!({"name": "cost", "cursor": "../etc"})),
        ("report", json!({"name": "cost", "other": true})),
        ("report", json!({"name": "cost", "filters": [format!("model=*{long}")]})),
        ("query", json!({"sql": ["SELECT 1"]})),
        ("query", json!({"sql": ""})),
        ("query", json!({"sql": "DROP TABLE turns"})),
        ("query", json!({"sql": "SELECT * FROM read_csv('/etc/passwd')"})),
        ("query", json!({"sql": "INSERT INTO turns VALUES (1)"})),
        ("query", json!({"sql": "SELECT 1; SELECT 2"})),
        ("query", json!({"sql": format!("SELECT {long}")})),
        ("sessions", json!({"sort": "nothing"})),
        ("show", json!({"session": "no such session"})),
        ("show", json!({"session": {"id": 1}})),
        ("compare", json!({"a": []})),
        ("compare", json!({"a": ["model=x"], "b": [1]})),
        ("explain", json!({"session": ""})),
        ("overview", json!({"days": 1})),
    ];
    let texts = called(DEMO, &calls);
    let shown: Vec<String> = calls
        .iter()
        .zip(texts)
        .map(|((tool, arguments), (text, is_error))| {
            assert!(is_error && text.len() <= 1_000, "{tool} {arguments}: {text}");
            let short = |text: &str| text.replace(&long, "LONG").replace(&"x".repeat(200), "…");
            format!("{tool} {}\n  {}", short(&arguments.to_string()), short(&text).lines().next().unwrap_or_default())
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n"));
}

/// What is wrong with a message is an error of the protocol, and the server goes on.
#[test]
fn hostile_messages_are_errors() {
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let long = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{}\"}}", "x".repeat(2 << 20));
    let messages: Vec<String> = [
        "{",
        "nonsense",
        "[]",
        "7",
        "null",
        &deep,
        &long,
        "",
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":7}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"nothing"}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":[1]}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"rm"}}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"report","arguments":"cost"}}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"resources/read","params":{"uri":"file:///etc/passwd"}}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"resources/read"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"{"jsonrpc":"2.0","id":9,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"last","method":"ping"}"#,
    ]
    .iter()
    .map(|message| (*message).to_owned())
    .collect();
    let answers = answers(DEMO, &messages);
    assert_eq!(answers.last().unwrap(), &json!({"jsonrpc": "2.0", "id": "last", "result": {}}));
    let shown: Vec<String> = answers.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(shown.join("\n"));
    let output = served(DEMO, b"{\"id\":1,\xff\n\xff\xfe");
    assert!(output.status.success() && text(&output.stdout).lines().count() == 2);
}

/// Without `--allow-text`, no text of a conversation is in an answer, whatever is asked.
#[test]
fn text_needs_a_permission() {
    let sql = "SELECT s.prompt, s.text, c.args, c.result FROM sessions s JOIN tool_calls c USING (session_id) \
               WHERE c.result IS NOT NULL OR s.prompt IS NOT NULL ORDER BY s.session_id, c.line LIMIT 3";
    let calls = [
        ("query", json!({"sql": sql})),
        ("sessions", json!({"limit": 5})),
        ("query", json!({"sql": "SELECT COUNT(prompt) + COUNT(text) + COUNT(error_message) AS n FROM sessions"})),
        ("query", json!({"sql": "SELECT COUNT(message) AS n FROM events"})),
    ];
    let hidden = called(&["--archive", "texts"], &calls);
    assert_eq!(hidden[0].0, "prompt,text,args,result\n# no rows\n");
    assert!(!hidden[1].0.contains("prompt"), "{}", hidden[1].0);
    assert_eq!([&*hidden[2].0, &*hidden[3].0], ["n\n0\n"; 2]);
    let shown = called(&["--archive", "texts", "--allow-text"], &calls);
    assert!(shown[0].0.lines().count() > 2 && shown[1].0.contains("prompt"), "{shown:?}");
    assert_ne!(shown[2].0, "n\n0\n");
}

#[test]
fn a_question_that_takes_too_long_is_given_up() {
    let tables: Vec<String> = (0..9).map(|index| format!("turns t{index}")).collect();
    let sql = format!("SELECT COUNT(*) AS n FROM {} WHERE t0.line + t3.line < 0", tables[..4].join(", "));
    let calls = [("query", json!({"sql": sql})), ("query", json!({"sql": "SELECT 1 AS one"}))];
    let texts = called(&["--archive", "demo", "--timeout", "1"], &calls);
    assert!(texts[0].1 && texts[0].0.contains("within 1 s"), "{texts:?}");
    assert_eq!(texts[1], ("one\n1\n".to_owned(), false));
}

#[test]
fn resources_are_the_schema_and_the_words() {
    let uris = ["agentlogs://schema", "agentlogs://words"];
    let asked: Vec<String> =
        uris.iter().enumerate().map(|(id, uri)| request(id, "resources/read", &json!({"uri": uri}))).collect();
    let answers = answers(DEMO, &asked);
    let texts: Vec<&str> = answers.iter().map(|it| it["result"]["contents"][0]["text"].as_str().unwrap()).collect();
    assert!(texts[0].starts_with("sessions\n  session_id VARCHAR: ") && texts[0].contains("\nturns\n"), "{}", texts[0]);
    assert_eq!(texts[1], fs::read_to_string(root().join("docs/words.md")).unwrap());
}

/// Each client's file keeps its content, and a second run changes nothing.
#[test]
fn settings_of_clients_are_merged() {
    let home = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let output = command(home.path(), &[&["mcp", "install"], args].concat()).output().unwrap();
        (output.status.success(), placed(&text(&output.stdout)), text(&output.stderr))
    };
    let printed = run(&[]);
    assert!(printed.0);
    insta::assert_snapshot!(printed.1);
    let files = [
        ("claude", ".claude.json", "{\"numStartups\": 3, \"mcpServers\": {\"x\": {\"command\": \"y\"}}}\n"),
        ("codex", ".codex/config.toml", "model = \"gpt-5.5\" # mine\n[mcp_servers.x]\ncommand = \"y\"\n"),
        ("gemini", ".gemini/settings.json", "{\"theme\": \"dark\"}"),
        ("cursor", ".cursor/mcp.json", ""),
        ("opencode", ".config/opencode/opencode.json", "{\"$schema\": \"https://opencode.ai/config.json\"}"),
    ];
    for (client, file, before) in files {
        let path = home.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if !before.is_empty() {
            fs::write(&path, before).unwrap();
        }
        assert!(run(&[client, "--write"]).0, "{client}");
        let after = fs::read_to_string(&path).unwrap();
        let start = before.trim_end().trim_end_matches('}').trim_start_matches('{');
        assert!(after.contains("agentlogs") && after.contains(start.split(": {").next().unwrap()), "{client}: {after}");
        assert!(run(&[client, "--write"]).0, "{client}");
        assert_eq!(fs::read_to_string(&path).unwrap(), after, "{client}");
        for damaged in ["{", "a = [", "// a comment\n{}"] {
            fs::write(&path, damaged).unwrap();
            let (is_done, _, message) = run(&[client, "--write"]);
            assert!(!is_done && message.contains("is not changed"), "{client}: {message}");
            assert_eq!(fs::read_to_string(&path).unwrap(), damaged);
        }
    }
    assert!(!run(&["--write"]).0);
}

#[test]
fn the_skill_names_commands_that_exist() {
    let skill = command(directory(), &["skill"]).output().unwrap();
    let skill = text(&skill.stdout);
    assert!(skill.starts_with("---\nname: agentlogs\ndescription: "), "{skill}");
    for command_of_skill in ["report", "sessions", "show", "compare", "query", "prices explain", "ingest", "schema"] {
        assert!(skill.contains(&format!("agentlogs {command_of_skill}")), "{command_of_skill}");
        let words: Vec<&str> = command_of_skill.split(' ').chain(["--help"]).collect();
        assert!(command(directory(), &words).output().unwrap().status.success(), "{command_of_skill}");
    }
}
