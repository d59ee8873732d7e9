//! Shell calls: the command in their arguments, and the header before its output.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::base::split::lines;
use crate::json::{self, Raw};

/// How a patch begins.
pub(super) const PATCH: &str = "*** Begin Patch";

/// The command in arguments that begin with it, as most do. `None` if the arguments must be parsed for it, or contain a patch.
///
/// The arguments are an object in a string, and the command is a string in the object: its closing quote is escaped once, any
/// other quote in it twice. Finding the command without parsing the arguments saves 6 % of all instructions on Codex logs.
pub(super) fn command_of(arguments: Raw<'_>) -> Option<Cow<'_, str>> {
    /// Longer commands are parsed.
    const MAX_LENGTH: usize = 512;
    static BEGINS_PATCH: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(PATCH));
    static MAY_NAME_OTHER: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("command"));
    let text = arguments.0.strip_prefix(br#""{\"cmd\":\""#)?.strip_suffix(br#"}""#)?;
    let head = text.get(..MAX_LENGTH).unwrap_or(text);
    let mut end = 0;
    let mut has_escapes = false;
    loop {
        end += json::backslash(head.get(end..)?)?;
        match head.get(end + 1)? {
            b'"' => break,
            // An escape in the command is escaped again in the arguments.
            b'\\' => end += if head.get(end + 2) == Some(&b'\\') { 4 } else { 3 },
            _ => return None,
        }
        has_escapes = true;
    }
    let (command, rest) = text.split_at_checked(end)?;
    let is_all = matches!(rest.get(2), None | Some(b','));
    if !is_all || MAY_NAME_OTHER.find(rest).is_some() || BEGINS_PATCH.find(text).is_some() {
        return None;
    }
    if has_escapes {
        json::unescape(command).and_then(|it| json::unescape(it.as_bytes())).map(Cow::Owned)
    } else {
        std::str::from_utf8(command).ok().map(Cow::Borrowed)
    }
}

/// How a command ended, from the result of a shell call.
pub(super) enum ShellEnd {
    Exited(i64),
    /// It is running in the shell of this number.
    Runs(String),
    /// A script ended. Its commands have exit codes of their own.
    Scripted {
        is_failed: bool,
    },
}

/// The number of a script that is running, among those of shells.
const CELL: &str = "cell ";

/// The name of the script with this number among shells.
pub(super) fn cell(number: &str) -> String {
    format!("{CELL}{number}")
}

/// The header that a client puts before a command's output has at most this many lines, and fewer bytes.
const HEAD: usize = 8;
const HEAD_BYTES: usize = 256;

/// The beginning of an output that is too long for a refusal, else all of it.
pub(super) fn head_of_output(output: Raw<'_>) -> Cow<'_, str> {
    let head = output.head(MAX_REFUSAL);
    if head.len() >= MAX_REFUSAL && !head.starts_with('{') && !is_failure(&head) { head } else { output.text() }
}

/// The part of an output that the client writes: after a header follows what the tool returned.
pub(super) fn text_of_client(output: &str) -> &str {
    let has_header = lines(output).next().is_some_and(|line| is_of_header(line.as_bytes()));
    if has_header { output.split_once("\nOutput:").map_or(output, |(header, _)| header) } else { output }
}

/// The header that a client puts before a command's output.
#[derive(Default)]
pub(super) struct ShellHead {
    pub(super) end: Option<ShellEnd>,
    /// The time until the command ended, or until the client stopped waiting for it.
    pub(super) wall_seconds: Option<f64>,
}

impl ShellHead {
    /// The header in these lines, and whether it is complete: the last line of a cut text may not be. Only the output of a script
    /// begins with how that ended. A text with another first line has no header, whatever follows.
    pub(super) fn of_lines<'a>(lines: impl Iterator<Item = &'a [u8]>, is_script: bool) -> (Self, bool) {
        let mut head = Self::default();
        for (number, line) in lines.enumerate() {
            if number == HEAD || line.starts_with(b"Output:") {
                return (head, true);
            }
            if is_script && number == 0 {
                head.end = script_end_in_line(line);
            }
            if number == 0 && head.end.is_none() && !is_of_header(line) {
                return (head, false);
            }
            head.end = head.end.or_else(|| end_in_line(line));
            head.wall_seconds = head.wall_seconds.or_else(|| wall_time_in_line(line));
        }
        (head, false)
    }

    pub(super) const fn exit_code(&self) -> Option<i64> {
        if let Some(ShellEnd::Exited(code)) = &self.end { Some(*code) } else { None }
    }
}

/// The header of a result, if it can be found without parsing the whole result.
pub(super) fn head_of_shell(output: Raw<'_>, is_script: bool) -> ShellHead {
    if output.0.starts_with(br#""Command: "#) {
        return head_after_command(&output.text());
    }
    let (head, is_whole) = ShellHead::of_lines(plain_lines(output.0), is_script);
    if is_whole { head } else { whole_head(output, is_script).unwrap_or_default() }
}

/// The header of a result that begins with the command, which can have any number of lines.
fn head_after_command(text: &str) -> ShellHead {
    const FIRST: [&str; 2] = ["Chunk ID: ", "Wall time: "];
    let after = lines(text).skip_while(|line| !FIRST.iter().any(|first| line.starts_with(first)));
    let (head, is_whole) = ShellHead::of_lines(after.map(str::as_bytes), false);
    if is_whole { head } else { ShellHead::default() }
}

/// The first lines of a text with its escapes, as many as a header has, up to the first one that is not ASCII or contains an
/// escape.
fn plain_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = text.strip_prefix(b"\"").filter(|it| !it.starts_with(b"{")).unwrap_or_default();
    let mut rest = text.get(..HEAD_BYTES).unwrap_or(text);
    let next = move || {
        let (line, after) = rest.split_at_checked(json::backslash(rest)?)?;
        rest = after.strip_prefix(b"\\n")?;
        line.is_ascii().then_some(line)
    };
    std::iter::from_fn(next).take(HEAD)
}

/// The header of an output, if it is complete.
fn whole_head(output: Raw<'_>, is_script: bool) -> Option<ShellHead> {
    let text = output.head(HEAD_BYTES);
    let (head, is_whole) = ShellHead::of_lines(lines(&text).map(str::as_bytes), is_script);
    is_whole.then_some(head)
}

/// Whether a line is one of a header.
fn is_of_header(line: &[u8]) -> bool {
    const OTHER: [&[u8]; 4] =
        [b"Chunk ID: ", b"Total output lines: ", b"Original token count: ", b"Warning: truncated output"];
    let has_value = || end_in_line(line).is_some() || wall_time_in_line(line).is_some();
    OTHER.iter().any(|it| line.starts_with(it)) || has_value()
}

fn end_in_line(line: &[u8]) -> Option<ShellEnd> {
    let text = |it| std::str::from_utf8(it).ok().map(str::trim);
    if let Some(code) = line.strip_prefix(b"Process exited with code ").or_else(|| line.strip_prefix(b"Exit code: ")) {
        return text(code)?.parse().ok().map(ShellEnd::Exited);
    }
    text(line.strip_prefix(b"Process running with session ID ")?).map(|it| ShellEnd::Runs(it.to_owned()))
}

/// How a script ended.
fn script_end_in_line(line: &[u8]) -> Option<ShellEnd> {
    match line.trim_ascii_end() {
        b"Script completed" => Some(ShellEnd::Scripted { is_failed: false }),
        b"Script failed" | b"Script terminated" => Some(ShellEnd::Scripted { is_failed: true }),
        line => {
            let number = line.strip_prefix(b"Script running with cell ID ")?;
            std::str::from_utf8(number).ok().map(|number| ShellEnd::Runs(cell(number.trim())))
        }
    }
}

fn wall_time_in_line(line: &[u8]) -> Option<f64> {
    let time = line.strip_prefix(b"Wall time")?;
    let seconds = time.strip_prefix(b":").unwrap_or(time).strip_prefix(b" ")?.strip_suffix(b" seconds")?;
    std::str::from_utf8(seconds).ok()?.parse().ok()
}

/// A longer text may quote a refusal, but is not one.
const MAX_REFUSAL: usize = 1000;

/// How refusals begin.
const REFUSALS: [&str; 4] = ["rejected by user", "denied by user", "blocked by policy", RISK];

/// How the refusals of earlier versions begin.
const REJECTED: &str = "exec command rejected: ";

pub(super) fn is_refusal(text: &str) -> bool {
    let is_short = text.len() < MAX_REFUSAL;
    is_short && REFUSALS.iter().any(|it| text.contains(it))
        || text.starts_with(REJECTED)
        || is_failure(text) && is_rejection(text)
}

/// What the guardian answers in place of a tool. The reason follows it, of any length.
pub(super) const RISK: &str = "This action was rejected due to unacceptable risk";

/// Whether the text contains the error of a call that was not allowed to run.
pub(super) fn is_rejection(text: &str) -> bool {
    static REJECTED: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("Rejected("));
    REJECTED.find(text.as_bytes()).is_some_and(|at| {
        let reason = text.get(at..).unwrap_or_default().trim_start_matches("Rejected(").trim_start_matches(['\\', '"']);
        REFUSALS.iter().any(|it| reason.starts_with(it))
    })
}

/// Whether the client answered in place of a tool that the user stopped: "aborted by user after 7.4s", for tools of the shell after a
/// line with the time.
pub(super) fn is_abort(output: Raw<'_>) -> bool {
    /// A longer output is one of the tool.
    const LONGEST: usize = 100;
    if output.0.len() > LONGEST {
        return false;
    }
    let text = output.text();
    let after_time = text.split_once('\n').filter(|(first, _)| first.starts_with("Wall time")).map(|(_, rest)| rest);
    let message = after_time.unwrap_or(&text);
    message.starts_with("aborted by user") || message.trim_end() == "aborted"
}

/// Whether the client answered in place of a tool that could not run.
pub(super) fn is_failure(text: &str) -> bool {
    const BEGINNINGS: [&str; 12] = [
        "apply_patch verification failed",
        "command timed out after ",
        "exec_command failed",
        "execution error",
        "failed in sandbox ",
        "failed to parse",
        "unsupported call",
        "retry failed: ",
        "unable to",
        "err: ",
        "aborted",
        "write_stdin failed",
    ];
    BEGINNINGS.iter().any(|it| text.starts_with(it))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::formats::codex::rollout::records::Arguments;

    /// A command that is found without parsing the arguments is the one that they contain.
    #[test]
    fn commands_are_found_as_arguments_name_them() {
        let found = |arguments: &str| {
            let raw = serde_json::to_string(arguments).unwrap();
            let found = command_of(Raw(raw.as_bytes())).map(Cow::into_owned);
            let own: Arguments<'_> = Raw(arguments.as_bytes()).read();
            assert!(found.as_deref().is_none_or(|it| it == own.cmd.as_str()), "{arguments}");
            found
        };
        let commands = [
            "ls",
            "",
            "rg \"a\\\\b\" 'x\ty'\nls",
            "\\",
            "\\\\",
            "\\\"",
            "\"",
            "\"\"",
            "grün \u{1f600}",
            "echo \u{7}",
            "a/b",
        ];
        for command in commands {
            let quoted = serde_json::to_string(command).unwrap();
            for rest in ["", ",\"workdir\":\"/a\"", ",\"a\":[{\"b\":\"\\\"}\"}]"] {
                assert_eq!(found(&format!("{{\"cmd\":{quoted}{rest}}}")).as_deref(), Some(command), "{command}");
            }
            for other in [
                format!("{{\"cmd\": {quoted}}}"),
                format!("{{\"cmd\":{quoted},\"command\":\"ls\"}}"),
                format!("{{\"cmd\":{quoted},\"command\" :\"ls\"}}"),
                format!("{{\"cmd\":{quoted},\"n\":\"*** Begin Patch\"}}"),
                format!("{{\"cmd\":{quoted}"),
                format!("{{\"cmd\":{quoted}7}}"),
                format!("{{\"cmd\":[{quoted}]}}"),
                format!("{{\"command\":{quoted}}}"),
                format!("{{\"cmd\":{quoted}{}}}", "x".repeat(7)),
            ] {
                assert_eq!(found(&other), None, "{other}");
            }
        }
        assert_eq!(found(&format!("{{\"cmd\":\"{}\"}}", "x".repeat(600))), None);
        // Damage after the command does not matter.
        let glued = serde_json::to_string(r#"{"cmd":"ls","workdir":"/a"}{"cmd":"pwd"}"#).unwrap();
        assert_eq!(command_of(Raw(glued.as_bytes())).as_deref(), Some("ls"));
        for raw in [
            r#""{\"cmd\":\"\u006cs\"}""#,
            r#""{\"cmd\":\"a\nb\"}""#,
            r#""{\"cmd\":\"a"#,
            r#""{\"cmd\":\"}""#,
            r#""{\"cmd\":\"\\"}""#,
        ] {
            assert_eq!(command_of(Raw(raw.as_bytes())), None, "{raw}");
        }
    }

    /// The answers of earlier versions, which logged no exit code with them.
    #[test]
    fn answers_in_place_of_a_tool_are_failures_or_refusals() {
        for text in [
            "command timed out after 10000 milliseconds",
            "failed in sandbox LinuxSeccomp with execution error: sandbox denied exec error",
            "retry failed: sandbox error",
        ] {
            assert!(is_failure(text) && !is_refusal(text), "{text}");
        }
        assert!(is_refusal("exec command rejected: auto-rejected because it is not trusted"));
        assert!(!is_failure("make: command timed out after 10 s") && !is_refusal("total 8"));
    }

    /// A header is the same with and without its escapes; other values have no header.
    #[test]
    fn heads_of_outputs_are_read_with_and_without_their_escapes() {
        let printed = |end: Option<ShellEnd>| match end {
            Some(ShellEnd::Exited(code)) => format!("exited {code}"),
            Some(ShellEnd::Runs(shell)) => format!("runs {shell}"),
            Some(ShellEnd::Scripted { is_failed }) => format!("script {is_failed}"),
            None => String::new(),
        };
        let plain = |output: &[u8]| {
            let (head, is_whole) = ShellHead::of_lines(plain_lines(output), true);
            is_whole.then(|| printed(head.end))
        };
        for (output, expected) in [
            (r#""Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nx\"y""#, Some("exited 2")),
            (r#""Exit code: 0\nWall time: 0.1 seconds\nOutput:\n""#, Some("exited 0")),
            (r#""Process running with session ID 7\nOutput:\n""#, Some("runs 7")),
            (r#""Output:\nProcess exited with code 1\n""#, Some("")),
            (r#""Script failed\nWall time 0.1 seconds\nOutput:\n""#, Some("script true")),
            (r#""Script running with cell ID 9\nWall time 10.0 seconds\nOutput:\n""#, Some("runs cell 9")),
            (r#""Wall time: 1 seconds\nScript failed\nOutput:\n""#, Some("")),
            (r#""x\nScript failed\nOutput:\n""#, None),
            (r#""x\nExit code: 7\nOutput:\n""#, None),
            (r#""Exit code: x\nOutput:\n""#, None),
            (r#""Total output lines: 9\nExit code: 7\nOutput:\n""#, Some("exited 7")),
            (r#""Exit code: 0\r\nOutput:\n""#, None),
            (r#""Exit \"code\"\nOutput:\n""#, None),
            (r#""{\"output\":\"\"}""#, None),
            (r#""Exit code: 0""#, None),
            (r#""1\n2\n3\n4\n5\n6\n7\n8\nOutput:\n""#, None),
            ("\"Exit \u{fffd}\\nOutput:\\n\"", None),
            (r"[]", None),
            ("\"", None),
        ] {
            assert_eq!(plain(output.as_bytes()).as_deref(), expected, "{output}");
            if let Some(expected) = expected {
                let whole = whole_head(Raw(output.as_bytes()), true).and_then(|it| it.end);
                assert_eq!(printed(whole), expected, "{output}");
            }
        }
        let client = ["rejected by user", "Wall time: 1 seconds\nx", "Output: x", "x\nOutput:\nrejected by user"];
        for text in client {
            assert_eq!(text_of_client(text), text);
        }
        assert_eq!(text_of_client("Wall time: 1 seconds\nOutput:\nrejected by user"), "Wall time: 1 seconds");
        assert_eq!(plain(b"\"Process running with session ID 7\xFF\\nOutput:\\n\""), None);
    }

    #[test]
    fn a_header_follows_a_command_of_any_length() {
        let exit_code = |result: &str| {
            let output = serde_json::to_string(result).unwrap();
            head_of_shell(Raw(output.as_bytes()), false).exit_code()
        };
        let header = "Chunk ID: c1\nWall time: 0.1 seconds\nProcess exited with code 3\nOutput:\nx";
        for lines in [1, 7, 80] {
            let command = "echo 'Process exited with code 9'\n".repeat(lines);
            assert_eq!(exit_code(&format!("Command: /bin/bash -lc \"{command}\"\n{header}")), Some(3), "{lines}");
        }
        let older = header.replace("Chunk ID: c1\n", "");
        assert_eq!(exit_code(&format!("Command: ls\n{older}")), Some(3));
        for other in
            ["Command: ls\nProcess exited with code 1\nOutput:\n", "Command: ls", "Command: ls\nWall time: 1 seconds"]
        {
            assert_eq!(exit_code(other), None, "{other}");
        }
    }
}
