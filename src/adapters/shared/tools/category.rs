//! The category of a tool: one word for what it does, the same for all runtimes.

use std::sync::LazyLock;

use foldhash::HashMap;
use serde::Deserialize;

use crate::json::Raw;
use crate::json::fields::Text;

/// The names of tools without `_` and `-`, in small letters, by the word for their job.
const CATEGORIES: [(&str, &[&str]); 10] = [
    (
        "shell",
        &[
            "bash",
            "exec",
            "execcommand",
            "shell",
            "localshell",
            "localshellcall",
            "shellcommand",
            "container.exec",
            "commandexecution",
            "runshellcommand",
            "powershell",
            "bashcommand",
            "executebash",
            "execute",
            "executecommand",
            "runcommand",
            "runterminalcmd",
            "runterminalcommand",
            "terminal",
            "runinterminal",
            "runcommands",
        ],
    ),
    ("shell", CONTINUING),
    (
        "read",
        &[
            "read",
            "readfile",
            "view",
            "readmanyfiles",
            "fileread",
            "notebookread",
            "viewimage",
            "readmediafile",
            "readcurrentlyopenfile",
            "readfiles",
            "copilotreadfile",
        ],
    ),
    (
        "edit",
        &[
            "edit",
            "editfile",
            "multiedit",
            "notebookedit",
            "applypatch",
            "applydiff",
            "filechange",
            "replace",
            "replaceinfile",
            "patch",
            "strreplace",
            "strreplacefile",
            "searchreplace",
            "fileedit",
            "insertcontent",
            "searchandreplace",
            "editexistingfile",
            "singlefindandreplace",
            "copilotapplypatch",
            "copilotinsertedit",
            "copilotreplacestring",
            "copilotmultireplacestring",
        ],
    ),
    (
        "write",
        &[
            "write",
            "writefile",
            "writetofile",
            "filewrite",
            "createfile",
            "create",
            "createnewfile",
            "copilotcreatefile",
        ],
    ),
    (
        "search",
        &[
            "grep",
            "glob",
            "find",
            "ls",
            "list",
            "listdirectory",
            "listdir",
            "listfiles",
            "search",
            "searchfiles",
            "searchfilecontent",
            "grepsearch",
            "grepfiles",
            "filesearch",
            "codesearch",
            "codebasesearch",
            "toolsearch",
            "listcodedefinitionnames",
            "finder",
            "fileglobsearch",
            "viewsubdirectory",
            "findpath",
            "searchcodebase",
            "copilotfindfiles",
            "copilotfindtextinfiles",
            "copilotlistdirectory",
            "copilotsearchcodebase",
        ],
    ),
    (
        "web",
        &[
            "webfetch",
            "websearch",
            "websearchcall",
            "googlewebsearch",
            "searxngsearch",
            "searchweb",
            "fetch",
            "fetchurl",
            "fetchurlcontent",
            "readwebpage",
            "fetchwebcontent",
            "copilotfetchwebpage",
        ],
    ),
    ("mcp", &["mcptoolcall", "usemcptool", "accessmcpresource"]),
    (
        "subagent",
        &[
            "task",
            "agent",
            "subagent",
            "spawnagent",
            "invokeagent",
            "delegatetoagent",
            "sessionsspawn",
            "collabtoolcall",
            "newtask",
            "usesubagents",
            "oracle",
            "runsubagent",
        ],
    ),
    (
        "plan",
        &[
            "todowrite",
            "todoread",
            "updateplan",
            "writetodos",
            "updatetodos",
            "todolist",
            "settodolist",
            "updatetodolist",
            "managetodolist",
            "taskcreate",
            "taskupdate",
            "tasklist",
            "taskget",
            "enterplanmode",
            "exitplanmode",
        ],
    ),
];

/// The tools that write to, read from or stop a command that runs. They are named as in [`CATEGORIES`].
const CONTINUING: &[&str] = &[
    "writestdin",
    "bashoutput",
    "killshell",
    "killbash",
    "process",
    "readbash",
    "writebash",
    "stopbash",
    "listbash",
    "writeshellstdin",
    "awaitshell",
];

/// The word for a tool's job, the same in every runtime: `web_search`, `webSearch` and `WebSearch` are one name.
pub fn category(tool: &str) -> &'static str {
    static WORDS: LazyLock<HashMap<&str, &str>> =
        LazyLock::new(|| CATEGORIES.iter().flat_map(|(word, names)| names.iter().map(|it| (*it, *word))).collect());
    if mcp_server(tool).is_some() {
        return "mcp";
    }
    if let Some(word) = WORDS.get(tool) {
        return word;
    }
    WORDS.get(normalized(tool).as_str()).copied().unwrap_or("other")
}

/// The category of a tool that does what its argument `command` states, in the list of a format.
const EDITOR: &str = "editor";

/// The category of a tool in the list of a format. A name in the list that ends in `*` is the beginning of names. The whole
/// name takes precedence, then the last beginning, which is the longest in a sorted list. `arguments` are those of a call, if they are known.
pub fn category_among(
    list: &[(&'static str, &'static str)],
    tool: &str,
    arguments: Option<Raw<'_>>,
) -> Option<&'static str> {
    /// The arguments of an editor.
    #[derive(Debug, Default, Deserialize)]
    #[serde(default, bound(deserialize = "'de: 'a"))]
    struct Editor<'a> {
        command: Text<'a>,
    }
    let is_beginning = |name: &str| name.strip_suffix('*').is_some_and(|beginning| tool.starts_with(beginning));
    let own = list.iter().find(|(name, _)| *name == tool);
    match own.or_else(|| list.iter().rfind(|(name, _)| is_beginning(name)))?.1 {
        EDITOR => Some(match arguments?.read::<Editor<'_>>().command.as_str() {
            "view" => "read",
            "create" => "write",
            _ => "edit",
        }),
        category => Some(category),
    }
}

/// Whether a list for [`category_among`] can contain the category.
pub fn is_category(word: &str) -> bool {
    [EDITOR, "other"].contains(&word) || CATEGORIES.iter().any(|(category, _)| *category == word)
}

/// Whether the calls of a shell tool contain no commands: they continue a command that runs.
pub fn continues_command(tool: &str) -> bool {
    CONTINUING.contains(&normalized(tool).as_str())
}

/// Tools that ask the human a question, or for an approval: names as in [`CATEGORIES`].
const ASKING: &[&str] = &[
    "askfollowupquestion",
    "askhuman",
    "askquestion",
    "askquestions",
    "askuser",
    "askuserquestion",
    "askuserquestions",
    "clarify",
    "exitplanmode",
    "getuserinput",
    "planmoderespond",
    "question",
    "requestapproval",
    "requestuserinput",
    "vscodeaskquestions",
];

/// Tools that wait for something that runs, ask for its state, or end it, apart from [`CONTINUING`].
const POLLING: &[&str] = &[
    "agentoutput",
    "agentoutputtool",
    "checkcommandstatus",
    "commandstatus",
    "getcommandoutput",
    "getterminaloutput",
    "kill",
    "poll",
    "readagent",
    "readterminal",
    "sleep",
    "taskoutput",
    "taskstop",
    "wait",
    "waitagent",
    "waitfor",
];

/// Whether a tool asks the human and waits for the answer, also as a tool of an MCP server.
pub fn asks_human(tool: &str) -> bool {
    ASKING.contains(&normalized(without_server(tool)).as_str())
}

/// Whether a call only asks for the state of something that runs: a call that repeats it is not a repetition of work.
pub fn polls(tool: &str) -> bool {
    let name = normalized(without_server(tool));
    POLLING.contains(&name.as_str()) || CONTINUING.contains(&name.as_str())
}

/// The tools that load a skill into the context. They are named as in [`CATEGORIES`].
const LOADING: &[&str] = &[
    "activateskill",
    "invokeskill",
    "loadskill",
    "readskill",
    "runskill",
    "skill",
    "skillview",
    "useskill",
    "viewskill",
];

/// Whether a call loads a skill, whose name is in its arguments.
pub fn loads_skill(tool: &str) -> bool {
    tool.contains("kill") && LOADING.contains(&normalized(tool).as_str())
}

fn without_server(tool: &str) -> &str {
    tool.rsplit("__").next().unwrap_or(tool)
}

fn normalized(tool: &str) -> String {
    let mut name = tool.to_owned();
    name.make_ascii_lowercase();
    name.retain(|it| !matches!(it, '_' | '-'));
    name
}

/// The server in a name of the form `mcp__SERVER__TOOL`.
pub fn mcp_server(tool: &str) -> Option<&str> {
    let (server, _) = tool.strip_prefix("mcp__")?.split_once("__")?;
    (!server.is_empty()).then_some(server)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_and_polls_are_found_in_every_spelling() {
        for tool in [
            "AskUserQuestion",
            "ask_user",
            "question",
            "request_user_input",
            "ExitPlanMode",
            "exit_plan_mode",
            "mcp__ui__AskUserQuestion",
            "ask_followup_question",
        ] {
            assert!(asks_human(tool) && !polls(tool), "{tool}");
        }
        for tool in ["write_stdin", "wait", "BashOutput", "TaskOutput", "KillShell", "wait_agent", "read_bash"] {
            assert!(polls(tool) && !asks_human(tool), "{tool}");
        }
        assert!(!asks_human("Bash") && !polls("Bash"));
    }

    #[test]
    fn one_word_for_one_job() {
        for (tool, expected) in [
            ("Bash", "shell"),
            ("bash_command", "shell"),
            ("process", "shell"),
            ("web_search", "web"),
            ("WebSearch", "web"),
            ("webSearch", "web"),
            ("TaskUpdate", "plan"),
            ("Task", "subagent"),
            ("sessions_spawn", "subagent"),
            ("TaskOutput", "other"),
            ("mcp__docs__search", "mcp"),
            ("mcp__x", "other"),
            ("Frobnicate", "other"),
        ] {
            assert_eq!(category(tool), expected, "{tool}");
        }
        assert_eq!(mcp_server("mcp__docs__search"), Some("docs"));
    }

    #[test]
    fn a_format_has_a_list_of_its_own() {
        let list = [("browse", "other"), ("browse*", "web"), ("browse_shell*", "shell"), ("editor", "editor")];
        let of = |tool: &str| category_among(&list, tool, Some(Raw(br#"{"command":"view"}"#)));
        assert_eq!(
            ["browse", "browse_page", "browse_shell_1", "editor", "bash"].map(of),
            [Some("other"), Some("web"), Some("shell"), Some("read"), None]
        );
        assert!(is_category("shell") && is_category("editor") && !is_category("shells"));
    }
}
