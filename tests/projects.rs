//! Where sessions ran: places that stay known, and the names that the user gives to projects.

use std::fs;
use std::path::{Path, PathBuf};

use agentlogs::ingest::{self, Options, Progress, Sink as _};
use agentlogs::input::machine::UserPath;
use agentlogs::model::session::SessionResult;
use agentlogs::model::source::{Source, SourceStatus};
use agentlogs::store::archive::Archive;

/// A transcript of one response.
fn transcript(session: &str, cwd: &Path, time: &str) -> String {
    let cwd = cwd.to_string_lossy().replace('\\', "\\\\");
    format!(
        "{{\"type\":\"assistant\",\"sessionId\":\"{session}\",\"cwd\":\"{cwd}\",\"timestamp\":\"{time}\",\"message\":{{\"id\":\
         \"m{session}\",\"role\":\"assistant\",\"model\":\"claude-sonnet-4-5\",\"stop_reason\":\"end_turn\",\"content\":[],\
         \"usage\":{{\"input_tokens\":100000,\"output_tokens\":1}}}}}}\n"
    )
}

/// Reads logs into an archive.
fn ingest(archive: &Archive, logs: &Path, is_owned: bool) {
    let owned = UserPath { path: logs.to_owned(), user: Some("ann".to_owned()) };
    let options = Options {
        roots: vec![logs.to_owned()],
        owned: Some(owned).filter(|_| is_owned).into_iter().collect(),
        host: Some("mars".to_owned()),
        ..Options::default()
    };
    let writer = archive.write().unwrap();
    ingest::read_into(&options, |path| writer.known(path), &Progress::default(), &writer);
    writer.commit().unwrap();
}

/// Repository, machine and account of the only session.
fn places(archive: &Archive) -> [Option<String>; 3] {
    let sessions = archive.tables().unwrap().table("sessions").collect().unwrap();
    assert_eq!(sessions.height(), 1);
    let value = |name: &str| sessions.column(name).unwrap().str().unwrap().get(0).map(str::to_owned);
    ["repository", "host", "user_name"].map(value)
}

/// Whatever happens to the working directory, to its `.git` and to the log.
#[test]
fn where_a_session_ran_stays_known() {
    type Change = fn(&Path, &Path);
    let grow = |log: &Path| {
        let text = fs::read_to_string(log).unwrap();
        fs::write(log, text + "{\"type\":\"progress\"}\n").unwrap();
    };
    let shorten = |log: &Path| fs::write(log, fs::read_to_string(log).unwrap().trim_end()).unwrap();
    let changes: [(&str, Change); 4] = [
        ("the directory is gone", |shop, _| fs::remove_dir_all(shop).unwrap()),
        ("the directory lost its .git", |shop, _| fs::remove_dir_all(shop.join(".git")).unwrap()),
        ("the log was renamed", |shop, log| {
            fs::remove_dir_all(shop).unwrap();
            fs::rename(log, log.with_file_name("0.jsonl")).unwrap();
        }),
        ("the log was moved", |shop, log| {
            fs::remove_dir_all(shop.join(".git")).unwrap();
            let directory = log.with_file_name("other");
            fs::create_dir(&directory).unwrap();
            fs::rename(log, directory.join("z.jsonl")).unwrap();
        }),
    ];
    let known = ["shop", "mars", "ann"].map(|place| Some(place.to_owned()));
    for (name, change) in changes {
        for (then, is_owned) in [("grew", true), ("is shorter", true), ("is no longer owned", false)] {
            let directory = tempfile::tempdir().unwrap();
            let home = dunce::canonicalize(directory.path()).unwrap();
            let (shop, logs, archive) = (home.join("shop"), home.join("logs"), Archive::at(home.join("archive")));
            fs::create_dir_all(shop.join(".git")).unwrap();
            fs::create_dir_all(&logs).unwrap();
            fs::write(logs.join("1.jsonl"), transcript("a", &shop, "2026-11-02T10:00:00Z")).unwrap();
            ingest(&archive, &logs, true);
            assert_eq!(places(&archive), known, "{name}");
            change(&shop, &logs.join("1.jsonl"));
            let log = logs_in(&logs).remove(0);
            if then == "is shorter" {
                shorten(&log);
            } else {
                grow(&log);
            }
            for _ in 0..2 {
                ingest(&archive, &logs, is_owned);
                assert_eq!(places(&archive), known, "{name}, the log {then}");
            }
        }
    }
}

fn logs_in(directory: &Path) -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(directory).into_iter().map(|entry| entry.unwrap().into_path());
    entries.filter(|path| path.is_file()).collect()
}

/// The sessions of a large log are stored while the rest of it is read.
#[test]
fn where_the_sessions_of_a_large_log_ran_stays_known() {
    let directory = tempfile::tempdir().unwrap();
    let archive = Archive::at(directory.path().join("archive"));
    let session = |repository: Option<&str>| SessionResult {
        session_id: "a".to_owned(),
        runtime: "claude".into(),
        cwd: Some("/w/shop".to_owned()),
        repository: repository.map(str::to_owned),
        ..SessionResult::default()
    };
    for repository in [Some("shop"), None, None] {
        let writer = archive.write().unwrap();
        let spilled = writer.spill("/logs/large", vec![session(repository)]).unwrap();
        writer.take(Source {
            path: "/logs/large".to_owned(),
            status: SourceStatus::Parsed,
            spilled,
            grew: true,
            ..Source::default()
        });
        writer.commit().unwrap();
        assert_eq!(places(&archive)[0].as_deref(), Some("shop"), "{repository:?}");
    }
}

#[cfg(unix)]
mod program {
    use std::collections::BTreeMap;

    use super::*;
    use crate::places::program::{run, text};

    /// A home directory with transcripts of an hour ago, by the working directory.
    fn fill(home: &Path, directories: &[&str]) {
        let hour = jiff::SignedDuration::from_hours(1);
        let time = jiff::Timestamp::now().checked_sub(hour).unwrap().to_string();
        for (number, directory) in directories.iter().enumerate() {
            let log = home.join(format!(".claude/projects/{number}/log.jsonl"));
            fs::create_dir_all(log.parent().unwrap()).unwrap();
            fs::write(&log, transcript(&format!("s{number}"), &home.join(directory), &time)).unwrap();
        }
    }

    /// Sessions by the first column of a report.
    fn sessions(home: &Path, args: &[&str]) -> BTreeMap<String, String> {
        let output = run(home, home, &[&["report", "sessions", "--format", "csv"], args].concat());
        let stdout = text(&output.stdout);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let rows = stdout.lines().skip(1).map(|line| line.split(',').take(2));
        rows.map(|mut row| (row.next().unwrap().to_owned(), row.next().unwrap_or_default().to_owned())).collect()
    }

    fn configure(home: &Path, projects: &str) {
        let own = home.join(".config/agentlogs");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("agentlogs.toml"), projects).unwrap();
    }

    /// The names apply to what was read before them, in all that reads tables.
    #[test]
    fn the_names_of_projects_apply_to_what_was_read_before() {
        let directory = tempfile::tempdir().unwrap();
        let home = &dunce::canonicalize(directory.path()).unwrap();
        fs::create_dir_all(home.join("src/shop-api/.git")).unwrap();
        fill(home, &["src/shop-api", "src/shop-web/app", "src/shop.worktrees/fix", "src/cafe"]);
        assert!(run(home, home, &["ingest"]).status.success());
        let path = |name: &str| home.join(name).to_string_lossy().into_owned();
        let by_project = |args: &[&str]| sessions(home, &[&["--by", "project"], args].concat());
        let before = ["src/cafe", "src/shop", "src/shop-api", "src/shop-web/app"].map(path);
        assert_eq!(by_project(&[]).into_keys().collect::<Vec<_>>(), before);

        configure(
            home,
            "[projects]\n\"~/src/shop*\" = \"The shop\"\n\"~/src/shop-web\" = \"web\"\n\"/nowhere\" = \"none\"",
        );
        let named = [path("src/cafe"), "The shop".to_owned(), "web".to_owned()].map(|name| (name, "1".to_owned()));
        let mut expected: BTreeMap<String, String> = named.into();
        expected.insert("The shop".to_owned(), "2".to_owned());
        let logs = path(".claude/projects");
        assert_eq!(by_project(&[]), expected);
        assert_eq!(by_project(&["--logs", &logs]), expected);
        assert_eq!(by_project(&["--project", "The shop"]).into_keys().collect::<Vec<_>>(), ["The shop"]);
        assert_eq!(by_project(&["--project", "w*"]).into_keys().collect::<Vec<_>>(), ["web"]);
        // The repository of a session whose project has a name of its own does not find it by --project.
        assert_eq!(by_project(&["--project", "shop-api"]), BTreeMap::new());
        assert_eq!(by_project(&["--repository", "shop-api"]).len(), 1);

        let stdout = |args: &[&str]| {
            let output = run(home, home, args);
            assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
            text(&output.stdout)
        };
        let overview = stdout(&[]);
        let shown = overview.lines().skip_while(|line| !line.starts_with("projects")).skip(1);
        let shown: Vec<&str> = shown.take(3).map(|line| line.get(..8).unwrap()).collect();
        assert_eq!(shown[0], "The shop", "{overview}");
        assert!(!overview.contains("shop-api") && overview.contains("\nweb "), "{overview}");
        let sql = "SELECT project, COUNT(*) AS n FROM sessions GROUP BY project ORDER BY project";
        let queried = stdout(&["query", sql, "--format", "csv"]);
        assert!(queried.contains("\nThe shop,2\n") && queried.ends_with("\nweb,1\n"), "{queried}");
        let compared = stdout(&["compare", "--a", "project=The shop", "--b", "project=web", "--format", "csv"]);
        assert!(compared.contains("sessions,2,1,"), "{compared}");
        let checked = stdout(&["check", "--max", "cost_usd=1", "--project", "web", "--format", "csv"]);
        assert!(checked.contains("cost_usd,0.3"), "{checked}");
        stdout(&["export", &path("out"), "--as", "csv", "--table", "sessions"]);
        assert!(fs::read_to_string(home.join("out/sessions.csv")).unwrap().contains(",The shop,"));
        stdout(&["export", &path("lake"), "--as", "lake"]);
        configure(home, "");
        assert_eq!(by_project(&[]).into_keys().collect::<Vec<_>>(), before);
        configure(home, "[projects]\n\"*/cafe\" = \"Café\"");
        let of_lake = by_project(&["--archive", &path("lake")]);
        assert_eq!(of_lake.into_keys().collect::<Vec<_>>(), ["Café", "The shop", "web"]);
        stdout(&["dashboard", &path("page.html")]);
    }

    /// A file that was found may name projects: that opens nothing. The patterns of both files apply.
    #[test]
    fn the_names_of_both_files_apply() {
        let directory = tempfile::tempdir().unwrap();
        let home = &dunce::canonicalize(directory.path()).unwrap();
        fill(home, &["a", "b", "c"]);
        configure(home, "[projects]\n\"~/a\" = \"own a\"\n\"~/b\" = \"own b\"");
        let near = "[projects]\n\"~/a\" = \"near a\"\n";
        fs::write(home.join("agentlogs.toml"), near).unwrap();
        let logs = home.join(".claude/projects").to_string_lossy().into_owned();
        let found = sessions(home, &["--by", "project", "--logs", &logs]).into_keys().collect::<Vec<_>>();
        assert_eq!(found, [home.join("c").to_string_lossy().into_owned(), "near a".to_owned(), "own b".to_owned()]);
        let output = run(home, home, &["config", "--format", "csv"]);
        let (stdout, own) = (text(&output.stdout), home.join(".config/agentlogs/agentlogs.toml"));
        let line = format!("projects,{} = own b,{}", home.join("b").display(), own.display());
        assert!(stdout.lines().any(|found| found == line), "{stdout}");
        assert!(!text(&output.stderr).contains("ignored"), "{}", text(&output.stderr));
    }

    /// The example of docs/configuration.md is valid.
    #[test]
    fn the_example_of_the_documentation_is_valid() {
        let directory = tempfile::tempdir().unwrap();
        let page = fs::read_to_string(crate::root().join("docs/configuration.md")).unwrap();
        let example = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
        configure(directory.path(), example);
        let output = run(directory.path(), directory.path(), &["config", "--format", "csv"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(text(&output.stdout).contains("\nprojects,"), "{}", text(&output.stdout));
    }
}
