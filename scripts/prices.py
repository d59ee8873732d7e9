#!/usr/bin/env python3
"""Updates the built-in prices from the latest genai-prices and litellm, and prints the changes.

    scripts/prices.py                     fetch both with pip, write the catalog and the table in docs/prices.md
    scripts/prices.py --wheels DIR        the same from wheels that are in DIR
    scripts/prices.py --check             change nothing, exit with 1 if something would change

This only downloads: scripts/make_catalog, which this runs with cargo, makes the catalog of the two tables. docs/prices.md has the
sources. Needs Python 3.11 and cargo.
"""

import argparse
import ast
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAKE_CATALOG = ["cargo", "run", "--quiet", "--no-default-features", "--example", "make_catalog", "--"]


def plain(node):
    """A literal of genai-prices' source as its data.json has it. The source is not run."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, (ast.List, ast.Tuple)):
        return [plain(item) for item in node.elts]
    if isinstance(node, ast.Dict):
        return {plain(key): plain(value) for key, value in zip(node.keys, node.values)}
    if isinstance(node, ast.Call):
        name, values = ast.unparse(node.func), [plain(it) for it in node.args]
        if name == "Decimal":
            return float(values[0])
        if name == "datetime.date":
            return "{:04}-{:02}-{:02}".format(*values)
        if name in ("datetime.time", "time"):
            return "{:02}:{:02}".format(*[*values, 0][:2])
        # `or_` and `and_` are no words of Python.
        fields = {field.arg.rstrip("_"): plain(field.value) for field in node.keywords}
        return {name: value for name, value in fields.items() if value is not None}
    return ast.unparse(node)


def genai_prices_table(wheel):
    for node in ast.parse(wheel.read("genai_prices/data.py").decode()).body:
        if isinstance(node, ast.AnnAssign) and node.target.id == "providers":
            return json.dumps(plain(node.value)).encode()
    raise SystemExit("genai_prices/data.py has no list of providers any more")


def litellm_table(wheel):
    return wheel.read("litellm/model_prices_and_context_window_backup.json")


def newest_wheel(folder, package):
    numbers = lambda path: [int(number) for number in re.findall(r"\d+", path.name.split("-")[1])]
    return max(folder.glob(f"{package}-*.whl"), key=numbers)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheels", type=Path, help="folder with both wheels, instead of pip")
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        wheels = options.wheels or folder
        if not options.wheels:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", folder]
            subprocess.run([*pip, "genai-prices", "litellm"], check=True)
        files = []
        for package, table in (("genai_prices", genai_prices_table), ("litellm", litellm_table)):
            path = newest_wheel(wheels, package)
            file = folder / f"{package.replace('_', '-')}-{path.name.split('-')[1]}.json"
            with zipfile.ZipFile(path) as wheel:
                file.write_bytes(table(wheel))
            files.append(file)
        flags = ["--check"] if options.check else []
        return subprocess.run([*MAKE_CATALOG, *flags, *files], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
