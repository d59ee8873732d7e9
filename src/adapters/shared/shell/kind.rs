//! The purpose of a simple command, by its words and the table of [`programs`].

use std::borrow::Cow;

use super::arguments::{checking, is_in_place, is_question, operand, operands, without_tests};
use super::programs;
use super::words::Token;
use crate::base::split::base_name;
use crate::model::session::CommandKind;

/// The purpose of a simple command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CommandPurpose {
    /// Its kind.
    pub kind: CommandKind,
    /// Whether it rarely is the purpose of a longer command: `mkdir`, `rm`, `cp`.
    is_preparation: bool,
    /// Whether it only passes data on, if it reads the output of another command: `head`, `jq`, `python -c`.
    is_filter: bool,
    /// Whether it is such a filter.
    is_filtering: bool,
}

impl CommandPurpose {
    /// The purpose of a command of that kind.
    pub(super) const fn of(kind: CommandKind) -> Self {
        let is_filter = matches!(kind, CommandKind::Read | CommandKind::Search | CommandKind::Other);
        Self { kind, is_preparation: false, is_filter, is_filtering: false }
    }

    /// The same in a pipeline, after the first command.
    pub(super) const fn piped(self, is_piped: bool) -> Self {
        Self { is_filtering: self.is_filtering || is_piped && self.is_filter, ..self }
    }

    /// The same in a substitution, `x=$(…)`: reading and preparing are less important than other commands.
    pub(super) const fn substituted(self) -> Self {
        let is_minor = self.is_filter
            || self.is_preparation
            || matches!(self.kind, CommandKind::Read | CommandKind::Search | CommandKind::Vcs);
        Self { is_filtering: self.is_filtering || is_minor, ..self }
    }

    /// The same with its output in a file.
    pub(super) const fn writing(self) -> Self {
        match self.kind {
            CommandKind::Read | CommandKind::Other => Self::of(CommandKind::Edit),
            _ => self,
        }
    }

    /// Whether it only makes, moves or removes files.
    pub(super) const fn only_prepares(self) -> bool {
        self.is_preparation
    }

    /// The importance among several simple commands: the most important one is the purpose of the whole, and the first of
    /// several equal ones.
    pub(super) const fn weight(self) -> u8 {
        match self.kind {
            CommandKind::Other => 0,
            _ if self.is_filtering => 1,
            CommandKind::Read | CommandKind::Search => 2,
            CommandKind::Edit if self.is_preparation => 3,
            CommandKind::Vcs => 4,
            CommandKind::Network => 5,
            CommandKind::Edit => 6,
            CommandKind::Install => 7,
            CommandKind::Run => 8,
            CommandKind::Format => 9,
            CommandKind::Lint => 10,
            CommandKind::Build => 11,
            CommandKind::Test => 12,
        }
    }
}

/// How a command within a command is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Nested {
    /// How many shells within the command are read.
    pub depth: u32,
    /// Scans a command, with so many shells within it.
    pub scan_text: fn(&str, u32) -> Option<CommandPurpose>,
    /// The same for a command that is split into words.
    pub scan_words: fn(Vec<Token<'_>>, u32) -> Option<CommandPurpose>,
}

impl Nested {
    /// Within one more shell; `None` if that is too deep.
    fn deeper(self) -> Option<Self> {
        self.depth.checked_sub(1).map(|depth| Self { depth, ..self })
    }

    fn text(self, command: &str) -> Option<CommandPurpose> {
        (self.scan_text)(command, self.depth)
    }

    fn words(self, words: Vec<Token<'_>>) -> Option<CommandPurpose> {
        (self.scan_words)(words, self.depth)
    }
}

/// The purpose of a simple command, which begins with its program.
pub(super) fn purpose(words: &[Cow<'_, str>], nested: Nested) -> CommandPurpose {
    let Some((program, arguments)) = words.split_first() else { return CommandPurpose::of(CommandKind::Other) };
    let name = name_of(program);
    let name = name.as_ref();
    let first = arguments.first().map_or("", AsRef::as_ref);
    // `$output = command …` of PowerShell.
    if name.starts_with('$') && first == "=" {
        let rest = arguments.get(1..).unwrap_or_default();
        return nested.deeper().map_or(CommandPurpose::of(CommandKind::Run), |nested| purpose(rest, nested));
    }
    if is_question(first, arguments) {
        return CommandPurpose::of(CommandKind::Read);
    }
    let known = programs::find(name);
    if let Some(known) = known
        && !known.wrappers.is_empty()
        && let Some(inner) = wrapped(name, &known.wrappers, arguments, nested)
    {
        return inner;
    }
    if let Some(special) = special(name, program, arguments, nested) {
        return special;
    }
    let Some(known) = known else { return CommandPurpose::of(script(name, program)) };
    if let Some(kind) = without_tests(name, known.kind, arguments) {
        return CommandPurpose::of(kind);
    }
    let by_subcommand = || known.with(operand(arguments, 0).unwrap_or_default()).or_else(|| known.with(first));
    if let Some(kind) = by_subcommand() {
        return CommandPurpose::of(checking(kind, arguments));
    }
    if known.is_task_runner {
        return CommandPurpose::of(checking(task(name, known.kind, arguments), arguments));
    }
    let kind = known.kind.map_or_else(|| script(name, program), |kind| checking(kind, arguments));
    CommandPurpose { is_preparation: kind == CommandKind::Edit && is_preparation(name), ..CommandPurpose::of(kind) }
}

/// The base name of a program in small letters, without `.exe` and version.
fn name_of(program: &str) -> Cow<'_, str> {
    let name = base_name(program).trim_start_matches(['(', '&']);
    let mut name = Cow::Borrowed(name);
    if name.bytes().any(|it| it.is_ascii_uppercase()) {
        name = Cow::Owned(name.to_ascii_lowercase());
    }
    if let Some(stem) = [".exe", ".cmd", ".bat"].iter().find_map(|suffix| name.strip_suffix(suffix)) {
        return Cow::Owned(stem.to_owned());
    }
    let stem = name.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.').trim_end_matches('-');
    let is_version =
        stem.len() < name.len() && ["python", "pip", "pypy", "node", "ruby", "clang", "gcc", "sqlite"].contains(&stem);
    if is_version { Cow::Owned(stem.to_owned()) } else { name }
}

/// The purpose of the command within `uv run`, `npx`, `xargs` and the like.
fn wrapped(
    name: &str,
    wrappers: &[&'static str],
    arguments: &[Cow<'_, str>],
    nested: Nested,
) -> Option<CommandPurpose> {
    let wrapper = wrappers.iter().copied().find(|wrapper| {
        let mut words = wrapper.split(' ').skip(1).enumerate();
        words.all(|(number, word)| operand(arguments, number) == Some(word))
    })?;
    let words = wrapper.split(' ').count() - 1;
    let nested = nested.deeper()?;
    let is_of = |names: &[&str]| names.contains(&wrapper);
    // The text of a command.
    let is_text_option = |it: &str| matches!(it, "-c" | "--command" | "-command" | "/c" | "--run" | "-Command" | "/C");
    if is_of(&[
        "cmd",
        "powershell",
        "pwsh",
        "nix-shell",
        "nix develop",
        "su",
        "sg",
        "script",
        "parallel",
        "eval",
        "hyperfine",
        "watch",
    ]) {
        let text = match arguments.iter().position(|it| is_text_option(it)) {
            Some(at) => arguments.get(at + 1..)?.join(" "),
            None if is_of(&["eval", "hyperfine", "parallel"]) => arguments.join(" "),
            None if is_of(&["watch"]) => operands(arguments).map(|(_, word)| word).collect::<Vec<_>>().join(" "),
            None => return None,
        };
        return nested.text(&text);
    }
    let mut rest = arguments;
    if let Some((last, _)) = words.checked_sub(1).and_then(|last| operands(arguments).nth(last)) {
        rest = arguments.get(last + 1..)?;
    }
    // A container, or a directory, is before the command.
    let places = usize::from(is_of(&[
        "docker exec",
        "podman exec",
        "docker-compose exec",
        "docker-compose run",
        "direnv exec",
        "chroot",
    ]));
    // A module is in place of the command: `uv run -m pytest`.
    if let Some(module) = rest.iter().position(|it| matches!(it.as_ref(), "-m" | "--module")) {
        let is_before_command = operands(rest).next().is_none_or(|(at, _)| at > module);
        if is_before_command && name != "kubectl" {
            return Some(of_module(rest.get(module + 1..)?, nested));
        }
    }
    let after_dashes = rest.iter().position(|it| it == "--").map(|at| at + 1).filter(|at| {
        operands(rest).next().is_none_or(|(operand, _)| operand >= *at)
            || is_of(&["mise exec", "mise x", "kubectl exec"])
    });
    let start = after_dashes.or_else(|| operands(rest).nth(places).map(|(at, _)| at));
    let Some(command) = start.and_then(|start| rest.get(start..)) else {
        // `xargs` alone prints its input.
        return (name == "xargs").then_some(CommandPurpose::of(CommandKind::Read));
    };
    // `npx prettier@3`
    let without_version = |word: &str| -> String {
        word.rsplit_once('@').filter(|(name, _)| !name.is_empty()).map_or(word, |(name, _)| name).to_owned()
    };
    let words = command.iter().enumerate().map(|(index, word)| {
        Token::Word(if index == 0 && word.contains('@') {
            Cow::Owned(without_version(word))
        } else {
            Cow::Borrowed(word.as_ref())
        })
    });
    nested.words(words.collect())
}

/// The purpose of `python -m MODULE …`.
fn of_module(words: &[Cow<'_, str>], nested: Nested) -> CommandPurpose {
    let module = words.first().map_or("", |it| it.as_ref());
    match module {
        "http.server" | "timeit" | "cprofile" | "pdb" | "asyncio" => CommandPurpose::of(CommandKind::Run),
        "build" => CommandPurpose::of(CommandKind::Build),
        "doctest" => CommandPurpose::of(CommandKind::Test),
        // `django test`
        _ if words.get(1).is_some_and(|it| it == "test") => CommandPurpose::of(CommandKind::Test),
        _ if module.contains('.') && programs::of_program(module).is_none() => {
            CommandPurpose::of(script(module, module))
        }
        _ => purpose(words, nested),
    }
}

/// Programs whose arguments have to be understood.
fn special(name: &str, program: &str, arguments: &[Cow<'_, str>], nested: Nested) -> Option<CommandPurpose> {
    let has = |option: &str| arguments.iter().any(|it| it == option);
    let kind = match name {
        "python" | "pypy" | "ipython" | "py" => return Some(interpreter(arguments, nested)),
        _ if name.starts_with('$') && arguments.first().is_some_and(|it| it == "-m") => {
            return Some(interpreter(arguments, nested));
        }
        "node" | "ruby" | "php" | "tsx" | "ts-node" | "deno" | "bun" | "rscript" | "julia" | "lua" | "osascript" => {
            return runtime(name, arguments);
        }
        "bash" | "sh" | "zsh" | "dash" | "source" => match operand(arguments, 0) {
            _ if has("-n") => CommandKind::Lint,
            Some(path) => script(&name_of(path), path),
            None => CommandKind::Run,
        },
        "perl" => match () {
            () if arguments.iter().any(|it| is_in_place(it)) => CommandKind::Edit,
            () if arguments.iter().any(|it| it.starts_with("-n") || it.starts_with("-p") || it.starts_with("-ln")) => {
                CommandKind::Read
            }
            () if has("-c") => CommandKind::Lint,
            () => CommandKind::Run,
        },
        "sed" | "gsed" | "yq" | "gawk" | "awk" if arguments.iter().any(|it| is_in_place(it)) => CommandKind::Edit,
        "gsed" => CommandKind::Read,
        "find" | "fd" => {
            if has("-delete") {
                return Some(CommandPurpose { is_preparation: true, ..CommandPurpose::of(CommandKind::Edit) });
            }
            let at = arguments.iter().position(|it| matches!(it.as_ref(), "-exec" | "-execdir" | "-ok" | "-x"))?;
            let inner = purpose(arguments.get(at + 1..)?, nested.deeper()?);
            if inner.kind == CommandKind::Read { CommandKind::Search } else { inner.kind }
        }
        "tar" if arguments.first().is_some_and(|it| it.trim_start_matches('-').starts_with('t')) => CommandKind::Read,
        "unzip" if has("-l") || has("-p") => CommandKind::Read,
        "tsc" if has("--noEmit") => CommandKind::Lint,
        "docker" | "podman" if operand(arguments, 0) == Some("compose") => {
            let (at, _) = operands(arguments).next()?;
            let mut words = vec![Cow::Borrowed("docker-compose")];
            words.extend(arguments.get(at + 1..)?.iter().cloned());
            return Some(purpose(&words, nested));
        }
        // `uv pip list`
        "uv" if operand(arguments, 0) == Some("pip") => {
            let (at, _) = operands(arguments).next()?;
            return Some(purpose(arguments.get(at..)?, nested));
        }
        "yarn" if arguments.is_empty() => CommandKind::Install,
        "cpanm" => CommandKind::Install,
        "test-path" => CommandKind::Read,
        "manage.py" | "setup.py" => programs::find(name)?.with(operand(arguments, 0)?)?,
        // The text of a patch as the second word of a command: `apply_patch "*** Begin Patch"`.
        _ if program.starts_with("*** Begin") => CommandKind::Edit,
        _ => return None,
    };
    Some(CommandPurpose::of(kind))
}

/// The purpose of a call of the interpreter of Python.
fn interpreter(arguments: &[Cow<'_, str>], nested: Nested) -> CommandPurpose {
    let run = CommandPurpose::of(CommandKind::Run);
    let mut arguments = arguments;
    while let Some((first, rest)) = arguments.split_first() {
        match first.as_ref() {
            "-m" => return nested.deeper().map_or(run, |nested| of_module(rest, nested)),
            "-c" | "-" => return CommandPurpose { is_filter: true, ..run },
            "-W" | "-X" => arguments = rest.get(1..).unwrap_or_default(),
            option if option.starts_with("-m") => return run,
            option if option.starts_with('-') => arguments = rest,
            path => {
                let name = name_of(path);
                let subcommand = operand(rest, 0).unwrap_or_default();
                let known = programs::find(&name);
                let kind = known.and_then(|known| known.with(subcommand).or(known.kind));
                return CommandPurpose::of(kind.unwrap_or_else(|| script(&name, path)));
            }
        }
    }
    run
}

/// The purpose of a call of another interpreter; `None` for one of its subcommands.
fn runtime(name: &str, arguments: &[Cow<'_, str>]) -> Option<CommandPurpose> {
    let run = CommandPurpose::of(CommandKind::Run);
    let has = |option: &str| arguments.iter().any(|it| it == option);
    if has("--test") {
        return Some(CommandPurpose::of(CommandKind::Test));
    }
    if has("--check") || name == "node" && has("-c") || name == "php" && has("-l") {
        return Some(CommandPurpose::of(CommandKind::Lint));
    }
    let first = arguments.first().map_or("", AsRef::as_ref);
    if matches!(first, "-e" | "-p" | "-pe" | "-r" | "--eval" | "--print" | "-" | "eval")
        || first.starts_with("--input-type")
    {
        return Some(CommandPurpose { is_filter: true, ..run });
    }
    if matches!(name, "deno" | "bun") && !operand(arguments, 0).is_some_and(|it| it.contains(['/', '.'])) {
        return None;
    }
    Some(CommandPurpose::of(operand(arguments, 0).map_or(CommandKind::Run, |path| script(&name_of(path), path))))
}

/// Words before the name of a task.
#[rustfmt::skip]
const VERBS: &[&str] = &[
    "run", "run-script", "r", "tasks", "workspace", "workspaces", "foreach", "exec", "task", "run-many", "affected",
];

/// The kind of a task runner's task.
fn task(name: &str, default: Option<CommandKind>, arguments: &[Cow<'_, str>]) -> CommandKind {
    let is_make = matches!(name, "make" | "gmake" | "nmake" | "ninja");
    let is_assignment = |task: &str| task.contains('=');
    let is_verb = |task: &str| VERBS.contains(&task);
    // In `npm run NAME ARGS` and most others one task is named; `make`, `mvn` and `gradle` run several.
    let mut tasks = operands(arguments).map(|(_, task)| task).filter(|task| !is_verb(task) && !is_assignment(task));
    let of_task = |task: &str| match task {
        "check" if is_make || name.starts_with("gradle") => Some(CommandKind::Test),
        task => programs::of_task(task),
    };
    let kind = if matches!(
        name,
        "mvn" | "mvnw" | "mvnd" | "gradle" | "gradlew" | "ant" | "sbt" | "turbo" | "nx" | "lerna" | "make" | "gmake"
    ) {
        let kinds = tasks.filter_map(of_task);
        kinds.max_by_key(|kind| CommandPurpose::of(*kind).weight())
    } else if name == "yarn" && arguments.first().is_some_and(|it| it == "workspace") || name == "tox" || name == "nox"
    {
        tasks.find_map(of_task)
    } else {
        tasks.next().and_then(of_task)
    };
    kind.or(default).unwrap_or(CommandKind::Run)
}

/// The kind of a script of the project, by its name.
fn script(name: &str, path: &str) -> CommandKind {
    let is_script = path.contains(['/', '\\']) || path.contains('.');
    if !is_script {
        return CommandKind::Run;
    }
    let stem = name.split('.').next().unwrap_or_default();
    let is_shell = name.strip_suffix(".sh").is_some() || !name.contains('.');
    match programs::of_task(stem) {
        Some(CommandKind::Test) if !matches!(stem, "verify" | "unit" | "integration") => CommandKind::Test,
        // `foo.test.js`
        _ if name.contains(".test.") || name.contains(".spec.") => CommandKind::Test,
        Some(kind @ (CommandKind::Build | CommandKind::Lint | CommandKind::Format | CommandKind::Install))
            if is_shell && !stem.contains(['.']) || programs::of_task(stem).is_some() && !stem.contains(['-', '_']) =>
        {
            kind
        }
        _ => CommandKind::Run,
    }
}

/// Programs that change files, but rarely are the purpose of a longer command.
fn is_preparation(name: &str) -> bool {
    matches!(
        name,
        "mkdir"
            | "rm"
            | "rmdir"
            | "touch"
            | "chmod"
            | "chown"
            | "cp"
            | "mv"
            | "ln"
            | "mktemp"
            | "new-item"
            | "remove-item"
            | "copy-item"
            | "md"
            | "del"
    )
}

#[cfg(test)]
mod tests {
    use crate::adapters::shared::shell::shell_command;
    use crate::model::session::CommandKind::{self, *};

    fn check(cases: &[(CommandKind, &[&str])]) {
        let mut wrong = Vec::new();
        for (expected, commands) in cases {
            for command in *commands {
                let kind = shell_command(command).kind;
                if kind != Some(*expected) {
                    wrong.push(format!("{command}: {kind:?} instead of {expected:?}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    #[rustfmt::skip]
    fn programs_and_subcommands_have_kinds() {
        check(&[
            (Test, &["pytest -q", "cargo test", "cargo nextest run", "cargo +nightly test --lib", "go test ./...",
                "npm test",
                "npm t", "yarn test", "bun test", "deno test", "node --test", "ctest", "dotnet test", "mix test",
                "mvn test",
                "python -m pytest tests", "python3.11 -m unittest", "python manage.py test app", "npx vitest run",
                "vendor/bin/phpunit", ".venv/bin/pytest -x", ".venv/bin/python -m pytest", "$PYTHON -m pytest"]),
            (Build, &["cargo build --release", "cargo check", "go build ./...", "make", "make -j 8", "cmake --build .",
                "tsc -p .",
                "gcc -o a a.c", "docker build -t x .", "docker compose build", "npx vite build", "./gradlew assemble",
                "mvn package -DskipTests", "python -m build", "ninja -C out", "./configure --prefix=/usr"]),
            (Lint, &["cargo clippy", "eslint .", "npx tsc --noEmit", "mypy src", "ruff check .", "golangci-lint run",
                "go vet ./...",
                "black --check .", "prettier --check .", "cargo fmt --check", "gofmt -l .", "python -m py_compile a.py",
                "node --check a.js", "bash -n a.sh", "pre-commit run -a", "shellcheck a.sh"]),
            (Format, &["cargo fmt", "black .", "prettier --write .", "ruff format", "gofmt -w .", "go fmt ./...",
                "isort src"]),
            (Run, &["python a.py", "python - <<'E'\nprint(1)\nE", "python -c 'print(1)'", "node server.js", "node -e 'x()'",
                "cargo run", "go run .", "npm start", "bun run dev", "./a.out", "bash deploy.sh", "docker run x",
                "kubectl apply -f x",
                "sqlite3 a.db .tables", "terraform apply", "docker compose up -d", "deno run a.ts", "some-tool --flag"]),
            (Install, &["npm install", "npm ci", "pip install -r requirements.txt", "uv pip install x", "uv sync",
                "cargo add serde",
                "apt-get install -y x", "sudo apt update", "brew install jq", "go mod tidy", "poetry add x", "yarn",
                "python -m venv .venv", "python3 -m pip install x", "npx playwright install", "bundle install"]),
            (Vcs, &["git status", "git -C x diff", "gh pr view 1", "hg log", "jj st", "git log | head"]),
            (Search, &["rg -n x src", "grep -rn x .", "find . -name '*.rs'", "ls -la", "fd x", "git grep x",
                "which cargo", "tree",
                "command -v cargo", "find . -name x | xargs grep y", "find . -exec grep x {} +", "find . | head",
                "Get-ChildItem"]),
            (Read, &["cat a", "sed -n '1,20p' a", "head -5 a", "nl -ba a | sed -n '1,5p'", "wc -l a", "jq . a.json",
                "diff a b",
                "ps aux | grep x", "env", "pwd", "date", "docker logs x", "cargo --version", "npm ls", "pip show x",
                "xxd a",
                "awk '{print $1}' a", "cargo tree", "go env", "python -m json.tool a", "kubectl get pods", "Get-Content a",
                "tmux capture-pane -p", "make --version", "tar tzf a.tgz", "perl -ne 'print' a"]),
            (Edit, &["sed -i 's/a/b/' a", "sed -i.bak -e 's/a/b/' a", "sed -Ei 's/a/b/' a", "cat > a <<'E'\nx\nE",
                "cat <<E >> a\nx\nE",
                "echo x > a", "printf x >>a", "tee a <<E\nx\nE", "mkdir -p a", "rm -rf a", "cp a b", "mv a b", "touch a",
                "chmod +x a", "patch -p1 < a", "perl -pi -e 's/a/b/' a", "apply_patch <<'E'\n*** Begin Patch\nE",
                "jq . a > b",
                "find . -name x -delete", "tar xzf a.tgz", "echo x | tee a", "find . | xargs rm", "Set-Content a b"]),
            (Network, &["curl -s https://a.example", "wget x", "ssh host ls", "Invoke-WebRequest x", "dig x", "npm publish",
                "curl -s x | jq .", "curl -s x | python3 -c 'import json'", "docker pull x", "aws s3 ls",
                "$r = Invoke-RestMethod x"]),
            (Other, &["conda activate x", "conda deactivate", "deactivate", "nvm use 20", "echo hi", "sleep 5", "true", "kill 1", "cd x", "export A=b", "x=1", "echo hi >/dev/null", ":",
                "exit 1"]),
        ]);
        assert_eq!(shell_command("").kind, None);
        assert_eq!(shell_command(" \n ").kind, None);
        assert_eq!(shell_command("# a comment").kind, None);
    }

    /// The names of tasks and scripts decide.
    #[test]
    #[rustfmt::skip]
    fn tasks_and_scripts_have_kinds() {
        check(&[
            (Test, &["npm run test:unit", "yarn test:e2e", "pnpm run test", "bun run test", "make check", "make test -j2",
                "just test",
                "mise run test:integration", "deno task test", "./run_tests.sh", "python test_fix.py",
                "python tests/runtests.py", "bin/test sympy/core", "./bin/test -k x", "./test",
                "node a.test.js", "bash scripts/test.sh", "composer run test", "tox -e py311", "rake spec",
                "bun --filter web test",
                "./gradlew clean test", "mvn -q verify", "npm run e2e", "make build test", "yarn workspace web test"]),
            (Build, &["npm run build", "make all", "make clean", "make foo.o", "just build", "turbo run build",
                "./build.sh", "bash build.sh",
                "bun --filter @a/web build", "pnpm --filter web build", "yarn build", "node scripts/build.mjs"]),
            (Lint, &["npm run lint", "npm run typecheck", "yarn lint:fix", "make lint", "just check", "pnpm check",
                "scripts/lint.sh"]),
            (Format, &["npm run format", "make fmt", "mise run fmt", "yarn prettier"]),
            (Install, &["make install", "./setup.sh", "make deps", "pnpm run bootstrap"]),
            (Run, &["npm run dev", "pnpm start", "just deploy", "yarn serve", "python reproduce.py",
                "python build_index.py",
                "./scripts/sync-data.sh", "mise run whatever", "bun src/index.ts"]),
        ]);
    }

    /// Shells, wrappers and prefixes do not change the kind.
    #[test]
    #[rustfmt::skip]
    fn commands_within_commands_have_kinds() {
        check(&[
            (Test, &["bash -lc 'cd x && cargo test | tail'", "cd x && FOO=1 npm test", "sudo -u me timeout 60 pytest",
                "uv run pytest -q",
                "uv run --with x pytest", "uv run -m pytest", "uv run python -m pytest", "npx jest",
                "npx --yes vitest@2 run", "bunx vitest",
                "poetry run pytest", "bundle exec rspec", "docker compose exec web pytest",
                "docker exec -it c bash -lc 'npm test'",
                "kubectl exec pod -- pytest", "mise exec -- go test ./...", "npm exec vitest run", "coverage run -m pytest",
                "eval \"npm test\"", "xvfb-run npm test", "time cargo test", "env A=b cargo test",
                "python -m coverage run -m pytest",
                "for i in 1 2; do cargo test; done", "if true; then go test; fi", "(cd x && go test ./...)",
                "watch -n 2 'cargo test'",
                "powershell -Command \"npm test\"", "cmd /c npm test", "conda run -n e pytest", "A=$(pwd) pytest",
                "pnpm exec vitest"]),
            (Lint, &["npx eslint .", "uvx ruff check", "bunx prettier --check a", "docker run --rm x; npx tsc --noEmit"]),
            (Run, &["uv run python a.py", "uv run a.py", "nohup node a.js &", "npx some-tool", "cat x | python a.py",
                "bash -c './x'"]),
            (Other, &["bash -c 'echo x'", "sleep 1; echo done"]),
        ]);
    }

    /// The most important command of several decides, and filters do not count.
    #[test]
    #[rustfmt::skip]
    fn one_of_several_commands_decides() {
        check(&[
            (Test, &["cargo build && cargo test", "git diff; npm test 2>&1 | tail -5", "sed -i s/a/b/ x && pytest",
                "cargo fmt && cargo test"]),
            (Build, &["npm install && npm run build", "mkdir -p b && cd b && cmake .. && make", "rm -rf x; go build"]),
            (Lint, &["mise run fmt && mise run lint"]),
            (Run, &["pip install -q x && python a.py", "cat > a.py <<'E'\npytest\nE\npython a.py", "cp a b && ./b",
                "echo x | ./a"]),
            (Install, &["git clone x && cd x && npm install", "curl -LO x && apt install ./x"]),
            (Edit, &["cat a && sed -i s/a/b/ a && git diff", "mkdir -p a && cat > a/b <<E\nx\nE", "rm x; ls",
                "cat <<'A' > x; cat <<'B' > y\n1\nA\n2\nB"]),
            (Vcs, &["git add -A && git commit -m 'x; pytest'", "rm -f .git/lock && git status",
                "git commit -m \"$(cat <<'E'\ncargo test\nE\n)\"",
                "git show x:y | sed -n '1,9p'", "pwd && git status", "cat a; git log", "git ls-files | xargs wc -l"]),
            (Search, &["rg x | head -5; cat a", "ls | wc -l", "grep x a && sed -n '1,2p' a",
                "ls -la x 2>/dev/null || echo none"]),
            (Read, &["cat a | grep x", "sed -n '1,2p' a && rg x", "cat a | python3 -c 'x'", "tail -f x | grep y",
                "cat a; echo done", "test -f a && echo x", "[ -d a ] || exit 1", "/usr/bin/test -f a"]),
        ]);
    }

    /// Commands in substitutions decide where the others have no purpose of their own.
    #[test]
    #[rustfmt::skip]
    fn commands_in_substitutions_have_kinds() {
        check(&[
            (Network, &["code=$(curl -s x); echo $code", "for u in a b; do code=$(curl -s $u); echo \"$code\"; done",
                "for i in 1 2; do\n  code=$(curl -s -o /dev/null -w '%{http_code}' \"$u\")\n  echo \"$i $code\"\n  sleep 1\ndone",
                "echo \"code: $(curl -s x)\"", "x=`curl -s y`; echo $x", "export A=$(curl -s x)", "x=$(curl y); cat z",
                "if [ \"$(curl -s x)\" = ok ]; then echo yes; fi", "x=$(curl \"$(cat url)\"); echo $x",
                "while [ \"$(curl -s x | jq -r .a)\" != done ]; do sleep 5; done"]),
            (Vcs, &["x=$(gh pr view 1 --json a) && echo $x", "for r in a b; do s=$(git -C $r status -s); echo \"$r $s\"; done"]),
            (Test, &["out=$(cargo test 2>&1); echo \"$out\" | tail", "if ! out=$(pytest -q); then echo no; fi", "A=$(pwd) pytest"]),
            (Read, &["echo $(date)", "x=$(git rev-parse HEAD); cat a", "pid=$(cat x.pid); kill $pid"]),
            (Search, &["x=$(pwd); ls", "for f in $(ls); do echo $f; done"]),
            (Run, &["A=$(date) ./run.sh", "x=$(mktemp -d) && python a.py"]),
            (Other, &["x=$((1 + 2)); echo $x", "echo \"$x ${y}\"", "echo $(echo a)"]),
        ]);
    }

    /// A program that only compiles, lists, checks, or states its version does not do what it is for.
    #[test]
    #[rustfmt::skip]
    fn options_change_the_kind() {
        check(&[
            (Build, &["go test -c -o x ./pkg", "cargo test --no-run", "cargo test --workspace --no-run"]),
            (Read, &["golangci-lint version", "golangci-lint version 2>&1 | head", "golangci-lint version --short",
                "pytest --collect-only -q", "jest --listTests", "go test -list . ./...", "ctest -N", "java -version",
                "cargo help test", "npm help test", "docker version", "eslint --version", "go version"]),
            (Lint, &["mise run fmt:check", "npm run format:check", "make fmt-check", "mise run fmt --check",
                "npm run format -- --check", "just fmt --check", "dotnet format --verify-no-changes", "mix format --check-formatted",
                "cargo fmt --all -- --check"]),
            (Format, &["gofmt -l -w .", "mise run fmt", "npm run format"]),
        ]);
    }

    /// Whatever a log contains, it has a kind, however long it is.
    #[test]
    fn any_text_is_classified() {
        for part in [
            "npx ",
            "xargs ",
            "bash -c '",
            "uv run ",
            "$x = ",
            "python -m ",
            "find -exec ",
            "docker compose ",
            "eval ",
            "<<a ",
            "| ",
            "> ",
            "x=$(",
            "echo $(",
            "x=`",
            "x=$(a) ",
        ] {
            assert!(shell_command(&(part.repeat(20_000) + "; ls")).kind.is_some(), "{part}");
        }
    }
}
