//! Damaged and hostile repositories: what cannot be read is named and counted, and the rest is read.

use std::fs;
use std::io::Write;

use super::builder::{Builder, Scans, text};

/// Scans a repository of which something cannot be read, and returns the errors.
fn failed(scans: &Scans, name: &str) -> String {
    let output = scans.output(&["git", "scan", scans.path(name).to_str().unwrap(), "--since", "2026-01-01"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = text(&output.stderr);
    assert!(!text.contains("panicked"), "{text}");
    text
}

#[test]
fn damaged_and_missing_objects_lose_only_themselves() {
    let scans = Scans::new();
    let mut shop = Builder::new(&scans.path("shop"));
    let first = shop.commit("main", "2026-01-01T10:00:00Z", "First", &[("a", Some("1\n")), ("b", Some("b\n"))]);
    let second = shop.commit("main", "2026-01-02T10:00:00Z", "Second", &[("a", Some("2\n"))]);
    shop.commit("main", "2026-01-03T10:00:00Z", "Third", &[("a", Some("3\n"))]);
    shop.commit("main", "2026-01-04T10:00:00Z", "Fourth", &[("a", Some("4\n"))]);
    // A damaged file, and a missing one.
    let damaged = shop.object(&shop.blob(&second, "a"));
    let content = fs::read(&damaged).unwrap();
    fs::remove_file(&damaged).unwrap();
    fs::write(&damaged, b"damage").unwrap();
    let missing = shop.object(&shop.blob(&first, "b"));
    let kept = fs::read(&missing).unwrap();
    fs::remove_file(&missing).unwrap();
    let errors = failed(&scans, "shop");
    assert!(
        errors.contains(&format!("a commit is stored without some files, whose lines are not counted: {first}")),
        "{errors}"
    );
    assert!(
        errors.contains("2 commits are stored with damaged files, whose lines are not counted, such as"),
        "{errors}"
    );
    let rows = "SELECT subject, files, lines_added, patch_id IS NULL FROM commits ORDER BY committed_at";
    assert_eq!(scans.rows(rows), ["First 2 - true", "Second 1 - true", "Third 1 - true", "Fourth 1 1 false"]);
    // What is found later is read.
    fs::remove_file(&damaged).unwrap();
    fs::write(&damaged, content).unwrap();
    fs::write(&missing, kept).unwrap();
    scans.scan(&shop.directory);
    assert_eq!(scans.rows(rows), ["First 2 2 false", "Second 1 1 false", "Third 1 1 false", "Fourth 1 1 false"]);

    // A damaged commit, before which nothing can be reached.
    let mut site = Builder::new(&scans.path("site"));
    site.commit("main", "2026-01-01T10:00:00Z", "First", &[("a", Some("1\n"))]);
    let second = site.commit("main", "2026-01-02T10:00:00Z", "Second", &[("a", Some("2\n"))]);
    site.commit("main", "2026-01-03T10:00:00Z", "Third", &[("a", Some("3\n"))]);
    fs::remove_file(site.object(&second)).unwrap();
    let errors = failed(&scans, "site");
    assert!(errors.contains(&format!("a commit is missing in the repository: {second}")), "{errors}");
    assert_eq!(scans.rows("SELECT subject FROM commits WHERE repository = 'site'"), ["Third"]);
}

#[test]
fn damaged_references_are_counted() {
    let scans = Scans::new();
    let mut shop = Builder::new(&scans.path("shop"));
    let first = shop.commit("main", "2026-01-01T10:00:00Z", "First", &[("a", Some("1\n"))]);
    fs::write(shop.git.join("refs/heads/broken"), "no hash\n").unwrap();
    shop.set("refs/tags/gone", &"1".repeat(40));
    shop.set("refs/heads/lost", &"2".repeat(40));
    shop.set("refs/notes/ai", &first);
    let errors = failed(&scans, "shop");
    assert!(errors.contains("2 references cannot be read"), "{errors}");
    assert!(errors.contains("a commit is missing in the repository: 2222"), "{errors}");
    assert_eq!(scans.rows("SELECT subject FROM commits"), ["First"]);
}

#[test]
fn hostile_names_and_messages_are_harmless() {
    let scans = Scans::new();
    let mut shop = Builder::new(&scans.path("shop"));
    shop.author = "\u{1b}[31mAnn\u{7}".to_owned();
    let message = format!("\u{1b}]0;title\u{7}Fix\u{202e} {}\n\nSession-Id: \u{1b}[2J\n", "x".repeat(500));
    shop.commit("main", "2026-01-01T10:00:00Z", &message, &[("a\n\u{1b}[2Jb", Some("1\n")), ("ok", Some("1\n"))]);
    let files = [(vec![b'c', 0xFF, 0xFE], b"2\n".to_vec()), (b"x/../../y".to_vec(), b"3\n".to_vec())];
    let parent = shop.tip("main").unwrap();
    shop.add("main", &[parent], "2026-01-02T10:00:00Z", "No text", files.into());
    // A submodule, and a binary file.
    let submodule = format!("submodule {}", "3".repeat(40));
    shop.commit("main", "2026-01-03T10:00:00Z", "Others", &[("module", Some(&submodule)), ("binary", Some("\0\u{1}"))]);
    let printed = scans.scan(&shop.directory);
    assert!(!printed.contains('\u{1b}'), "{printed:?}");
    assert_eq!(
        scans
            .rows("SELECT author, LENGTH(subject), session_ids, files, lines_added FROM commits ORDER BY committed_at"),
        ["[31mAnn 200 [] 2 2", "[31mAnn 7 [] 4 2", "[31mAnn 6 [] 2 0"]
    );
    let shown =
        scans.run(&["query", "SELECT path, operation, lines_added FROM commit_files ORDER BY path", "--format", "csv"]);
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    assert!(shown.contains("module,create,\n") && shown.contains("binary,create,\n"), "{shown}");
    assert!(shown.contains("c\u{fffd}\u{fffd},create,1"), "{shown}");
}

/// Trees that name themselves in many places have more files than fit on a disk.
#[test]
fn a_tree_with_too_many_files_is_named() {
    let scans = Scans::new();
    let mut shop = Builder::new(&scans.path("shop"));
    shop.commit("main", "2026-01-01T10:00:00Z", "First", &[("a", Some("1\n"))]);
    let mut path = String::new();
    let mut files = std::collections::BTreeMap::new();
    for _ in 0..300 {
        path.push_str("directory-of-a-directory/");
    }
    files.insert(format!("{path}x").into_bytes(), b"1\n".to_vec());
    let parent = shop.tip("main").unwrap();
    shop.add("main", &[parent], "2026-01-02T10:00:00Z", "Deep", files);
    let errors = failed(&scans, "shop");
    assert!(errors.contains("a commit is too large: the changed files are not listed"), "{errors}");
    assert_eq!(scans.rows("SELECT subject, files FROM commits ORDER BY committed_at"), ["First 1", "Deep -"]);
}

#[test]
fn what_is_no_repository_is_an_error() {
    let scans = Scans::new();
    fs::create_dir_all(scans.path("plain")).unwrap();
    assert!(failed(&scans, "plain").contains("no git repository here"));
    assert!(failed(&scans, "gone").contains("gone"));
    // Its configuration names programs, and other files: neither is used.
    let mut shop = Builder::new(&scans.path("shop"));
    shop.commit(
        "main",
        "2026-01-01T10:00:00Z",
        "First",
        &[("a", Some("1\n")), (".gitattributes", Some("* filter=x diff=x\n"))],
    );
    let marker = scans.path("marker");
    let touch = format!("touch {}", marker.display());
    let mut config = fs::File::options().append(true).open(shop.git.join("config")).unwrap();
    let text = format!(
        "[core]\n\tfsmonitor = {touch}\n\tsshCommand = {touch}\n\tpager = {touch}\n[diff \"x\"]\n\ttextconv = {touch}\n\
         \tcommand = {touch}\n[filter \"x\"]\n\tsmudge = {touch}\n\tclean = {touch}\n[include]\n\tpath = /etc/passwd\n\
         [extensions]\n\tpartialClone = origin\n[remote \"origin\"]\n\turl = ext::sh -c {touch}\n\tpromisor = true\n"
    );
    config.write_all(text.as_bytes()).unwrap();
    drop(config);
    scans.scan(&shop.directory);
    assert!(!marker.exists());
    assert_eq!(scans.rows("SELECT subject, lines_added FROM commits"), ["First 2"]);
    // A configuration that cannot be read.
    fs::write(shop.git.join("config"), "[core\n").unwrap();
    assert!(failed(&scans, "shop").contains("the repository cannot be read"));
    // Those of other kinds. A repository that is scanned with them loses nothing.
    let mut site = Builder::new(&scans.path("site"));
    for (number, (extension, what)) in
        [("objectFormat = sha256", "SHA-256 hashes"), ("refStorage = reftable", "a reftable")].into_iter().enumerate()
    {
        let config = format!("[core]\n\trepositoryformatversion = 1\n[extensions]\n\t{extension}\n");
        fs::write(shop.git.join("config"), config).unwrap();
        let root = scans.path("shop");
        assert!(failed(&scans, "shop").contains(&format!("shop: a repository with {what} is not supported")));
        let time = format!("2026-01-0{}T10:00:00Z", number + 1);
        site.commit("main", &time, &format!("Of site {number}"), &[("a", Some(&number.to_string()))]);
        let both = ["git", "scan", root.to_str().unwrap(), site.directory.to_str().unwrap(), "--since", "2026-01-01"];
        assert_eq!(scans.output(&both).status.code(), Some(1));
    }
    assert_eq!(scans.rows("SELECT subject FROM commits ORDER BY subject"), ["First", "Of site 0", "Of site 1"]);
}

/// Programs that read a named pipe wait for its writer.
#[cfg(unix)]
#[test]
fn named_pipes_are_named() {
    for name in [
        "HEAD",
        "config",
        "packed-refs",
        "shallow",
        "refs/heads/pipe",
        "objects/pack/pack-1.idx",
        "objects/info/alternates",
    ] {
        let scans = Scans::new();
        let mut shop = Builder::new(&scans.path("shop"));
        shop.commit("main", "2026-01-01T10:00:00Z", "First", &[("a", Some("1\n"))]);
        let path = shop.git.join(name);
        let _ = fs::remove_file(&path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let errors = failed(&scans, "shop");
        assert!(errors.contains(&format!("{}: a named pipe or a device", path.display())), "{name}: {errors}");
    }
    // In a directory with objects of another repository, and in place of the directory of a worktree.
    let scans = Scans::new();
    let mut shop = Builder::new(&scans.path("shop"));
    shop.commit("main", "2026-01-01T10:00:00Z", "First", &[("a", Some("1\n"))]);
    let other = scans.path("other");
    fs::create_dir_all(other.join("ab")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(other.join("ab/cd")).status().unwrap().success());
    fs::write(shop.git.join("objects/info/alternates"), format!("{}\n", other.display())).unwrap();
    assert!(failed(&scans, "shop").contains("ab/cd: a named pipe or a device"));
    // A link leads to it, and a path that is not checked.
    fs::write(shop.git.join("objects/info/alternates"), "").unwrap();
    std::os::unix::fs::symlink(other.join("ab"), shop.git.join("objects/ab")).unwrap();
    assert!(failed(&scans, "shop").contains("objects/ab/cd: a named pipe or a device"));
    fs::remove_file(shop.git.join("objects/ab")).unwrap();
    std::os::unix::fs::symlink(".", shop.git.join("objects/ac")).unwrap();
    fs::write(shop.git.join("objects/info/alternates"), format!("\"{}\"\n", other.display())).unwrap();
    assert!(failed(&scans, "shop").contains("a repository with a quoted path is not supported"));
    fs::create_dir_all(scans.path("worktree")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(scans.path("worktree/.git")).status().unwrap().success());
    assert!(failed(&scans, "worktree").contains(".git: a named pipe or a device"));
    // A socket cannot be opened: git has one.
    fs::remove_file(shop.git.join("objects/info/alternates")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(shop.git.join("fsmonitor--daemon.ipc")).unwrap();
    scans.scan(&shop.directory);
    assert_eq!(scans.rows("SELECT subject FROM commits"), ["First"]);
}
