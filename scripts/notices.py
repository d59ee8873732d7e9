#!/usr/bin/env python3
"""Writes THIRD-PARTY-NOTICES: the licences of the crates that are part of the program, and of the packages in the page.

    scripts/notices.py            writes the file
    scripts/notices.py --check    exit status 1 if it is not current

Needs the sources of the crates, which `cargo fetch --locked` loads. The part about the page is dashboard/dist/notices.txt, which
dashboard/build.mjs writes.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "THIRD-PARTY-NOTICES"
PAGE = ROOT / "dashboard/dist/notices.txt"

# Of several licences the first one of this list is used. One text of Apache-2.0 serves all crates that offer it.
PREFERRED = [
    "Apache-2.0", "0BSD", "CC0-1.0", "Unlicense", "MIT-0", "MIT", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Zlib", "BSL-1.0", "Unicode-3.0",
    "CDLA-Permissive-2.0", "MPL-2.0", "Apache-2.0 WITH LLVM-exception", "bzip2-1.0.6",
]

# Files with a licence or a notice.
NOTICE = re.compile(r"^(licen[cs]e|copying|notice|unlicense|copyright)", re.IGNORECASE)
# The files of a crate that offers several licences are named after them.
NAMED = {"Apache-2.0": "apache", "MIT": "mit", "Zlib": "zlib", "Unlicense": "unlicense", "BSL-1.0": "boost", "CC0-1.0": "cc0"}


def metadata():
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)


def crates_of_program(found):
    """The packages that are linked into the program on any platform."""
    packages = {package["id"]: package for package in found["packages"]}
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    root = found["resolve"]["root"]
    seen, left = set(), [root]
    while left:
        node = left.pop()
        if node in seen:
            continue
        seen.add(node)
        for dependency in nodes[node]["deps"]:
            is_linked = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            is_macro = any("proc-macro" in target["kind"] for target in packages[dependency["pkg"]]["targets"])
            if is_linked and not is_macro:
                left.append(dependency["pkg"])
    seen.discard(root)
    return sorted((packages[node] for node in seen), key=lambda it: (it["name"], it["version"]))


def alternatives(expression):
    """The licences of an SPDX expression as sets, of which one is sufficient."""
    tokens = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))

    def any_of():
        found = all_of()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            found = found + all_of()
        return found

    def all_of():
        found = one()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            other = one()
            found = [a | b for a in found for b in other]
        return found

    def one():
        token = tokens.pop(0)
        if token == "(":
            found = any_of()
            tokens.pop(0)
            return found
        if tokens and tokens[0] == "WITH":
            tokens.pop(0)
            token = f"{token} WITH {tokens.pop(0)}"
        return [frozenset([token])]

    return any_of()


def chosen(package):
    if not package["license"]:
        sys.exit(f"{package['name']}: no licence in Cargo.toml")
    found = alternatives(package["license"])
    unknown = {licence for licences in found for licence in licences if licence not in PREFERRED}
    known = [licences for licences in found if not licences & unknown]
    if not known:
        sys.exit(f"{package['name']}: {package['license']} is not in PREFERRED of {Path(__file__).name}")
    return min(known, key=lambda it: sorted(map(PREFERRED.index, it), reverse=True))


def texts(package, licences):
    """The texts of the licences in the directory of a package, with those of libraries in it."""
    directory = Path(package["manifest_path"]).parent
    files = sorted(path for path in directory.rglob("*") if NOTICE.match(path.name) and path.is_file() and path.suffix in ("", ".txt", ".md"))
    for path in files:
        text = path.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n").strip()
        # Of programs and tests beside a library, and where another licence is offered.
        if "GNU General Public License" in text or "GNU GENERAL PUBLIC LICENSE" in text[:200]:
            if path.parent != directory or "GNU GENERAL PUBLIC LICENSE" in text[:200]:
                continue
        is_apache = "Apache License" in text[:200] and "Version 2.0" in text[:400]
        others = [name for licence, name in NAMED.items() if licence not in licences and name in path.name.lower()]
        if path.parent == directory and (others or (is_apache and "Apache-2.0" not in licences)):
            continue
        yield "apache" if is_apache and len(text) > 9000 else text


def content():
    by_text, by_licence = {}, {}
    for package in crates_of_program(metadata()):
        name = f"{package['name']} {package['version']}"
        licences = chosen(package)
        by_licence.setdefault(" AND ".join(sorted(licences)), []).append(name)
        # The text of Apache-2.0 is at the end, once.
        found = dict.fromkeys(texts(package, licences))
        if not found and licences != {"Apache-2.0"}:
            found = [f"{package['license']}, {', '.join(package['authors'])}"]
        for text in found:
            if text != "apache":
                by_text.setdefault(text, []).append(name)
    parts = ["agentlogs contains the following libraries. Its own licences are in LICENSE-MIT and LICENSE-APACHE."]
    for licence, names in sorted(by_licence.items()):
        parts.append(f"{licence}:\n\n" + wrapped(names))
    for text, names in sorted(by_text.items(), key=lambda it: it[1]):
        parts.append(f"{wrapped(names)}\n\n{text}")
    parts.append("The page of `agentlogs dashboard` contains the following libraries.\n\n" + PAGE.read_text(encoding="utf-8").strip())
    parts.append("Apache-2.0:\n\n" + (ROOT / "LICENSE-APACHE").read_text(encoding="utf-8").strip("\n"))
    return ("\n\n" + "-" * 80 + "\n\n").join(parts) + "\n"


def wrapped(names):
    lines, line = [], ""
    for name in names:
        if line and len(line) + len(name) + 2 > 78:
            lines.append(line + ",")
            line = name
        else:
            line = f"{line}, {name}" if line else name
    return "\n".join([*lines, line])


def main():
    text = content()
    if sys.argv[1:] == ["--check"]:
        if not OUTPUT.exists() or OUTPUT.read_text(encoding="utf-8") != text:
            sys.exit(f"{OUTPUT.name} is not current: run scripts/notices.py, and commit it")
    else:
        OUTPUT.write_text(text, encoding="utf-8", newline="\n")
        print(f"{OUTPUT.name}: {len(text) // 1024} KiB")


if __name__ == "__main__":
    main()
