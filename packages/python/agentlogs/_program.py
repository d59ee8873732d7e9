"""Where the program is, and how it is run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from agentlogs._errors import error_of


def program() -> str:
    """The path of the program: ``AGENTLOGS_BINARY`` if it is set, else the program that was installed with this package, else the
    one in ``PATH``.

    Raises:
        FileNotFoundError: no program was found.
    """
    if named := os.environ.get("AGENTLOGS_BINARY"):
        return named
    name = "agentlogs.exe" if sys.platform == "win32" else "agentlogs"
    user = sysconfig.get_preferred_scheme("user")
    # `pip install --target DIR` writes DIR/bin next to DIR/agentlogs.
    target = Path(__file__).parent.parent / ("Scripts" if sys.platform == "win32" else "bin")
    for directory in (sysconfig.get_path("scripts"), target, sysconfig.get_path("scripts", scheme=user)):
        path = Path(directory, name)
        if path.is_file():
            return str(path)
    if found := shutil.which("agentlogs"):
        return found
    message = "the program agentlogs is not installed next to this package; set AGENTLOGS_BINARY to its path"
    raise FileNotFoundError(message)


class Output(NamedTuple):
    """What the program printed."""

    #: Rows, on standard output.
    data: bytes
    #: Everything else, on standard error.
    messages: str


def run(arguments: Sequence[str]) -> Output:
    """Runs the program, and returns its output.

    Raises:
        AgentlogsError: its exit status is not 0.
    """
    result = subprocess.run([program(), *arguments], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    messages = result.stderr.decode("utf-8", "replace")
    if result.returncode != 0:
        raise error_of(result.returncode, messages, arguments)
    return Output(result.stdout, messages)
