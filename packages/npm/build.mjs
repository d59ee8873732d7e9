// Writes the directories of the npm packages: one with the launcher, and one for each platform with its program.
//
// Usage: node packages/npm/build.mjs OUT TARGET=PROGRAM...
//
// TARGET is a name of the Rust compiler, PROGRAM the path of the program that was built for it. The version, the repository and the
// licence are those of Cargo.toml. All targets of PLATFORMS are dependencies of the launcher, whether or not they are given.
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

// The name on npm, where `agentlogs` is another program. All other names are made of it.
const NAME = "agentlogs-cli";

// The package and the platform of each target, as Node names them.
const PLATFORMS = {
  "x86_64-unknown-linux-gnu": { name: "linux-x64", os: "linux", cpu: "x64", libc: "glibc" },
  "aarch64-unknown-linux-gnu": { name: "linux-arm64", os: "linux", cpu: "arm64", libc: "glibc" },
  "x86_64-unknown-linux-musl": { name: "linux-x64-musl", os: "linux", cpu: "x64", libc: "musl" },
  "aarch64-unknown-linux-musl": { name: "linux-arm64-musl", os: "linux", cpu: "arm64", libc: "musl" },
  "x86_64-apple-darwin": { name: "darwin-x64", os: "darwin", cpu: "x64" },
  "aarch64-apple-darwin": { name: "darwin-arm64", os: "darwin", cpu: "arm64" },
  "x86_64-pc-windows-msvc": { name: "win32-x64", os: "win32", cpu: "x64" },
};

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "..", "..");
const [out, ...programs] = process.argv.slice(2);
const wrong = programs.find((it) => !(it.split("=")[0] in PLATFORMS));
if (out === undefined || programs.length === 0 || wrong !== undefined) {
  console.error(`usage: build.mjs OUT TARGET=PROGRAM...; targets: ${Object.keys(PLATFORMS).join(", ")}`);
  process.exit(2);
}

const metadata = execFileSync("cargo", ["metadata", "--format-version", "1", "--no-deps", "--offline"], { cwd: root });
const { version, description, license, repository } = JSON.parse(metadata).packages[0];
const common = { version, description, license, repository: { type: "git", url: `git+${repository}.git` }, homepage: repository };

/** Writes a package: its package.json, licences, README and files. */
function write(manifest, readme, files) {
  const directory = join(out, manifest.name);
  for (const [path, from] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    copyFileSync(from, join(directory, path));
    chmodSync(join(directory, path), 0o755);
  }
  for (const licence of ["LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY-NOTICES"]) copyFileSync(join(root, licence), join(directory, licence));
  writeFileSync(join(directory, "README.md"), readme);
  writeFileSync(join(directory, "package.json"), `${JSON.stringify({ ...manifest, ...common }, null, 2)}\n`);
}

const nameOf = (platform) => `${NAME}-${platform.name}`;
write(
  {
    name: NAME,
    bin: { agentlogs: "bin/agentlogs.js", [NAME]: "bin/agentlogs.js" },
    engines: { node: ">=18" },
    optionalDependencies: Object.fromEntries(Object.values(PLATFORMS).map((it) => [nameOf(it), version])),
  },
  `# ${NAME}\n\n${description}.\n\n    npx ${NAME}\n    npm install --global ${NAME} && agentlogs --help\n\nDocumentation: ${repository}\n`,
  { "bin/agentlogs.js": join(here, "agentlogs.js") },
);
for (const given of programs) {
  const [target, path] = [given.slice(0, given.indexOf("=")), given.slice(given.indexOf("=") + 1)];
  const platform = PLATFORMS[target];
  const file = platform.os === "win32" ? "agentlogs.exe" : "agentlogs";
  const libc = platform.libc === undefined ? {} : { libc: [platform.libc] };
  write(
    { name: nameOf(platform), os: [platform.os], cpu: [platform.cpu], ...libc, preferUnplugged: true },
    `# ${nameOf(platform)}\n\nThe program of [${NAME}](https://www.npmjs.com/package/${NAME}) for ${target}.\n`,
    { [`bin/${file}`]: path },
  );
}
