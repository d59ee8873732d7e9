//! The table of programs: the kind of a command by its program, its subcommand, or the task that it names.
//!
//! All names are in small letters and without `.exe`. Programs that are in no list are of the kind `run`.

use std::sync::LazyLock;

use foldhash::HashMap;

use crate::model::session::CommandKind;
use crate::model::session::CommandKind::{
    Build, Edit, Format, Install, Lint, Network, Other, Read, Run, Search, Test, Vcs,
};

/// Programs of one kind, whatever their arguments.
#[rustfmt::skip]
const PROGRAMS: &[(CommandKind, &str)] = &[
    (Test, "ava bats busted cram ctest cypress gotestsum jasmine jest karma mocha mutmut nextest nosetests nox phpunit
        playwright pytest py.test rspec runtests tox trial unittest vitest wdio zunit"),
    (Build, "ant astro bazel bazelisk buck2 c++ cc clang clang++ cmake configure cython esbuild g++ gcc gradle gradlew hugo
        javac jekyll latexmk ld make gmake maturin meson mkdocs msbuild mvn mvnw mvnd ninja nmake pdflatex protoc
        pyinstaller rollup rustc sbt scons sphinx-build swiftc trunk tsc tsup wasm-pack webpack xcodebuild xelatex"),
    (Lint, "actionlint ameba bandit basedpyright checkstyle clang-tidy codespell cppcheck credo cspell dialyzer eslint
        flake8 golangci-lint golint gosec hadolint interrogate knip ktlint luacheck markdownlint markdownlint-cli2 mypy
        oxlint phpcs phpstan pre-commit psalm pycodestyle pydocstyle pyflakes pylint pyre pyright refurb revive rubocop
        ruff scalafix semgrep shellcheck sqlfluff standard staticcheck stylelint svelte-check swiftlint tflint ty typos
        vale vue-tsc vulture xo yamllint biome py_compile compileall govulncheck"),
    (Format, "alejandra autoflake autopep8 black clang-format csharpier dprint gofmt gofumpt goimports
        google-java-format isort nixfmt ocamlformat ormolu prettier prettierd pyupgrade rustfmt scalafmt shfmt stylua
        swiftformat taplo yapf"),
    (Install, "apk apt apt-get aptitude asdf brew bower choco conda dnf dpkg ensurepip flatpak fnm gem get-pip.py macports
        mamba micromamba nvm pacman pamac pip pipx pod port rustup scoop snap venv virtualenv winget yum zypper
        install-module"),
    (Vcs, "cvs fossil gh git git-filter-repo git-lfs gitk glab hg hub jj p4 sl svn tea"),
    (Search, "ack ag ast-grep ctags dir egrep fd fdfind fgrep find findstr fzf gci get-childitem get-command glob grep
        locate ls mdfind lsd eza exa ripgrep rg select-string sls tree type ugrep vdir where whereis which zgrep zipgrep"),
    (Read, "awk base32 base64 basename bat batcat bzcat cat cksum cmp column comm compare-object convertfrom-json
        convertto-json cut date df diff dirname dmesg du env expand exiftool file fmt foreach-object fold free gawk
        get-acl get-ciminstance get-content get-date get-filehash get-item get-itemproperty get-location
        get-nettcpconnection get-process get-service get-wmiobject getconf group-object groups gzcat head hexdump history
        hostname id ifconfig ip join join-path journalctl jq json.tool last less locale logname lsblk lscpu lsof
        mawk md5 md5sum measure-command measure-object more mtime nl nm nproc netstat numfmt objdump od otool paste
        pdfinfo pdftotext perldoc pgrep pr printenv ps pstree ptree pwd readelf readlink realpath resolve-path
        rev sed sha1sum sha256sum sha512sum shasum select-object sort sort-object split-path ss stat strings sum sw_vers
        sysctl system_profiler tac tail tasklist test-netconnection test-path top tput tr tsort tty uname uniq uptime
        vm_stat vmstat w wc whoami where-object xmllint xsv xxd yq zcat zless man tldr nvidia-smi"),
    (Edit, "add-content apply_patch applypatch clear-content copy-item cp dd dos2unix ed ex install ln mkdir
        move move-item copy del md rd mktemp mkfifo mv new-item out-file patch remove-item ren rename rename-item rm
        rmdir rsync set-content set-itemproperty shred tee touch truncate unlink chmod chown chgrp
        attrib xattr setfacl expand-archive compress-archive tar unzip gunzip gzip zip 7z 7za bunzip2 bzip2 xz unxz zstd
        cpio"),
    (Network, "aria2c aws az curl dig doctl fly flyctl ftp gcloud grpcurl gsutil heroku host http https httpie
        invoke-restmethod invoke-webrequest irm iwr nc ncat netcat netlify nmap nslookup ping railway rclone
        resolve-dnsname s3cmd scp
        sftp ssh sshpass tailscale telnet test-connection traceroute tracert vercel websocat wget whois wrangler wscat xh"),
    (Other, ": alias bg clear cls declare disown echo eval exec exit false fg getopts hash jobs kill killall let
        local logger pkill popd printf read readonly return sleep shift shopt start-sleep stop-process
        sync taskkill trap true typeset ulimit umask unalias unset wait write-error write-host write-output yes activate deactivate workon"),
];

/// Programs whose next word decides: the words and the kind of the rest. A program without its next word in the list has
/// the kind of [`PROGRAMS`].
#[rustfmt::skip]
const SUBCOMMANDS: &[(CommandKind, &str, &str)] = &[
    (Test, "cargo", "test t nextest llvm-cov tarpaulin mutants miri insta fuzz bench"),
    (Build, "cargo", "build b check c rustc doc d package zigbuild dist"),
    (Lint, "cargo", "clippy deny audit machete udeps fix semver-checks sort"),
    (Format, "cargo", "fmt"),
    (Install, "cargo", "add install update fetch remove rm uninstall vendor generate-lockfile binstall init new"),
    (Read, "cargo", "tree metadata search info expand locate-project pkgid"),
    (Test, "go", "test"),
    (Build, "go", "build generate"),
    (Lint, "go", "vet"),
    (Format, "go", "fmt"),
    (Install, "go", "get install mod work"),
    (Read, "go", "list env version doc help"),
    (Test, "npm", "test t tst it"),
    (Install, "npm", "install i ci add uninstall un remove rm update up upgrade link dedupe prune rebuild init create
        install-ci"),
    (Read, "npm", "ls list ll view v info show outdated config root prefix why explain bin query help-search docs search
        whoami"),
    (Lint, "npm", "audit"),
    (Build, "npm", "pack"),
    (Network, "npm", "publish login ping dist-tag deprecate"),
    (Test, "yarn", "test"),
    (Install, "yarn", "install add remove upgrade up link dedupe init create global"),
    (Read, "yarn", "list info why config bin"),
    (Test, "pnpm", "test t"),
    (Install, "pnpm", "install i add remove rm update up upgrade link fetch prune rebuild import init create ci"),
    (Read, "pnpm", "ls list ll why outdated root bin config"),
    (Test, "bun", "test"),
    (Build, "bun", "build"),
    (Install, "bun", "install i add remove rm update link init create ci"),
    (Read, "bun", "pm outdated why"),
    (Test, "deno", "test bench coverage"),
    (Lint, "deno", "lint check"),
    (Format, "deno", "fmt"),
    (Build, "deno", "compile bundle"),
    (Install, "deno", "install add cache remove"),
    (Read, "deno", "info doc"),
    (Read, "pip", "list show freeze check index config debug search inspect"),
    (Network, "pip", "download"),
    (Build, "pip", "wheel"),
    (Install, "uv", "add remove sync lock pip venv python tool init self"),
    (Build, "uv", "build"),
    (Format, "uv", "format"),
    (Read, "uv", "tree version cache"),
    (Network, "uv", "publish"),
    (Install, "poetry", "install add remove update lock init self env"),
    (Build, "poetry", "build"),
    (Read, "poetry", "show check config"),
    (Install, "pipenv", "install uninstall update lock sync"),
    (Install, "pdm", "install add remove update lock sync init"),
    (Install, "hatch", "env new"),
    (Build, "hatch", "build"),
    (Test, "hatch", "test"),
    (Format, "hatch", "fmt"),
    (Read, "conda", "list info search config env"),
    (Other, "conda", "activate deactivate"),
    (Other, "mamba", "activate deactivate"),
    (Other, "micromamba", "activate deactivate"),
    (Other, "nvm", "use"),
    (Other, "fnm", "use env"),
    (Other, "mise", "activate deactivate"),
    (Other, "asdf", "shell"),
    (Read, "apt", "list show search policy"),
    (Read, "apt-get", "download changelog"),
    (Search, "apt-cache", "search policy show depends rdepends pkgnames madison"),
    (Read, "brew", "list ls info search outdated deps doctor --prefix config"),
    (Read, "dpkg", "-l -L -s -S --list --listfiles --status --print-architecture"),
    (Install, "bundle", "install update add lock"),
    (Install, "composer", "install require update remove dump-autoload create-project"),
    (Test, "dotnet", "test"),
    (Build, "dotnet", "build publish pack msbuild clean"),
    (Format, "dotnet", "format"),
    (Install, "dotnet", "restore add new tool"),
    (Test, "swift", "test"),
    (Build, "swift", "build"),
    (Test, "zig", "test"),
    (Build, "zig", "build build-exe build-lib"),
    (Format, "zig", "fmt"),
    (Test, "mix", "test"),
    (Build, "mix", "compile release"),
    (Format, "mix", "format"),
    (Lint, "mix", "credo dialyzer"),
    (Install, "mix", "deps.get deps.update local.hex"),
    (Test, "rails", "test spec"),
    (Test, "flutter", "test"),
    (Build, "flutter", "build"),
    (Lint, "flutter", "analyze"),
    (Install, "flutter", "pub"),
    (Test, "dart", "test"),
    (Lint, "dart", "analyze"),
    (Format, "dart", "format"),
    (Build, "dart", "compile"),
    (Install, "dart", "pub"),
    (Test, "bazel", "test coverage"),
    (Run, "bazel", "run"),
    (Test, "stack", "test"),
    (Build, "stack", "build"),
    (Test, "cabal", "test"),
    (Build, "cabal", "build"),
    (Test, "dune", "test runtest"),
    (Build, "dune", "build"),
    (Test, "forge", "test coverage"),
    (Build, "forge", "build compile"),
    (Format, "forge", "fmt"),
    (Install, "forge", "install"),
    (Test, "hardhat", "test coverage"),
    (Build, "hardhat", "compile"),
    (Test, "xcodebuild", "test test-without-building"),
    (Test, "sbt", "test testonly"),
    (Test, "ng", "test e2e"),
    (Build, "ng", "build"),
    (Lint, "ng", "lint"),
    (Build, "next", "build"),
    (Lint, "next", "lint"),
    (Build, "vite", "build"),
    (Build, "nuxt", "build generate"),
    (Run, "astro", "dev preview"),
    (Lint, "astro", "check"),
    (Run, "hugo", "server serve"),
    (Run, "mkdocs", "serve"),
    (Install, "playwright", "install install-deps"),
    (Run, "playwright", "codegen show-report open screenshot pdf"),
    (Install, "cypress", "install verify"),
    (Read, "cypress", "info version cache"),
    (Format, "ruff", "format"),
    (Format, "biome", "format"),
    (Format, "sqlfluff", "fix format"),
    (Run, "sqlfluff", "parse render"),
    (Install, "pre-commit", "install autoupdate install-hooks"),
    (Lint, "terraform", "validate"),
    (Format, "terraform", "fmt"),
    (Install, "terraform", "init"),
    (Format, "taplo", "fmt format"),
    (Lint, "taplo", "lint check"),
    (Format, "buf", "format"),
    (Lint, "buf", "lint breaking"),
    (Build, "buf", "build generate"),
    (Lint, "helm", "lint"),
    (Read, "helm", "list ls status get show history template"),
    (Install, "mise", "install i use u up upgrade uninstall trust plugins"),
    (Read, "mise", "ls list current which where env tasks doctor config settings"),
    (Install, "asdf", "install plugin global local"),
    (Search, "git", "grep"),
    (Build, "docker", "build buildx image bake"),
    (Read, "docker", "ps logs images inspect stats version info top port history ls container events diff df"),
    (Network, "docker", "pull push login search"),
    (Build, "docker-compose", "build"),
    (Read, "docker-compose", "ps logs config images top ls"),
    (Network, "docker-compose", "pull"),
    (Read, "kubectl", "get describe logs top explain version api-resources config cluster-info"),
    (Read, "systemctl", "status is-active is-enabled list-units list-unit-files show cat"),
    (Read, "launchctl", "list print"),
    (Read, "tmux", "capture-pane capturep ls list-sessions list-panes list-windows display-message show has-session"),
    (Read, "crontab", "-l"),
    (Read, "rustup", "show which"),
    (Build, "rustup", "doc"),
    (Read, "nvm", "ls list current which"),
    (Read, "gem", "list info which environment search"),
    (Build, "gem", "build"),
    (Install, "luarocks", "install"),
    (Install, "opam", "install update switch"),
    (Install, "corepack", "enable prepare use install"),
    (Install, "cpan", "install"),
    (Install, "cpanm", "install"),
    (Install, "nix-env", "-i -iA"),
    (Build, "nix", "build"),
    (Test, "nix", "flake"),
    (Build, "electron-builder", "build"),
    (Build, "tauri", "build"),
    (Build, "turbo", "build"),
    (Test, "coverage", "run"),
    (Read, "coverage", "report html json xml"),
    (Lint, "openssl", "verify"),
    (Test, "manage.py", "test"),
    (Test, "setup.py", "test"),
    (Build, "setup.py", "build build_ext bdist_wheel sdist egg_info"),
    (Install, "setup.py", "install develop"),
];

/// Programs whose first operand, or the one after `run`, names a task of the project.
#[rustfmt::skip]
const TASK_RUNNERS: &str = "make gmake nmake just task go-task rake invoke inv nox tox poe moon nx turbo lerna npm yarn
    pnpm bun mise deno composer grunt gulp ninja hatch pdm rush wireit gradle gradlew mvn mvnw mvnd ant ./task bazel sbt
    earthly
    dagger run-s npm-run-all concurrently";

/// Programs of which the rest of the words is a command: the words before it.
#[rustfmt::skip]
const WRAPPERS: &[&str] = &[
    "uv run", "uvx", "uv tool run", "npx", "bunx", "bun x", "npm exec", "npm x", "pnpm dlx", "pnpm exec", "yarn dlx",
    "yarn exec", "poetry run", "pipenv run", "pdm run", "rye run", "hatch run", "pipx run", "conda run", "mamba run",
    "micromamba run", "mise exec", "mise x", "bundle exec", "direnv exec", "docker exec", "podman exec",
    "docker-compose exec", "docker-compose run", "kubectl exec", "xargs", "stdbuf", "setsid", "ionice", "xvfb-run",
    "watch", "strace", "ltrace", "chrt", "taskset", "caffeinate", "unbuffer", "script", "dotenv", "dotenvx run",
    "cross-env", "env-cmd", "op run", "doppler run", "infisical run", "coverage run", "hyperfine", "gtime", "doas", "sg",
    "su", "nix-shell", "nix develop", "nix shell", "devbox run", "flatpak run", "cmd", "powershell", "pwsh", "rtk",
    "corepack", "eval", "parallel", "busybox", "chroot", "unshare", "start-process", "builtin", "winpty", "wsl",
];

/// The words in the name of a task or script, and their kinds. The first word that is in the list decides; those of `run`
/// only if no other does.
#[rustfmt::skip]
const TASK_WORDS: &[(CommandKind, &str)] = &[
    (Test, "test tests testing spec specs e2e unit integration coverage cov smoke jest vitest pytest unittest unittests
        runtests installcheck verify"),
    (Lint, "lint lints linter linting typecheck types tsc eslint clippy ruff mypy vet audit precommit check checks
        typecheckers static"),
    (Format, "fmt format formatting prettier"),
    (Build, "build builds compile bundle dist package assemble all clean docs generate codegen transpile wasm release"),
    (Install, "install setup bootstrap deps dependencies ci"),
    (Run, "dev start serve run watch preview deploy"),
];

/// What the tables contain about a program.
#[derive(Debug, Default)]
pub(super) struct Program {
    /// Its kind, whatever its arguments.
    pub kind: Option<CommandKind>,
    /// Whether its arguments name tasks.
    pub is_task_runner: bool,
    /// The words of [`WRAPPERS`] that begin with it.
    pub wrappers: Vec<&'static str>,
    subcommands: Vec<(&'static str, CommandKind)>,
}

impl Program {
    /// The kind of the program with a subcommand.
    pub(super) fn with(&self, subcommand: &str) -> Option<CommandKind> {
        self.subcommands.iter().find(|(known, _)| *known == subcommand).map(|(_, kind)| *kind)
    }
}

/// The program of that name.
pub(super) fn find(name: &str) -> Option<&'static Program> {
    static ALL: LazyLock<HashMap<&str, Program>> = LazyLock::new(|| {
        let mut all: HashMap<&str, Program> = HashMap::default();
        for (name, kind) in words_of(PROGRAMS) {
            all.entry(name).or_default().kind = Some(kind);
        }
        for (kind, name, subcommands) in SUBCOMMANDS {
            let subcommands = subcommands.split_whitespace().map(|subcommand| (subcommand, *kind));
            all.entry(name).or_default().subcommands.extend(subcommands);
        }
        for name in TASK_RUNNERS.split_whitespace() {
            all.entry(name).or_default().is_task_runner = true;
        }
        for wrapper in WRAPPERS {
            let name = wrapper.split(' ').next().unwrap_or_default();
            all.entry(name).or_default().wrappers.push(wrapper);
        }
        all
    });
    ALL.get(name)
}

/// The kind of a program whose arguments do not matter.
pub(super) fn of_program(name: &str) -> Option<CommandKind> {
    find(name)?.kind
}

/// The kind of a task or script by the words of its name.
pub(super) fn of_task(task: &str) -> Option<CommandKind> {
    static KINDS: LazyLock<HashMap<&str, CommandKind>> = LazyLock::new(|| words_of(TASK_WORDS).collect());
    let kinds = || task.split(|it: char| !it.is_ascii_alphanumeric()).filter_map(|word| KINDS.get(word).copied());
    // `run-tests` runs tests.
    let kind = kinds().find(|kind| *kind != Run).or_else(|| kinds().next());
    // `fmt:check` only checks.
    if kind == Some(Format) && kinds().any(|kind| kind == Lint) { Some(Lint) } else { kind }
}

fn words_of(lists: &[(CommandKind, &'static str)]) -> impl Iterator<Item = (&'static str, CommandKind)> {
    lists.iter().flat_map(|(kind, words)| words.split_whitespace().map(|word| (word, *kind)))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_name_is_in_one_list() {
        for lists in [PROGRAMS, TASK_WORDS] {
            let mut seen = HashSet::new();
            for word in lists.iter().flat_map(|(_, words)| words.split_whitespace()) {
                assert!(seen.insert(word), "{word}");
                assert_eq!(word, word.to_ascii_lowercase());
            }
        }
        let is_spaced = |wrapper: &&str| wrapper.split_whitespace().eq(wrapper.split(' '));
        assert!(WRAPPERS.iter().all(is_spaced));
        assert_eq!(WRAPPERS.iter().collect::<HashSet<_>>().len(), WRAPPERS.len());
        let mut seen = HashSet::new();
        for (_, name, subcommands) in SUBCOMMANDS {
            for subcommand in subcommands.split_whitespace() {
                assert!(seen.insert((name, subcommand)), "{name} {subcommand}");
            }
        }
    }
}
