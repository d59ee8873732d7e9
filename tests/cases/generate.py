#!/usr/bin/env python3
"""Writes the logs of the cases that are too large, or whose names are too unusual, for files: generate.make(NAME, DIRECTORY)."""

from __future__ import annotations

import json
import os
import sys

S1 = "11111111-1111-4111-8111-111111111111"
S2 = "22222222-2222-4222-8222-222222222222"
S3 = "33333333-3333-4333-8333-333333333333"
X1 = "019a0000-0000-7000-8000-000000000001"


def assistant(
    message: str, second: int, input_tokens: int, output_tokens: int, session: str = S1, content: list | None = None
) -> dict:
    """A response of Claude Code."""
    return {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/work/demo",
        "sessionId": session,
        "version": "2.1.140",
        "gitBranch": "main",
        "requestId": "req_" + message,
        "type": "assistant",
        "uuid": "uuid-" + message,
        "timestamp": f"2026-10-05T10:00:{second:02d}.000Z",
        "message": {
            "model": "claude-sonnet-4-5-20250929",
            "id": message,
            "type": "message",
            "role": "assistant",
            "content": content or [{"type": "text", "text": "Working on it."}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": input_tokens,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": output_tokens,
                "service_tier": "standard",
            },
        },
    }


def write(path: str, rows: list) -> None:
    """Writes rows as JSON Lines; a row that is text, as it is."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        for row in rows:
            file.write((row if isinstance(row, str) else json.dumps(row, separators=(",", ":"))) + "\n")


def symlink_loop(directory: str) -> None:
    project = os.path.join(directory, "projects", "-work-demo")
    write(os.path.join(project, S1 + ".jsonl"), [assistant("msg_01A", 0, 1000, 100)])
    os.symlink(os.path.join("..", "..", "projects"), os.path.join(project, "loop"))
    os.symlink(S1 + ".jsonl", os.path.join(project, "link.jsonl"))


def deep_nesting(directory: str) -> None:
    n = 100_000
    deep = '{"type":"user","sessionId":"SESSION","uuid":"u1","timestamp":"2026-10-05T10:00:01.000Z","isSidechain":false,'
    deep = deep.replace("SESSION", S1) + '"message":{"role":"user","content":'
    deep += "[" * n + "]" * n + "}}"
    objects = '{"type":"assistant","sessionId":"' + S1 + '","x":' + '{"a":' * n + "1" + "}" * n + "}"
    write(
        os.path.join(directory, "projects", "-work-demo", S1 + ".jsonl"),
        [assistant("msg_01A", 0, 1000, 100), deep, objects, "[" * n, assistant("msg_01B", 2, 2000, 200)],
    )


def long_line(directory: str) -> None:
    text = "0123456789abcdef" * (5 * 1024 * 1024 // 16)
    result = {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/work/demo",
        "sessionId": S1,
        "version": "2.1.140",
        "type": "user",
        "message": {"role": "user", "content": [{"tool_use_id": "toolu_1", "type": "tool_result", "content": text}]},
        "uuid": "u1",
        "timestamp": "2026-10-05T10:00:01.000Z",
    }
    write(
        os.path.join(directory, "projects", "-work-demo", S1 + ".jsonl"),
        [
            assistant(
                "msg_01A",
                0,
                1000,
                100,
                content=[{"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "/work/demo/big.png"}}],
            ),
            result,
            assistant("msg_01B", 2, 2000, 200),
        ],
    )


def odd_paths(directory: str) -> None:
    write(os.path.join(directory, "with space", 'it\'s "quoted".jsonl'), [assistant("msg_01A", 0, 1000, 100)])
    write(os.path.join(directory, "new\nline", S2 + ".jsonl"), [assistant("msg_02A", 0, 2000, 200, S2)])
    write(os.path.join(directory, "naïve-日本-🚀", "%20;$(x).jsonl"), [assistant("msg_03A", 0, 3000, 300, S3)])


def long_first_line(directory: str) -> None:
    def time(second: int) -> str:
        return f"2026-10-05T10:00:0{second}.000Z"

    usage = {
        "input_tokens": 1000,
        "cached_input_tokens": 600,
        "output_tokens": 100,
        "reasoning_output_tokens": 40,
        "total_tokens": 1100,
    }
    write(
        os.path.join(directory, "sessions", "2026", "10", "05", f"rollout-2026-10-05T10-00-00-{X1}.jsonl"),
        [
            {
                "timestamp": time(0),
                "type": "session_meta",
                "payload": {
                    "id": X1,
                    "timestamp": time(0),
                    "cwd": "/work/demo",
                    "originator": "codex_cli_rs",
                    "cli_version": "0.140.0",
                    "source": "cli",
                    "model_provider": "openai",
                    "base_instructions": {"text": "You are a coding agent. " * 12500},
                },
            },
            {
                "timestamp": time(1),
                "type": "turn_context",
                "payload": {"cwd": "/work/demo", "approval_policy": "never", "model": "gpt-5", "effort": "high"},
            },
            {"timestamp": time(2), "type": "event_msg", "payload": {"type": "user_message", "message": "Fix it.", "images": []}},
            {
                "timestamp": time(3),
                "type": "event_msg",
                "payload": {
                    "type": "token_count",
                    "info": {"total_token_usage": usage, "last_token_usage": usage, "model_context_window": 272000},
                    "rate_limits": None,
                },
            },
            {
                "timestamp": time(4),
                "type": "event_msg",
                "payload": {"type": "task_complete", "turn_id": "t1", "last_agent_message": "Done.", "duration_ms": 4000},
            },
        ],
    )


MAKERS = {maker.__name__: maker for maker in (symlink_loop, deep_nesting, long_line, odd_paths, long_first_line)}


def make(name: str, directory: str) -> None:
    os.makedirs(directory, exist_ok=True)
    MAKERS[name](directory)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in MAKERS:
        sys.exit("usage: generate.py NAME DIRECTORY   with NAME one of: " + " ".join(sorted(MAKERS)))
    make(sys.argv[1], sys.argv[2])
