"""Executes the code cells of notebooks in order, and prints what each shows: the last expression of a cell, as a notebook does.

Usage: notebook.py NOTEBOOK...
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path


def execute(source: str, names: dict[str, object]) -> object:
    """Runs a cell. Returns the value of its last line, if that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), names)
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names) if last is not None else None


def main() -> None:
    for path in map(Path, sys.argv[1:]):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        assert notebook["nbformat"] == 4 and notebook["nbformat_minor"] >= 5, path
        assert all(not cell.get("outputs") for cell in notebook["cells"]), "outputs are not committed"
        names: dict[str, object] = {"__name__": "__main__"}
        shown = []
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                value = execute("".join(cell["source"]), names)
                if value is not None:
                    show = getattr(value, "_repr_html_", None)
                    shown.append(show() if show else str(value))
        assert shown and all(shown), path
        assert any("<td>" in text for text in shown), "a table has rows"
        print(f"{path.name}: {len(shown)} results")


if __name__ == "__main__":
    main()
