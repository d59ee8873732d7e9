"""What the program reports, as exceptions."""

from __future__ import annotations

from collections.abc import Sequence


class AgentlogsError(Exception):
    """The program failed. ``str()`` is its message."""

    def __init__(self, message: str, status: int, command: Sequence[str]) -> None:
        super().__init__(message)
        #: The exit status; docs/install.md#exit-status lists them. Negative: the number of the signal that ended the program.
        self.status = status
        #: The arguments of the program.
        self.command = list(command)


class WrongCommandLineError(AgentlogsError):
    """An argument has no such value: a table, a filter or a time."""


class IncompleteError(AgentlogsError):
    """With ``strict=True``: lines were rejected, or files could not be read. The rest is in the archive."""


def error_of(status: int, stderr: str, command: Sequence[str]) -> AgentlogsError:
    """The exception for an exit status that is not 0."""
    kinds = {2: WrongCommandLineError, 3: IncompleteError}
    message = stderr.strip().removeprefix("agentlogs: ").removeprefix("error: ")
    return kinds.get(status, AgentlogsError)(message or f"agentlogs ended with status {status}", status, command)
