//! A user's own logs: where they are found on each platform, and the archive that is used without options.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use agentlogs::adapters::ADAPTERS;
use agentlogs::ingest::{self, Options, Progress};
use agentlogs::input::machine::{Machine, System, UserPath};
use agentlogs::model::places::{Base, Place};

use crate::root;

/// Copies the samples of each format to the places where its runtime keeps them, and returns the places.
pub fn fill_home(machine: &Machine) -> Vec<UserPath> {
    let mut filled = Vec::new();
    for adapter in ADAPTERS {
        for place in adapter.places {
            let Some(path) = machine.resolve(place).into_iter().next() else { continue };
            let samples = root().join("sample-logs").join(adapter.id);
            let is_file = Path::new(place.path).extension().is_some();
            for sample in fs::read_dir(&samples).unwrap().map(|entry| entry.unwrap().path()) {
                let target = if is_file { path.path.clone() } else { path.path.join(sample.file_name().unwrap()) };
                copy(&sample, &target);
                if is_file {
                    break;
                }
            }
            filled.push(path);
        }
    }
    filled
}

fn copy(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from).into_iter().map(Result::unwrap).filter(|entry| entry.file_type().is_file())
    {
        let below = entry.path().strip_prefix(from).unwrap();
        let to = if below.as_os_str().is_empty() { to.to_owned() } else { to.join(below) };
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(entry.path(), to).unwrap();
    }
}

pub fn variables(system: System, home: &Path) -> BTreeMap<String, OsString> {
    let home_variable = if system == System::Windows { "USERPROFILE" } else { "HOME" };
    let user = if system == System::Windows { "USERNAME" } else { "USER" };
    [(home_variable, home.as_os_str().to_owned()), (user, "ann".into())]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
}

fn formats_with_places() -> BTreeSet<&'static str> {
    // No variable is set here that names a place.
    let exists = |place: &Place| !matches!(place.base, Base::Variable { default: None, .. });
    ADAPTERS.iter().filter(|adapter| adapter.places.iter().any(exists)).map(|adapter| adapter.id).collect()
}

#[test]
fn the_logs_of_each_runtime_are_found_on_each_platform() {
    for system in [System::Linux, System::MacOs, System::Windows] {
        let directory = tempfile::tempdir().unwrap();
        let home = dunce::canonicalize(directory.path()).unwrap();
        let machine = Machine::new(system, variables(system, &home));
        let owned = fill_home(&machine);
        let options = Options {
            roots: owned.iter().map(|place| place.path.clone()).collect(),
            owned,
            host: Some("mars".to_owned()),
            ..Options::default()
        };
        let run = ingest::read(&options, &BTreeMap::new(), &Progress::default());
        assert!(run.errors.is_empty(), "{system:?}: {:?}", run.errors);
        let sessions = || run.sources.iter().flat_map(|source| &source.sessions);
        let formats: BTreeSet<&str> = sessions().map(|session| &*session.format).collect();
        assert_eq!(formats, formats_with_places(), "{system:?}");
        let is_owned = |(host, user): (Option<&str>, Option<&str>)| host == Some("mars") && user == Some("ann");
        assert!(sessions().all(|session| is_owned((session.host.as_deref(), session.user_name.as_deref()))));
    }
}

/// The directory name of a repository is only searched for logs of this machine.
#[test]
fn the_repository_is_that_of_the_working_directory() {
    let directory = tempfile::tempdir().unwrap();
    let home = dunce::canonicalize(directory.path()).unwrap();
    let (logs, shop) = (home.join(".pi/agent/sessions"), home.join("shop"));
    fs::create_dir_all(shop.join(".git")).unwrap();
    fs::create_dir_all(shop.join("src")).unwrap();
    fs::create_dir_all(&logs).unwrap();
    let log = fs::read_to_string(first_file(&root().join("sample-logs/pi-session"))).unwrap();
    let cwd = log.split("\"cwd\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap().to_owned();
    let in_shop = shop.join("src").to_string_lossy().replace('\\', "\\\\");
    fs::write(logs.join("s.jsonl"), log.replace(&cwd, &in_shop)).unwrap();
    for (owned, expected) in [(vec![UserPath { path: logs.clone(), user: None }], Some("shop")), (Vec::new(), None)] {
        let options = Options { roots: vec![logs.clone()], owned, ..Options::default() };
        let run = ingest::read(&options, &BTreeMap::new(), &Progress::default());
        assert_eq!(run.sources[0].sessions[0].repository.as_deref(), expected);
    }
}

/// A dot at the beginning is part of a directory's name; the suffix of a bare repository is not part of the repository's.
#[test]
fn a_repository_has_the_name_of_its_directory() {
    let directory = tempfile::tempdir().unwrap();
    let home = dunce::canonicalize(directory.path()).unwrap();
    let logs = home.join(".pi/agent/sessions");
    fs::create_dir_all(&logs).unwrap();
    fs::create_dir_all(home.join(".dotfiles/.git")).unwrap();
    fs::create_dir_all(home.join("shop.git/worktrees/fix")).unwrap();
    fs::create_dir_all(home.join("fix")).unwrap();
    let link = format!("gitdir: {}\n", home.join("shop.git/worktrees/fix").display());
    fs::write(home.join("fix/.git"), link).unwrap();
    let log = fs::read_to_string(first_file(&root().join("sample-logs/pi-session"))).unwrap();
    let cwd = log.split("\"cwd\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap().to_owned();
    for (directory, expected) in [(".dotfiles", ".dotfiles"), ("fix", "shop")] {
        let directory = home.join(directory).to_string_lossy().replace('\\', "\\\\");
        fs::write(logs.join("s.jsonl"), log.replace(&cwd, &directory)).unwrap();
        let owned = vec![UserPath { path: logs.clone(), user: None }];
        let options = Options { roots: vec![logs.clone()], owned, ..Options::default() };
        let run = ingest::read(&options, &BTreeMap::new(), &Progress::default());
        assert_eq!(run.sources[0].sessions[0].repository.as_deref(), Some(expected));
    }
}

fn first_file(directory: &Path) -> PathBuf {
    let mut files: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.into_iter().next().unwrap()
}

#[cfg(all(feature = "archive", unix))]
pub mod program {
    use std::process::{Command, Output};

    use super::*;

    /// The program with a home directory, and nothing else of the environment.
    pub fn run(home: &Path, current: &Path, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
        command.args(args).current_dir(current).env_clear().env("HOME", home).env("USER", "ann").env("TZ", "UTC");
        command.output().unwrap()
    }

    pub fn text(bytes: &[u8]) -> String {
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[test]
    fn ingest_without_paths_reads_all_places_into_the_users_archive() {
        let directory = tempfile::tempdir().unwrap();
        let home = dunce::canonicalize(directory.path()).unwrap();
        let system = if cfg!(target_os = "macos") { System::MacOs } else { System::Linux };
        let machine = Machine::new(system, variables(system, &home));
        fill_home(&machine);
        let archive = machine.own_data().unwrap().join("archive");
        let output = run(&home, &home, &["ingest"]);
        let stderr = text(&output.stderr);
        assert!(output.status.success() && stderr.contains(&format!("archive: {}", archive.display())), "{stderr}");
        let sql = "SELECT DISTINCT format, user_name FROM sessions WHERE host IS NOT NULL ORDER BY format";
        let output = run(&home, &home, &["query", sql, "--format", "csv"]);
        let rows: BTreeSet<String> = text(&output.stdout).lines().skip(1).map(str::to_owned).collect();
        assert_eq!(rows, formats_with_places().into_iter().map(|format| format!("{format},ann")).collect());
        // A path makes an archive in the current directory, which is used from then on.
        let here = home.join("here");
        fs::create_dir(&here).unwrap();
        let logs = home.join(".codex/sessions");
        let output = run(&home, &here, &["ingest", logs.to_str().unwrap()]);
        assert!(output.status.success() && here.join("agentlogs-archive").exists());
        let output = run(&home, &here, &["report", "cost", "--by", "runtime", "--format", "csv"]);
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert!(stdout.contains("\ncodex,") && !stdout.contains("\nclaude,"), "{stdout}");
        assert!(stderr.contains("archive: agentlogs-archive"), "{stderr}");
    }

    #[test]
    fn one_runtime_is_selected_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let home = dunce::canonicalize(directory.path()).unwrap();
        fill_home(&Machine::new(System::Linux, variables(System::Linux, &home)));
        assert!(run(&home, &home, &["ingest", "--runtime", "codex"]).status.success());
        let output = run(&home, &home, &["query", "SELECT DISTINCT runtime FROM sources", "--format", "csv"]);
        assert_eq!(text(&output.stdout), "runtime\ncodex\n");
        let output = run(&home, &home, &["ingest", "--runtime", "codx"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("name a PATH, or one of these runtimes: "), "{}", text(&output.stderr));
    }

    #[test]
    fn without_logs_it_names_what_to_do() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path();
        let output = run(home, home, &["ingest"]);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1));
        for part in ["agentlogs runtimes --all", "agentlogs ingest PATH", "agentlogs.toml"] {
            assert!(stderr.contains(part), "{part}: {stderr}");
        }
        assert!(!stderr.contains(".codex"), "{stderr}");
        let report = text(&run(home, home, &["report", "cost"]).stderr);
        assert!(report.contains("no archive here yet; `agentlogs` reads the logs of this machine"), "{report}");
        assert_eq!(fs::read_dir(home).unwrap().count(), 0);
        // A runtime that is here without logs is named.
        fs::create_dir_all(home.join(".codex/sessions")).unwrap();
        let stderr = text(&run(home, home, &[]).stderr);
        let place = format!("  codex           no logs in {}", home.join(".codex/sessions").display());
        assert!(stderr.lines().any(|line| line == place), "{stderr}");
    }

    #[test]
    fn runtimes_shows_what_is_in_each_place() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path();
        let sessions = home.join("codex/sessions");
        fs::create_dir_all(&sessions).unwrap();
        fs::write(sessions.join("a.jsonl"), "{}\n").unwrap();
        fs::create_dir_all(home.join(".config/agentlogs")).unwrap();
        fs::write(home.join(".config/agentlogs/agentlogs.toml"), "logs = [\"~/runs\"]").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
        command.args(["runtimes", "--format", "csv"]).current_dir(home).env_clear();
        let output = command.env("HOME", home).env("CODEX_HOME", home.join("codex")).output().unwrap();
        let stdout = text(&output.stdout);
        assert!(stdout.contains(&format!("codex,codex-rollout,{},true,1,3,", sessions.display())), "{stdout}");
        let missing = home.join("codex/archived_sessions");
        assert!(stdout.contains(&format!("codex,codex-rollout,{},false,,,\n", missing.display())), "{stdout}");
        assert!(stdout.contains(&format!(",,{},false,,,\n", home.join("runs").display())), "{stdout}");
        assert!(stdout.contains("drover,drover-events,,,,,\n"), "{stdout}");
    }

    #[test]
    fn a_configuration_file_decides_unless_something_nearer_does() {
        let directory = tempfile::tempdir().unwrap();
        let home = dunce::canonicalize(directory.path()).unwrap();
        let (own, project) = (home.join(".config/agentlogs"), home.join("project/src"));
        fs::create_dir_all(&own).unwrap();
        fs::create_dir_all(&project).unwrap();
        fs::write(
            own.join("agentlogs.toml"),
            "archive = \"own\"\ntimezone = \"Asia/Kolkata\"\nlabels = { team = \"a\" }",
        )
        .unwrap();
        let near = home.join("project/agentlogs.toml");
        crate::copy(&root().join("sample-logs/pi-session"), &home.join("project/logs"));
        fs::write(&near, "archive = \"near\"\nlogs = [\"logs\"]\nlabels = { team = \"b\" }").unwrap();
        let settings = text(&run(&home, &project, &["config", "--format", "csv"]).stdout);
        let (near_text, own_text) = (near.display(), own.join("agentlogs.toml").display().to_string());
        for line in [
            format!("archive,{},{near_text}", home.join("project/near").display()),
            format!("timezone,Asia/Kolkata,{own_text}"),
            format!("labels,team=b,{near_text}"),
            "currency,USD,default".to_owned(),
        ] {
            assert!(settings.lines().any(|found| found == line), "{line}: {settings}");
        }
        assert!(run(&home, &project, &["ingest"]).status.success());
        assert!(home.join("project/near/agentlogs.json").exists());
        let output = run(
            &home,
            &project,
            &["query", "SELECT DISTINCT label FROM (SELECT UNNEST(labels) AS label FROM sessions)", "--format", "csv"],
        );
        assert_eq!(text(&output.stdout), "label\nteam=b\n", "{}", text(&output.stderr));
        fs::write(&near, "archiv = \"x\"").unwrap();
        let output = run(&home, &project, &["report", "cost"]);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1));
        assert!(
            stderr.contains("line 1") && stderr.contains("archiv") && stderr.contains(&near_text.to_string()),
            "{stderr}"
        );
        // A broken file stops nothing that does not need it.
        assert!(run(&home, &project, &["schema"]).status.success());
    }

    #[test]
    fn check_compares_the_budgets_of_the_configuration() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path();
        let budgets = "[[budgets]]\nname = \"pi\"\nruntime = \"pi\"\nmax = { cost_usd = LIMIT }\n\
                       [[budgets]]\nmin = { sessions = 1 }\n";
        let logs = root().join("sample-logs/pi-session");
        for (limit, status) in [("0.000001", 4), ("1000", 0)] {
            fs::write(home.join("agentlogs.toml"), budgets.replace("LIMIT", limit)).unwrap();
            let output = run(home, home, &["check", "--logs", logs.to_str().unwrap(), "--format", "csv"]);
            let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
            assert_eq!(output.status.code(), Some(status), "{stderr}");
            assert!(stdout.starts_with("budget,measure,value,side,bound,exceeded\npi,cost_usd,"), "{stdout}");
            assert!(stdout.contains("\n,sessions,"), "{stdout}");
        }
        // An alias and a price of the configuration.
        let prices = "[aliases]\nhouse = \"claude-sonnet-4-5\"\n[[models]]\nmodel = \"own\"\nprices = [{ input = 1, output = 2 }]";
        fs::write(home.join("agentlogs.toml"), prices).unwrap();
        for (model, expected) in [("house", "anthropic,"), ("own", ",own,")] {
            let output = run(home, home, &["prices", "show", model, "--format", "csv"]);
            assert!(text(&output.stdout).contains(expected), "{}", text(&output.stderr));
        }
        fs::write(home.join("agentlogs.toml"), "\n[aliases]\nhouse = \"no such model\"").unwrap();
        let output = run(home, home, &["config"]);
        let stderr = text(&output.stderr);
        assert!(output.status.code() == Some(1) && stderr.contains("line 3: aliases.house"), "{stderr}");
    }

    /// `--last` is the whole period of a budget, and an error of its own times names it.
    #[test]
    fn times_of_the_command_line_replace_those_of_a_budget() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path();
        let budget = "currency = { code = \"EUR\", rate = 0.5 }\n[[budgets]]\nname = \"week\"\nsince = \"2026-11-10\"\n\
                      until = \"2026-11-20\"\nmax = { cost_usd = 500, total_tokens = 1e12 }";
        fs::write(home.join("agentlogs.toml"), budget).unwrap();
        let logs = root().join("demo");
        let check = |filters: &[&str]| {
            let given = ["check", "--logs", logs.to_str().unwrap(), "--now", "2026-11-24T12:00:00Z"];
            let output = run(home, home, &[&given, filters].concat());
            (output.status.code(), text(&output.stdout), text(&output.stderr))
        };
        let (status, table, stderr) = check(&[]);
        assert!(status == Some(0) && table.contains("cost_usd"), "{stderr}");
        assert!(stderr.contains("week: costs and tokens are lower bounds") && !stderr.contains("EUR"), "{stderr}");
        for last in ["30d", "1d"] {
            let (status, _, stderr) = check(&["--last", last]);
            assert_eq!(status, Some(0), "{stderr}");
            assert_eq!(stderr.contains("week: the sessions begin from 2026-11-03 to"), last == "1d", "{stderr}");
        }
        let (status, _, stderr) = check(&["--since", "yesterday"]);
        assert_eq!(status, Some(2), "{stderr}");
        let expected = "the budget \"week\" has no time between since yesterday (2026-11-23 00:00) and until 2026-11-20 (2026-11-21 00:00)";
        assert!(stderr.contains(expected), "{stderr}");
        let (status, _, stderr) = check(&["--max", "worst_path=1"]);
        assert!(status == Some(2) && stderr.contains("worst_path is not an amount"), "{stderr}");
    }

    #[test]
    fn tables_use_the_currency_and_the_week_of_the_configuration() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path();
        let configuration =
            "timezone = \"Europe/Berlin\"\nweek_start = \"sunday\"\ncurrency = { code = \"EUR\", rate = 0.5 }";
        fs::write(home.join("agentlogs.toml"), configuration).unwrap();
        // The clocks change on Sunday 2026-10-25 at 01:00 UTC: the first hour of the week is in summer time.
        let turns = [("2026-10-24T21:59:00Z", 1), ("2026-10-24T22:30:00Z", 2), ("2026-10-31T22:59:00Z", 3)];
        let lines = turns.map(|(time, number)| {
            format!(
                "{{\"type\":\"assistant\",\"sessionId\":\"a\",\"timestamp\":\"{time}\",\"message\":{{\"id\":\"m{number}\",\
                 \"role\":\"assistant\",\"model\":\"claude-sonnet-4-5\",\"stop_reason\":\"end_turn\",\"content\":[],\
                 \"usage\":{{\"input_tokens\":100000,\"output_tokens\":1}}}}}}\n"
            )
        });
        fs::write(home.join("a.jsonl"), lines.concat()).unwrap();
        let report = |format: &str| {
            let args = ["report", "cost", "--by", "week", "--logs", "a.jsonl", "--format", format, "--sort", "week"];
            let output = run(home, home, &args);
            (text(&output.stdout), text(&output.stderr))
        };
        let (csv, _) = report("csv");
        assert!(csv.starts_with("week,cost_usd,"), "{csv}");
        assert!(csv.contains("\n2026-10-25,0.60003,") && csv.contains("\n2026-10-18,0.300015,"), "{csv}");
        let (table, message) = report("table");
        assert!(table.contains("cost_eur") && table.contains("0.3000") && !table.contains("usd"), "{table}");
        assert!(message.contains("amounts in EUR: 0.5 for a US dollar"), "{message}");
        assert!(report("markdown").0.starts_with("| week | cost_eur |"));
        let compare = ["compare", "--a", "model=claude-*", "--b", "model=gpt-*", "--logs", "a.jsonl"];
        let compared = text(&run(home, home, &compare).stdout);
        assert!(compared.contains("cost_per_session_eur") && compared.contains("0.4500"), "{compared}");
        let compared = text(&run(home, home, &[&compare[..], &["--format", "json"]].concat()).stdout);
        assert!(compared.contains("cost_per_session_usd") && compared.contains("0.90004"), "{compared}");
        let settings = text(&run(home, home, &["config", "--format", "csv"]).stdout);
        assert!(
            settings.contains("\nweek_start,sunday,") && settings.contains("\ncurrency,EUR (0.5 for"),
            "{settings}"
        );
        let windows = text(&run(home, home, &["report", "limits", "--logs", "a.jsonl", "--wide"]).stdout);
        assert!(windows.contains("cost_eur_per_minute") && !windows.contains("usd"), "{windows}");
    }
}

/// A place that cannot be checked, as one in a directory of another user, may contain logs.
#[cfg(unix)]
#[test]
fn a_place_that_cannot_be_read_is_named_and_not_called_empty() {
    let home = tempfile::tempdir().unwrap();
    // Root may read every directory, but nothing below a file.
    fs::write(home.path().join(".claude"), "").unwrap();
    fs::create_dir_all(home.path().join(".codex/sessions")).unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_agentlogs"));
    let output = command.env_clear().env("HOME", home.path()).current_dir(home.path()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains(".claude/projects: not a directory"), "{text}");
    assert!(text.contains("cannot be read:") && !text.contains("no logs of"), "{text}");
}
