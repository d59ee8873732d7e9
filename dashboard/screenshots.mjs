// Pictures for README.md and docs/dashboard.md: the overview of a terminal and the page of the dashboard, of the directory `demo`. scripts/screenshots.sh runs it.
//
// AGENTLOGS names the program, CHROMIUM the browser. Usage: node screenshots.mjs OUT
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";

const program = process.env.AGENTLOGS;
const out = resolve(process.argv[2]);
const demo = new URL("../demo/", import.meta.url).pathname;
const home = mkdtempSync(join(tmpdir(), "agentlogs-screenshots-"));

// Where the runtimes keep such logs.
const PLACES = {
  "maya/claude": ".claude/projects/-home-maya-code-storefront",
  "priya/claude": ".claude/projects/-home-priya-code-reports",
  "jonas/codex": ".codex/sessions/2026/11/20",
  "jonas/opencode": ".local/share/opencode",
  "priya/pi": ".pi/agent/sessions/--home-priya-code-reports--",
  "priya/gemini": ".gemini/tmp/1/chats",
  "maya/copilot": ".copilot/session-state",
};

const COLORS = { 30: "#414868", 31: "#f7768e", 32: "#9ece6a", 33: "#e0af68", 34: "#7aa2f7", 35: "#bb9af7", 36: "#7dcfff", 90: "#565f89" };

/** The text of a terminal as HTML: bold, dim and colours. */
function html(text) {
  const escaped = text.replaceAll("\r", "").replace(/[&<>]/g, (it) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[it]);
  let open = false;
  return escaped.replace(/\u001b\[([0-9;]*)m/g, (_, codes) => {
    const styles = codes.split(";").map(Number).flatMap((code) => {
      if (code === 1) return ["font-weight:bold"];
      if (code === 2) return ["opacity:.6"];
      return code in COLORS ? [`color:${COLORS[code]}`] : [];
    });
    const end = open ? "</span>" : "";
    open = styles.length > 0;
    return end + (open ? `<span style="${styles.join(";")}">` : "");
  }) + (open ? "</span>" : "");
}

try {
  for (const [logs, place] of Object.entries(PLACES)) cpSync(join(demo, logs), join(home, place), { recursive: true });
  const env = { HOME: home, PATH: "/usr/bin:/bin", TZ: "UTC", TERM: "xterm-256color" };
  // `script` gives the program a terminal, so that it prints colours.
  const command = `stty cols 90 rows 60; '${program}' --now 2026-11-20T14:10:00Z 2>/dev/null`;
  const overview = execFileSync("script", ["-qec", command, "/dev/null"], { env, encoding: "utf8", cwd: home, input: "" });
  const page = join(home, "dashboard.html");
  execFileSync(program, ["dashboard", page, "--logs", demo, "--timezone", "UTC"], { env, stdio: "ignore" });

  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
  try {
    const terminal = await browser.newPage({ viewport: { width: 800, height: 600 }, deviceScaleFactor: 1.5 });
    await terminal.setContent(`<body style="margin:0;display:inline-block;background:#1a1b26;color:#c0caf5">
      <pre style="margin:0;padding:20px 24px;font:14px/1.35 'DejaVu Sans Mono',monospace">$ agentlogs\n${html(overview.trimEnd())}</pre></body>`);
    await terminal.locator("pre").screenshot({ path: join(out, "overview.png") });
    const dashboard = await browser.newPage({ viewport: { width: 1280, height: 960 } });
    await dashboard.goto(`file://${page}`);
    await dashboard.waitForSelector("canvas");
    await dashboard.waitForTimeout(500);
    await dashboard.screenshot({ path: join(out, "dashboard.png") });
  } finally {
    await browser.close();
  }
} finally {
  rmSync(home, { recursive: true, force: true });
}
