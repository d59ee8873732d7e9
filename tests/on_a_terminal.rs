//! Programs that have all of a terminal, in a pseudo-terminal that `script` of util-linux makes: `watch`, `browse` and the prompt of
//! `query`. Not every machine has it; then nothing is tested here.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::sleep;
use std::time::Duration;

use crate::places::program::text;

/// Much longer than anything takes, for machines with other work.
const PATIENCE: Duration = Duration::from_mins(1);

/// The program in a terminal of 80 columns and 24 lines.
pub struct Terminal {
    child: Child,
    keys: ChildStdin,
    parts: Receiver<String>,
    shown: String,
    /// The end of the text that was waited for last.
    end: usize,
    /// The end of the last question for the position of the cursor that was answered.
    answered: usize,
}

impl Terminal {
    /// Starts the program in a home directory; `None` if there is no pseudo-terminal.
    pub fn start(home: &Path, arguments: &str) -> Option<Self> {
        Command::new("script").arg("--version").output().ok()?;
        let run = format!("stty cols 80 rows 24; exec '{}' {arguments}", env!("CARGO_BIN_EXE_agentlogs"));
        let mut command = Command::new("script");
        command.args(["-qec", &run, "/dev/null"]).current_dir(home).env_clear().env("HOME", home).env("TERM", "xterm");
        command.env("TZ", "UTC").env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let keys = child.stdin.take().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let (sender, parts) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = stdout.read(&mut buffer) {
                let _ = sender.send(String::from_utf8_lossy(&buffer[..count]).into_owned());
            }
        });
        Some(Self { child, keys, parts, shown: String::new(), end: 0, answered: 0 })
    }

    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Waits for a text after the one before. A question for the position of the cursor is answered as a terminal does.
    pub fn wait_for(&mut self, part: &str) {
        const QUESTION: &str = "\u{1b}[6n";
        loop {
            while let Some(at) = self.shown[self.answered..].find(QUESTION) {
                self.answered += at + QUESTION.len();
                self.press("\u{1b}[1;1R");
            }
            if let Some(at) = self.shown[self.end..].find(part) {
                self.end += at + part.len();
                return;
            }
            let more = self.parts.recv_timeout(PATIENCE);
            self.shown += &more.unwrap_or_else(|_| panic!("no {part:?} after {:?}", &self.shown[self.end..]));
        }
    }

    pub fn status(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

/// An archive of the demo in a new home directory.
fn demo(directory: &Path) -> PathBuf {
    let home = dunce::canonicalize(directory).unwrap();
    ingest(&home, crate::root().join("demo").to_str().unwrap());
    home
}

fn ingest(home: &Path, path: &str) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
    command.args(["ingest", path, "--archive", "archive"]).current_dir(home).env_clear().env("HOME", home);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// Ctrl-C ends a query that runs, and the prompt answers the next one; a part of a line is cleared.
#[test]
fn control_c_stops_the_query_and_not_the_prompt() {
    let directory = tempfile::tempdir().unwrap();
    let home = demo(directory.path());
    let Some(mut terminal) = Terminal::start(&home, "query --archive archive") else { return };
    terminal.wait_for("agentlogs");
    // Seconds in several steps.
    let step = "SELECT COUNT(DISTINCT a.line * b.line * c.line) AS n FROM turns a CROSS JOIN turns b \
                CROSS JOIN (SELECT line FROM turns LIMIT 80) c";
    let steps = [step; 5].join(" UNION ALL ");
    terminal.press(&format!("SELECT 'an' || 'swer' AS word, SUM(n) AS n FROM ({steps}) GROUP BY 1;\r"));
    // The line is complete, and the terminal sends signals again.
    terminal.wait_for("\u{1b}[J\r\n");
    sleep(Duration::from_millis(500));
    terminal.press("\u{3}");
    terminal.wait_for("stopped");
    assert!(!terminal.shown.contains("answer"), "{}", terminal.shown);
    terminal.wait_for("agentlogs");
    terminal.press("SELECT * FROM no_");
    terminal.press("\u{3}");
    terminal.wait_for("agentlogs");
    terminal.press("SELECT COUNT(*) + 1000 AS n FROM sessions;\r");
    terminal.wait_for("1,041");
    terminal.press(".quit\r");
    assert!(terminal.status().success());
}

/// A log of one response.
fn log(home: &Path, project: &str, time: &str) {
    let text = format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"{project}-1\",\"timestamp\":\"{time}\",\"cwd\":\"/{project}\"}}\n\
         {{\"type\":\"message\",\"id\":\"a1\",\"parentId\":null,\"timestamp\":\"{time}\",\"message\":{{\"role\":\"assistant\",\
         \"content\":[{{\"type\":\"text\",\"text\":\"Done.\"}}],\"provider\":\"anthropic\",\"model\":\"claude-sonnet-5\",\
         \"usage\":{{\"input\":10,\"output\":5,\"cacheRead\":0,\"cacheWrite\":0}},\"stopReason\":\"stop\"}}}}\n"
    );
    fs::create_dir_all(home.join("logs")).unwrap();
    fs::write(home.join("logs").join(format!("{project}.jsonl")), text).unwrap();
}

/// New sessions appear without a key. An archive that becomes damaged is a message; the keys go on to work, and when it is written again, the
/// list is that of the new one.
#[test]
fn browse_follows_the_archive() {
    let directory = tempfile::tempdir().unwrap();
    let home = demo(directory.path());
    let Some(mut terminal) = Terminal::start(&home, "browse --archive archive") else { return };
    terminal.wait_for("storefront");
    log(&home, "QQQQQQQQ", "2026-12-01T10:00:00.000Z");
    ingest(&home, "logs");
    terminal.wait_for("QQQQQQQQ");
    terminal.press("j");
    let pointer = home.join("archive/agentlogs.json");
    let content = fs::read(&pointer).unwrap();
    fs::write(&pointer, "{").unwrap();
    terminal.wait_for("damaged:");
    terminal.press("jk\r");
    terminal.wait_for("damaged:");
    fs::write(&pointer, content).unwrap();
    log(&home, "ZZZZZZZZ", "2026-12-02T10:00:00.000Z");
    ingest(&home, "logs");
    terminal.wait_for("ZZZZZZZZ");
    terminal.press("q");
    terminal.wait_for("\u{1b}[?1049l");
    assert!(terminal.status().success());
}
