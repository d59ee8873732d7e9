#!/usr/bin/env node
// Runs the program of the package for this platform, one of the optional dependencies.
"use strict";

const { spawnSync } = require("node:child_process");
const os = require("node:os");
const { name, optionalDependencies } = require("../package.json");

/** The packages that can have the program for this platform, the best one first. */
function candidates() {
  const base = `${name}-${process.platform}-${process.arch}`;
  if (process.platform !== "linux") return [base];
  // Without this, a report contains the names of all connections.
  process.report.excludeNetwork = true;
  const usesGlibc = Boolean(process.report.getReport().header.glibcVersionRuntime);
  // The program of the musl package is static, and runs everywhere.
  return usesGlibc ? [base, `${base}-musl`] : [`${base}-musl`];
}

/** The path of the program; undefined if no package for this platform is installed. */
function program() {
  const file = process.platform === "win32" ? "agentlogs.exe" : "agentlogs";
  for (const candidate of candidates()) {
    try {
      return require.resolve(`${candidate}/bin/${file}`);
    } catch {
      // Not installed.
    }
  }
  return undefined;
}

const path = process.env.AGENTLOGS_BINARY || program();
if (path === undefined) {
  const platforms = Object.keys(optionalDependencies).map((it) => it.slice(name.length + 1));
  console.error(
    `agentlogs: no program for ${process.platform}-${process.arch}; ${name} has those for ${platforms.join(", ")}. ` +
      "If yours is among them, npm was told to leave out optional dependencies (--omit=optional, --no-optional).",
  );
  process.exit(1);
}
const result = spawnSync(path, process.argv.slice(2), { stdio: "inherit" });
if (result.error) {
  console.error(`agentlogs: ${path}: ${result.error.message}`);
  process.exit(1);
}
// As the program ended: with its status, or by a signal.
process.exitCode = result.status ?? 128 + (os.constants.signals[result.signal] ?? 0);
