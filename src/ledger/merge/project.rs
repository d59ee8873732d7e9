//! The project of a session: its working directory, or the project whose worktree that is (docs/accounting.md#project). Only the
//! text of the path decides, so that logs of other machines and of removed worktrees have a project, too.

/// A separator of the components that [`Directory`] returns.
const WINDOWS: char = '\\';

/// Where a tool keeps worktrees: in a directory `worktrees` of the project, both as components of a path. In `worktrees` and
/// `project`, `*` is any component, `*x` one that ends with `x`, `*x*` one that contains it, `ID` at least four hexadecimal digits,
/// `UUID` one in its usual form, and `~` a home directory.
///
/// `project` is the end of the project's path: `""` for any directory, `"!~"` for any one but a home directory. If it ends with
/// `NAME`, the project has that name, because nothing in the path leads to its directory. If it begins with `*.`, the project is
/// beside that directory and has its name without the ending.
struct Layout {
    project: &'static str,
    worktrees: &'static str,
}

/// A worktree at `PROJECT/worktrees`.
const fn at(project: &'static str, worktrees: &'static str) -> Layout {
    Layout { project, worktrees }
}

/// All known layouts, each with its source. Of several that match, the first in the path applies, then the first here.
///
/// Some tools keep worktrees of all projects side by side, without a name of the project in the path: Claude Squad
/// (`~/.claude-squad/worktrees/BRANCH_TIME`, <https://github.com/smtg-ai/claude-squad> session/git/worktree.go), earlier versions of
/// emdash (`../worktrees/TASK`). `PROJECT/worktrees/NAME` (Crystal, <https://github.com/stravu/crystal> worktreeManager.ts) cannot be
/// distinguished from these. They need `[projects]` in the configuration.
const LAYOUTS: &[Layout] = &[
    // Claude Code: https://code.claude.com/docs/en/worktrees
    at("", ".claude/worktrees"),
    // git keeps the data of worktrees there: https://git-scm.com/docs/git-worktree
    at("", ".git/worktrees"),
    // Gemini CLI: https://geminicli.com/docs/cli/git-worktrees
    at("", ".gemini/worktrees"),
    // Qwen Code: https://github.com/QwenLM/qwen-code, `--worktree` in packages/cli
    at("", ".qwen/worktrees"),
    // Kilo Code and its successor: https://github.com/Kilo-Org/kilocode, "Worktree Location" in the documents
    at("", ".kilocode/worktrees"),
    at("", ".kilo/worktrees"),
    // Letta Code: https://www.skills.sh/letta-ai/letta-code/working-in-parallel
    at("", ".letta/worktrees"),
    // A convention of scripts and skills: https://github.com/obra/superpowers, using-git-worktrees
    at("!~", ".worktrees"),
    // Conductor before 0.25: https://docs.conductor.build/tips/nesting-issues
    at("!~", ".conductor/*"),
    // emdash on remote machines: https://github.com/generalaction/emdash, worktree-defaults.ts
    at("!~", ".emdash/worktrees"),
    // VS Code; as its extensions: https://github.com/joaorr3/git-worktrees
    at("*.worktrees", ""),
    // Codex: https://github.com/openai/codex/issues/10599. $CODEX_HOME can have another name.
    at("~/.codex/worktrees/*/NAME", ""),
    at("*codex*/worktrees/ID/NAME", ""),
    // Conductor: https://docs.conductor.build/tips/nesting-issues
    at("conductor/workspaces/NAME", ""),
    // Superset: https://github.com/superset-sh/superset, resolve-worktree-path.ts; later the id of the project
    at(".superset/worktrees/UUID", ""),
    at(".superset/worktrees/NAME", ""),
    // Cursor: `cursor-agent --help`, `--worktree`; https://cursor.com/docs/configuration/worktrees
    at(".cursor/worktrees/NAME", ""),
    // Windsurf: https://docs.windsurf.com/windsurf/cascade/worktrees
    at(".windsurf/worktrees/NAME", ""),
    // Grok: https://docs.x.ai/build/features/worktrees
    at(".grok/worktrees/NAME", ""),
    // T3 Code: https://github.com/pingdotgg/t3code
    at(".t3/worktrees/NAME", ""),
    // Claude's desktop app: https://engineering.aitorpoquet.dev/docs/claude-desktop-worktrees
    at("~/.claude-worktrees/NAME", ""),
    // emdash: https://github.com/generalaction/emdash, worktree-defaults.ts
    at("emdash/worktrees/NAME", ""),
    // Vibe Kanban: https://github.com/BloopAI/vibe-kanban, crates/utils/src/path.rs and its workspaces
    at("vibe-kanban/worktrees/*/NAME", ""),
    // OpenCode: https://github.com/anomalyco/opencode/pull/47370; the id of the project is all that the path contains
    at("opencode/worktree/*", ""),
    // OpenClaw: https://docs.openclaw.ai/concepts/managed-worktrees; a hash of the repository's path and remote
    at(".openclaw/worktrees/*", ""),
    // Gas Town: https://github.com/steveyegge/gastown, docs/reference.md
    at("gt/*", "crew"),
    at("gt/*", "polecats"),
    at("gt/*", "refinery"),
    at("gt/*", "witness"),
    at("gt/*", "mayor/rig"),
];

/// The project of a working directory. `None` for an empty path.
pub(super) fn project(cwd: &str) -> Option<String> {
    let directory = Directory::of(cwd)?;
    if cwd.contains("://") {
        // An address, or another text: it is not a path.
        return Some(cwd.to_owned());
    }
    let parts = &directory.parts;
    let found =
        (0..parts.len()).find_map(|start| LAYOUTS.iter().find_map(|layout| layout.project_of(&directory, start)));
    Some(found.unwrap_or_else(|| directory.path(parts.len())))
}

impl Layout {
    /// The project of a directory in which this layout begins at a component.
    fn project_of(&self, directory: &Directory<'_>, start: usize) -> Option<String> {
        let parts = &directory.parts;
        let is_any = matches!(self.project, "" | "!~");
        let project = if is_any { "" } else { self.project };
        let mut end = start;
        let mut name = None;
        for pattern in project.split('/').filter(|part| !part.is_empty()) {
            if !is_match(pattern, parts, end) {
                return None;
            }
            name = parts.get(end).filter(|_| pattern == "NAME");
            end += 1;
        }
        let mut worktrees = self.worktrees.split('/').filter(|part| !part.is_empty()).zip(end..);
        if !worktrees.all(|(pattern, position)| is_match(pattern, parts, position)) {
            return None;
        }
        if let Some(name) = name {
            return Some((*name).to_owned());
        }
        let path = directory.path(end);
        if let Some(ending) = project.strip_prefix('*').filter(|ending| ending.starts_with('.')) {
            return path.strip_suffix(ending).map(str::to_owned);
        }
        let is_allowed = !is_any || (end > 0 && (self.project.is_empty() || !is_home(parts, end - 1)));
        is_allowed.then_some(path)
    }
}

/// Whether the component at a position matches the pattern of a [`Layout`].
fn is_match(pattern: &str, parts: &[&str], position: usize) -> bool {
    let Some(part) = parts.get(position) else { return false };
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match pattern {
        "*" | "NAME" => true,
        "~" => is_home(parts, position),
        "ID" => part.len() >= 4 && is_hex(part),
        "UUID" => part.split('-').map(str::len).eq([8, 4, 4, 4, 12]) && is_hex(&part.replace('-', "")),
        _ => match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
            (Some(inner), Some(_)) => part.contains(inner.trim_end_matches('*')),
            (Some(ending), None) => part.len() > ending.len() && part.ends_with(ending),
            _ => *part == pattern,
        },
    }
}

/// Whether the path up to a component is a home directory, on any platform.
fn is_home(parts: &[&str], position: usize) -> bool {
    match position.checked_sub(1).and_then(|parent| parts.get(parent)) {
        Some(parent) => ["home", "Users", "users"].contains(parent),
        None => parts.first() == Some(&"root"),
    }
}

/// A path in its components: without `.`, and without separators at its end.
struct Directory<'a> {
    /// What precedes the first component: `/`, `C:\`, `\\`, or nothing if the path is relative.
    root: String,
    parts: Vec<&'a str>,
    separator: char,
}

impl<'a> Directory<'a> {
    fn of(path: &'a str) -> Option<Self> {
        if path.is_empty() {
            return None;
        }
        // Programs for Windows also write `\\?\C:\work`, and URIs contain `/C:/work`.
        let plain = path.strip_prefix(r"\\?\").unwrap_or(path);
        let after_slash = plain.strip_prefix('/').filter(|rest| drive(rest).is_some());
        let plain = after_slash.unwrap_or(plain);
        if let Some((letter, rest)) = drive(plain) {
            let root = format!("{}:{WINDOWS}", letter.to_ascii_uppercase());
            return Some(Self { root, parts: components(rest, &['/', WINDOWS]), separator: WINDOWS });
        }
        let share = path.strip_prefix(r"\\?\UNC\").or_else(|| path.strip_prefix(r"\\"));
        if let Some(share) = share {
            return Some(Self {
                root: r"\\".to_owned(),
                parts: components(share, &['/', WINDOWS]),
                separator: WINDOWS,
            });
        }
        let parts = components(path, &['/']);
        let root = if path.starts_with('/') {
            "/"
        } else if parts.is_empty() {
            "."
        } else {
            ""
        };
        Some(Self { root: root.to_owned(), parts, separator: '/' })
    }

    /// The path of the first components.
    fn path(&self, count: usize) -> String {
        let mut path = self.root.clone();
        for (index, part) in self.parts.iter().take(count).enumerate() {
            if index > 0 {
                path.push(self.separator);
            }
            path.push_str(part);
        }
        path
    }
}

/// The letter of a drive of Windows, and what follows it.
fn drive(path: &str) -> Option<(char, &str)> {
    let (letter, rest) = path.split_once(':')?;
    let letter = letter.parse::<char>().ok().filter(char::is_ascii_alphabetic)?;
    (rest.is_empty() || rest.starts_with(['/', WINDOWS])).then_some((letter, rest))
}

fn components<'a>(path: &'a str, separators: &[char]) -> Vec<&'a str> {
    path.split(separators).filter(|part| !part.is_empty() && *part != ".").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each layout, with the separators of both platforms.
    #[test]
    fn worktrees_belong_to_their_project() {
        let cases = [
            ("/w/shop", "/w/shop"),
            ("/w/shop/src", "/w/shop/src"),
            ("/w/shop/.claude/worktrees/fix", "/w/shop"),
            ("/w/shop/.claude/worktrees/fix/src", "/w/shop"),
            ("/home/ann/.claude/worktrees/fix", "/home/ann"),
            ("/w/shop/.git/worktrees/fix", "/w/shop"),
            ("/w/shop/.gemini/worktrees/fix", "/w/shop"),
            ("/w/shop/.qwen/worktrees/fix", "/w/shop"),
            ("/w/shop/.kilocode/worktrees/fix", "/w/shop"),
            ("/w/shop/.kilo/worktrees/fix", "/w/shop"),
            ("/w/shop/.letta/worktrees/fix", "/w/shop"),
            ("/w/shop/.worktrees/team/fix/src", "/w/shop"),
            ("/w/shop/.worktrees", "/w/shop"),
            ("/home/ann/.worktrees/shop/fix", "/home/ann/.worktrees/shop/fix"),
            ("/w/shop/.conductor/oslo/src", "/w/shop"),
            ("/w/shop/.conductor", "/w/shop/.conductor"),
            ("/w/shop/.emdash/worktrees/fix", "/w/shop"),
            ("/w/shop.worktrees/team/fix", "/w/shop"),
            ("/home/ann/.codex/worktrees/9ee2/shop/src", "shop"),
            ("/root/.codex/worktrees/fix/shop", "shop"),
            ("/data/codex-home/worktrees/9ee2/shop", "shop"),
            ("/home/ann/.codex/worktrees/9ee2", "/home/ann/.codex/worktrees/9ee2"),
            ("/w/shop/.codex/worktrees/agent-edge/src", "/w/shop/.codex/worktrees/agent-edge/src"),
            ("/Users/ann/conductor/workspaces/shop/oslo/src", "shop"),
            ("/home/ann/.superset/worktrees/shop/feat/tax", "shop"),
            (
                "/home/ann/.superset/worktrees/07a1f5cb-07af-473a-b3b5-a07b3f772c20/tax",
                "/home/ann/.superset/worktrees/07a1f5cb-07af-473a-b3b5-a07b3f772c20",
            ),
            ("/home/ann/.cursor/worktrees/shop/a1B2c", "shop"),
            ("/home/ann/.windsurf/worktrees/shop/shop-90665ca8", "shop"),
            ("/home/ann/.grok/worktrees/shop/fix", "shop"),
            ("/home/ann/.t3/worktrees/shop/t3code-4e609bb8", "shop"),
            ("/Users/ann/.claude-worktrees/shop/kind-jemison", "shop"),
            ("/w/shop/.claude-worktrees/fix", "/w/shop/.claude-worktrees/fix"),
            ("/home/ann/emdash/worktrees/shop/emdash/tax-x1", "shop"),
            ("/var/tmp/vibe-kanban/worktrees/17ff-tax/shop/src", "shop"),
            (
                "/home/ann/.local/share/opencode/worktree/5354809a/calm-cabin",
                "/home/ann/.local/share/opencode/worktree/5354809a",
            ),
            ("/home/ann/.openclaw/worktrees/0f3a9b/wt-1", "/home/ann/.openclaw/worktrees/0f3a9b"),
            ("/home/ann/gt/shop/crew/joe", "/home/ann/gt/shop"),
            ("/home/ann/gt/shop/polecats/toast/shop", "/home/ann/gt/shop"),
            ("/home/ann/gt/shop/refinery/rig", "/home/ann/gt/shop"),
            ("/home/ann/gt/shop/witness", "/home/ann/gt/shop"),
            ("/home/ann/gt/shop/mayor/rig", "/home/ann/gt/shop"),
            ("/home/ann/gt/mayor", "/home/ann/gt/mayor"),
            // The first layout in a path applies.
            ("/home/ann/.codex/worktrees/9ee2/shop/.claude/worktrees/fix", "shop"),
            ("/w/shop/.worktrees/fix/.claude/worktrees/agent-1", "/w/shop"),
            // Similar names.
            ("/w/.claude/worktree/x", "/w/.claude/worktree/x"),
            ("/w/my.claude/worktrees/x", "/w/my.claude/worktrees/x"),
            ("/w/worktrees/x", "/w/worktrees/x"),
        ];
        for (cwd, expected) in cases {
            assert_eq!(project(cwd).as_deref(), Some(expected), "{cwd}");
            let of_windows = |path: &str| format!("C:{}", path.replace('/', "\\"));
            let expected = if expected.starts_with('/') { of_windows(expected) } else { expected.to_owned() };
            if !cwd.starts_with("/root") {
                assert_eq!(project(&of_windows(cwd)).as_deref(), Some(&*expected), "{cwd}");
                assert_eq!(project(&format!("c:{cwd}")).as_deref(), Some(&*expected), "{cwd}");
            }
        }
    }

    #[test]
    fn spellings_of_a_path_are_one_project() {
        let cases = [
            (r"C:\work\shop", r"C:\work\shop"),
            (r"c:\work\shop", r"C:\work\shop"),
            ("C:/work/shop", r"C:\work\shop"),
            ("c:/work\\shop/", r"C:\work\shop"),
            ("C:\\work\\shop\\", r"C:\work\shop"),
            (r"\\?\C:\work\shop", r"C:\work\shop"),
            ("/c:/work/shop", r"C:\work\shop"),
            (r"C:\", r"C:\"),
            ("c:", r"C:\"),
            (r"\\host\share\shop\", r"\\host\share\shop"),
            (r"\\?\UNC\host\share\shop", r"\\host\share\shop"),
            ("/w/shop/", "/w/shop"),
            ("/w//shop/./", "/w/shop"),
            ("/", "/"),
            // A backslash is part of a name on other systems.
            (r"/w/a\b", r"/w/a\b"),
            ("shop/", "shop"),
            ("./", "."),
            ("ssh://host//w/shop/", "ssh://host//w/shop/"),
        ];
        for (cwd, expected) in cases {
            assert_eq!(project(cwd).as_deref(), Some(expected), "{cwd}");
        }
        assert_eq!(project(""), None);
    }

    /// docs/accounting.md lists each layout.
    #[test]
    fn every_layout_is_documented() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/accounting.md");
        let page = std::fs::read_to_string(path).unwrap();
        let section = page.split("\n## Project\n").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
        for Layout { project, worktrees } in LAYOUTS {
            let shown = [project.trim_start_matches("!~"), worktrees].join("/");
            let shown = shown.trim_matches('/');
            assert!(section.contains(&format!("`{shown}`")), "{shown}");
        }
    }
}
