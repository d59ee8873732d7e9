//! Arguments and results of the tools that Cline's SDK provides (`sdk/packages/core/src/extensions/tools/definitions.ts`).

use serde::Deserialize;

use crate::adapters::described::Outcome;
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::Builder;
use crate::adapters::shared::denials;
use crate::adapters::shared::tools::{self, Subject};
use crate::base::text::SharedStr;
use crate::json::Raw;
use crate::json::fields::{Flag, LazyText, Text};
use crate::model::session::{CallStatus, Operation};

/// Arguments under names that other runtimes do not use.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Input<'a> {
    // run_commands
    commands: Raw<'a>,
    // read_files
    #[serde(alias = "file_paths", alias = "paths")]
    files: Raw<'a>,
    // fetch_web_content
    requests: Raw<'a>,
    // editor
    path: Text<'a>,
    old_text: Text<'a>,
    new_text: LazyText<'a>,
    insert_line: Raw<'a>,
    // apply_patch
    input: Text<'a>,
}

/// A command, a file or a page of a call with several.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Part<'a> {
    command: Text<'a>,
    args: Vec<Text<'a>>,
    #[serde(alias = "file_path", alias = "filePath")]
    path: Text<'a>,
    url: Text<'a>,
}

/// Adds the target and the file changes that the arguments of a call state.
pub(super) fn arguments(builder: &mut Builder, call: usize, raw: Raw<'_>, at: At) {
    let input: Input<'_> = raw.read();
    // The tools also take a list without a name around it.
    let own = if raw.is_list() { raw } else { Raw::default() };
    let row = &builder.session.tool_calls[call];
    match (row.category.as_ref(), row.tool.as_str()) {
        ("shell", _) => {
            let commands = words_of(either(input.commands, own), command_of);
            if !commands.is_empty() {
                builder.only_command(call, &commands.join("\n"));
            }
        }
        ("read", _) => {
            set_target(builder, call, words_of(either(input.files, own), |part| part.path.as_str().to_owned()));
        }
        ("web", _) => {
            let urls = words_of(either(input.requests, own), |part| part.url.as_str().to_owned());
            set_target(builder, call, urls.iter().filter_map(|url| tools::host(url)));
        }
        ("edit", "editor") => edit(builder, call, &input, at),
        ("edit", _) if input.input.some().is_some() => builder.patch(call, input.input.as_str(), at),
        _ => {}
    }
}

fn either<'a>(named: Raw<'a>, own: Raw<'a>) -> Raw<'a> {
    if named.is_empty() { own } else { named }
}

/// The texts in a list, or in one value: strings, or what `of_part` finds in an object. Empty ones are left out.
fn words_of(value: Raw<'_>, of_part: fn(&Part<'_>) -> String) -> Vec<String> {
    let values: Vec<Raw<'_>> = if value.is_list() { value.read() } else { vec![value] };
    let word = |value: &Raw<'_>| match value.0.first() {
        Some(b'"') => value.text().into_owned(),
        Some(b'{') => of_part(&value.read()),
        _ => String::new(),
    };
    values.iter().map(word).filter(|word| !word.is_empty()).collect()
}

fn command_of(part: &Part<'_>) -> String {
    let words = part.args.iter().map(Text::as_str);
    [part.command.as_str()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}

/// Sets the target of a call to the first of these.
fn set_target(builder: &mut Builder, call: usize, targets: impl IntoIterator<Item = impl Into<SharedStr>>) {
    let target = targets.into_iter().next().map(Into::into);
    builder.set_subject(call, Subject { target, ..Subject::default() });
}

/// An edit replaces a text, inserts one, or creates the file: without `old_text` and `insert_line` it fails if the file exists.
fn edit(builder: &mut Builder, call: usize, input: &Input<'_>, at: At) {
    let Some(path) = input.path.some() else { return };
    let (operation, lines) = if !input.insert_line.is_empty() {
        (Operation::Update, Some(tools::written_lines_in(&input.new_text)))
    } else if let Some(old) = input.old_text.0.as_deref() {
        (Operation::Update, tools::changed_lines(old, input.new_text.as_str()))
    } else {
        builder.session.tool_calls[call].category = "write".into();
        (Operation::Create, Some(tools::written_lines_in(&input.new_text)))
    };
    builder.change(call, path, Some(operation), lines, at);
}

/// Errors of calls that never ran because the user did something else instead: `permissions.ts` of the CLI,
/// `tool-approval-denial.ts` of the extension.
const CANCELLED: &[&str] =
    &["Permission request was cancelled", "Tool execution was cancelled because the user sent a follow-up message"];

/// How a call ended, from its results: it failed if any of them did, as the tools report failures in their results only. In place of
/// the results of a call that did not run is the reason (`executePreparedTool` in `agent-runtime.ts`).
pub(super) fn outcome(_tool: &str, content: Raw<'_>) -> Outcome {
    /// The result of one command, file or page, or of an edit.
    #[derive(Debug, Default, Deserialize)]
    #[serde(default, bound(deserialize = "'de: 'a"))]
    struct Done<'a> {
        query: Raw<'a>,
        success: Flag,
        error: Text<'a>,
    }
    // A result that is not a list is JSON in a string.
    let text = content.text();
    let value = Raw(text.trim_ascii().as_bytes());
    let results: Vec<Done<'_>> = match value.0.first() {
        Some(b'[') => value.read(),
        Some(b'{') => {
            let result: Done<'_> = value.read();
            if result.query.is_empty() {
                return refusal(result.error.as_str());
            }
            vec![result]
        }
        _ => Vec::new(),
    };
    let failed = results.iter().filter(|it| !it.query.is_empty() && it.success.0 == Some(false));
    let mut outcome = Outcome::default();
    for result in failed {
        outcome.status = Some(CallStatus::Error);
        outcome.exit_code = outcome.exit_code.or_else(|| exit_code(result.error.as_str()));
    }
    outcome
}

/// How a call ended that may not have run, from its error.
fn refusal(error: &str) -> Outcome {
    if denials::is_one_of(error, denials::CLINE) {
        return Outcome { status: Some(CallStatus::Denied), denial: Some(error.to_owned()), exit_code: None };
    }
    let is_cancelled = denials::is_one_of(error, CANCELLED);
    Outcome { status: is_cancelled.then_some(CallStatus::Cancelled), ..Outcome::default() }
}

/// The exit code in an error.
fn exit_code(error: &str) -> Option<i64> {
    let code = error.strip_prefix("Command failed: ").unwrap_or(error).strip_prefix("Command exited with code ")?;
    code.lines().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_failed_if_a_part_of_it_did() {
        let failed = r#"{"query":"b","result":"","error":"Command exited with code 2","success":false}"#;
        let ended = r#"{"query":"a","result":"{\"success\":false}","success":true}"#;
        let late =
            r#"{"query":"c","result":"","error":"Command failed: Command timed out after 30000ms","success":false}"#;
        let quoted = serde_json::to_string(&failed.replace("Command", "Editor")).unwrap();
        let error = Some(CallStatus::Error);
        for (content, status, exit_code) in [
            (format!("[{ended},{failed}]"), error, Some(2)),
            (format!("[{late},{failed}]"), error, Some(2)),
            (format!("[{late}]"), error, None),
            (format!("[{ended}]"), None, None),
            (quoted, error, None),
            // What other tools return is not read.
            (r#""{\"success\":false}""#.to_owned(), None, None),
            (r#"[{"type":"text","text":"x"}]"#.to_owned(), None, None),
            (r#""1 failing""#.to_owned(), None, None),
            (String::new(), None, None),
        ] {
            assert_eq!(outcome("", Raw(content.as_bytes())), Outcome { status, exit_code, denial: None }, "{content}");
        }
    }

    #[test]
    fn a_refused_call_did_not_fail() {
        let (denied, cancelled) = (Some(CallStatus::Denied), Some(CallStatus::Cancelled));
        for (error, status) in [
            (r#"Tool "run_commands" was denied by user"#, denied),
            (r#"Tool "editor" requires approval in a TTY session"#, denied),
            ("The user denied this edit. The file was NOT modified and still contains its original content.", denied),
            ("Permission request was cancelled", cancelled),
            ("Unknown tool: run", None),
            (r#"Tool "run_commands" approval request failed: no hub"#, None),
            (r#"It prints: Tool "run_commands" was denied by user"#, None),
        ] {
            let result = serde_json::json!({ "error": error }).to_string();
            let outcome = outcome("", Raw(serde_json::json!(result).to_string().as_bytes()));
            assert_eq!(outcome.status, status, "{error}");
            assert_eq!(outcome.denial.as_deref(), (status == denied).then_some(error));
        }
    }

    #[test]
    fn the_parts_of_a_call_have_several_forms() {
        let commands = |value: &str| words_of(Raw(value.as_bytes()), command_of);
        assert_eq!(commands(r#"["npm test",{"command":"git","args":["log","-1"]}]"#), ["npm test", "git log -1"]);
        assert_eq!(commands(r#""ls""#), ["ls"]);
        let files = |value: &str| words_of(Raw(value.as_bytes()), |part| part.path.as_str().to_owned());
        assert_eq!(files(r#"[{"path":"/a","start_line":3},{"file_path":"/b"},"/c",7]"#), ["/a", "/b", "/c"]);
    }
}
