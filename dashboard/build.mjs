// Builds dist/page.html: the page with its styles and its script, the hashes of both in its Content-Security-Policy, and
// @DATA@ where `agentlogs dashboard` puts the data.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const folder = new URL(".", import.meta.url).pathname;
const bundle = async (entry) => {
  const result = await build({
    absWorkingDir: folder,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    // The script is part of an HTML file: no character of it can end its element.
    charset: "ascii",
    target: ["chrome103", "firefox113", "safari16.4"],
    format: entry.endsWith(".css") ? undefined : "iife",
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  const text = result.outputFiles[0].text.trim();
  if (/<\/(script|style)|<!--|@DATA@/i.test(text)) throw new Error(`${entry} would end its element`);
  return text;
};
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** The licences of the libraries in the page, as they ask for. */
const notices = () => {
  const { dependencies } = JSON.parse(readFileSync(`${folder}package.json`, "utf8"));
  const texts = Object.entries(dependencies).map(([name, version]) => {
    const licence = readFileSync(`${folder}node_modules/${name}/LICENSE`, "utf8").replaceAll("\r\n", "\n").trim();
    return `${name} ${version}\n\n${licence}\n`;
  });
  const text = texts.join("\n");
  if (/--|@DATA@/.test(text)) throw new Error("a licence would end its comment");
  return text;
};

const script = await bundle("src/main.tsx");
const style = await bundle("src/style.css");
const policy = [
  "default-src 'none'",
  `script-src ${hash(script)}`,
  `style-src ${hash(style)}`,
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");
const libraries = notices();
const page = `<!doctype html>
<!--
This page contains these libraries:

${libraries}-->
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="agentlogs">
<title>agentlogs</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<div id="page"><noscript>This page needs JavaScript to show its figures; all of it is in this file.</noscript></div>
<script type="text/plain" id="data">@DATA@</script>
<script>${script}</script>
</body>
</html>
`;
mkdirSync(`${folder}dist`, { recursive: true });
writeFileSync(`${folder}dist/page.html`, page);
writeFileSync(`${folder}dist/notices.txt`, libraries);
console.log(`dist/page.html: ${(page.length / 1024).toFixed(1)} KiB, script ${(script.length / 1024).toFixed(1)}, styles ${(style.length / 1024).toFixed(1)}`);
