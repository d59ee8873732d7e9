// How long a page takes to act on each kind of filter: node test/speed.mjs [--rounds N] [--spread] PAGE.html [PAGE.html]...
//
// Pages take turns, so that what else the machine does falls on all of them. Elapsed is from the change of the fragment to
// the end of the next frame, by when all is drawn; the rest is the time that the processor spent on the page's thread until
// nothing was left to do. --spread gives the sessions three runtimes and five labels, by their project, for logs that have
// none. CHROMIUM names the browser.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { gunzipSync, gzipSync } from "node:zlib";
import { chromium } from "playwright-core";

const options = { rounds: { type: "string", default: "10" }, spread: { type: "boolean" } };
const { values, positionals } = parseArgs({ options, allowPositionals: true });
const rounds = Number(values.rounds);
const folder = mkdtempSync(join(tmpdir(), "agentlogs-speed-"));

/** A copy of the page with other runtimes and labels. */
function spread(path) {
  const [before, packed, after] = readFileSync(path, "utf8").split(/(?<=id="data">)([^<]+)/);
  const data = JSON.parse(gunzipSync(Buffer.from(packed, "base64")));
  data.words.runtime.list = ["claude", "codex", "opencode"];
  data.groups.runtime = data.groups.project.map((it) => it % 3);
  data.labels = ["suite=a", "suite=b", "suite=c", "team=x", "team=y"];
  data.label_sets = [[], [0, 3], [1, 3], [2, 4], [0, 4], [1, 4]];
  data.groups.labels = data.groups.project.map((it) => it % data.label_sets.length);
  const copy = join(folder, basename(path));
  writeFileSync(copy, before + gzipSync(JSON.stringify(data)).toString("base64") + after);
  return copy;
}

/** Fragments that each set one filter: the first, the fourth and the last value of each dimension; a week, a month, all but a week. */
function fragments() {
  const out = {};
  for (const choice of document.querySelectorAll("details[data-dimension]")) {
    const names = [...choice.querySelectorAll("bdi")].map((it) => it.textContent);
    const dimension = choice.dataset.dimension;
    const some = [...new Set([names[0], names[3], names.at(-1)])].filter((it) => it !== undefined);
    out[dimension] = some.map((it) => `${dimension}=${encodeURIComponent(it)}`);
  }
  const { min, max } = document.querySelector("input[name=since]");
  const middle = (Date.parse(min) + Date.parse(max)) / 2;
  const day = (days) => new Date(middle + days * 864e5).toISOString().slice(0, 10);
  out["time range"] = [`since=${day(0)}&until=${day(6)}`, `since=${day(-15)}&until=${day(15)}`, `since=${new Date(Date.parse(min) + 7 * 864e5).toISOString().slice(0, 10)}`];
  return out;
}

/** Milliseconds until the frame after this change. */
async function change(fragment) {
  const start = performance.now();
  location.hash = fragment;
  await new Promise((done) => addEventListener("hashchange", done, { once: true }));
  await new Promise((done) => setTimeout(done));
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - start;
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const METRICS = ["TaskDuration", "ScriptDuration", "LayoutDuration", "RecalcStyleDuration"];
const pages = [];
for (const path of positionals) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const start = performance.now();
  await page.goto(`file://${resolve(values.spread ? spread(path) : path)}`);
  await page.waitForSelector("#totals");
  console.log(`${path}: opened in ${Math.round(performance.now() - start)} ms`);
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const metrics = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return METRICS.map((name) => metrics.find((it) => it.name === name).value * 1000);
  };
  const measure = async (fragment) => {
    const before = await metrics();
    const elapsed = await page.evaluate(change, fragment);
    await page.waitForTimeout(200);
    const after = await metrics();
    return [elapsed, ...after.map((it, at) => it - before[at])];
  };
  pages.push({ path, page, measure, taken: new Map(), fragments: await page.evaluate(fragments) });
}

for (let round = -1; round < rounds; round++) {
  for (const kind of ["time range", "runtime", "model", "project", "label", "status"]) {
    for (const { page, measure, taken, fragments } of pages) {
      await page.bringToFront();
      for (const fragment of fragments[kind] ?? []) {
        for (const [name, it] of [[kind, fragment], ["none", ""]]) {
          const own = await measure(it);
          // The first round is for the compiler.
          if (round >= 0) taken.set(name, [...(taken.get(name) ?? []), own]);
        }
      }
    }
  }
}
await browser.close();
rmSync(folder, { recursive: true });

const at = (sorted, part) => sorted[Math.round((sorted.length - 1) * part)];
for (const { path, taken } of pages) {
  console.log(`\n${path}\n| filter | changes | elapsed ms, median | nine of ten | most | thread CPU ms, median | most | of it script | style and layout |`);
  console.log("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
  for (const [kind, runs] of [...taken, ["all", [...taken.values()].flat()]]) {
    const column = (of) => runs.map(of).sort((a, b) => a - b);
    const elapsed = column((it) => it[0]);
    const thread = column((it) => it[1]);
    const numbers = [at(elapsed, 0.5), at(elapsed, 0.9), at(elapsed, 1), at(thread, 0.5), at(thread, 1), at(column((it) => it[2]), 0.5), at(column((it) => it[3] + it[4]), 0.5)];
    console.log(`| ${kind} | ${runs.length} | ${numbers.map((it) => Math.round(it)).join(" | ")} |`);
  }
}
