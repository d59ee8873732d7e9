"""Codex: rollouts with limits, one file for each session."""
import json

from model import Context, iso, latency, seconds, token, uuid7, when

VERSION = "0.153.4"
WINDOW = 272_000


class Rollout:
    """The records of a session, and the totals that Codex adds up."""

    def __init__(self, session):
        self.session, self.records, self.totals, self.task = session, [], [0] * 5, 0

    def add(self, time, kind, **payload):
        self.records.append({"timestamp": iso(time), "type": kind, "payload": payload})

    def event(self, time, kind, **fields):
        self.add(time, "event_msg", type=kind, **fields)

    def item(self, time, kind, **fields):
        self.add(time, "response_item", type=kind, **fields)


def rollout(session):
    log = Rollout(session)
    time = when(session.start)
    log.add(time, "session_meta", id=session.id(), session_id=session.id(), timestamp=iso(time), cwd=session.cwd,
            originator="codex-tui", cli_version=VERSION, source="cli", thread_source="user", model_provider="openai",
            history_mode="legacy", git={"branch": session.branch})
    context, added, limits = Context(session.base, session.model, 600), 0, session.limits
    for index, step in enumerate(session.steps):
        if step.prompt:
            if log.task:
                finish(log, time, session.steps[index - 1].text)
            time += seconds(step.wait)
            begin(log, time, step.prompt)
            added += 40 + len(step.prompt) // 4
        began = time
        time += seconds(latency(step.output))
        fresh, read, _ = context.request(began, added)
        context.answer(time, step.output)
        answer(log, time, index, step)
        added = 0
        ids = [token("call_", 24, session.name, index, at) for at in range(len(step.calls))]
        for id, call in zip(ids, step.calls):
            request(log, time, id, call)
        used, limits = limits[:1], limits[1:] or limits
        count(log, time, fresh, read, step.output, used[0] if used else None)
        if step.reached_limit:
            log.event(time + seconds(0.2), "error", message="You've hit your usage limit. Try again at 4:05 PM.",
                      codex_error_info="usage_limit_exceeded")
            added = 0
            continue
        for id, call in zip(ids, step.calls):
            time += seconds(call.seconds)
            result(log, time, id, call)
            added += call.tokens
    finish(log, time, session.steps[-1].text)
    stamp = iso(when(session.start))[:19].replace(":", "-")
    return {f"rollout-{stamp}-{session.id()}.jsonl": log.records}


def begin(log, time, prompt):
    log.task += 1
    task = uuid7(iso(time), log.session.name, log.task)
    log.event(time, "task_started", turn_id=task, model_context_window=WINDOW)
    log.add(time, "turn_context", turn_id=task, cwd=log.session.cwd, approval_policy="on-request",
            sandbox_policy={"type": "workspace-write"}, model=log.session.model, effort=log.session.effort, summary="auto")
    log.item(time, "message", role="user", content=[{"type": "input_text", "text": prompt}])
    log.event(time, "user_message", message=prompt, images=[])


def finish(log, time, text):
    if log.records[-1]["payload"].get("type") != "error":
        log.event(time + seconds(0.3), "task_complete", turn_id=str(log.task), last_agent_message=text)


def answer(log, time, index, step):
    log.item(time, "reasoning", id=token("rs_", 24, log.session.name, index), summary=[], encrypted_content="gAAAAA")
    if step.text:
        log.event(time, "agent_message", message=step.text)
        log.item(time, "message", role="assistant", content=[{"type": "output_text", "text": step.text}])


def request(log, time, id, call):
    match call.kind:
        case "edit":
            body = f"*** Begin Patch\n*** Update File: {call.target}\n@@\n"
            body += "".join(f"-{line}\n" for line in call.old.splitlines()) + "".join(f"+{line}\n" for line in call.new.splitlines())
            log.item(time, "custom_tool_call", status="completed", call_id=id, name="apply_patch", input=body + "*** End Patch")
        case "write":
            body = f"*** Begin Patch\n*** Add File: {call.target}\n" + "".join(f"+{line}\n" for line in call.new.splitlines())
            log.item(time, "custom_tool_call", status="completed", call_id=id, name="apply_patch", input=body + "*** End Patch")
        case "mcp":
            server, tool = call.target.split("/")
            log.item(time, "function_call", name=tool, namespace=f"mcp__{server}__", arguments=json.dumps({"query": "refunds"}), call_id=id)
        case _:
            command = {"read": f"sed -n 1,200p {call.target}", "grep": f"rg -n {call.target}"}.get(call.kind, call.target)
            arguments = json.dumps({"cmd": command, "workdir": log.session.cwd})
            log.item(time, "function_call", name="exec_command", arguments=arguments, call_id=id)


def result(log, time, id, call):
    failed = call.status != "ok"
    if call.kind in ("edit", "write"):
        if call.kind == "edit":
            lines = "".join(f"-{line}\n" for line in call.old.splitlines()) + "".join(f"+{line}\n" for line in call.new.splitlines())
            change = {"type": "update", "unified_diff": f"@@ -12 +12 @@\n{lines}", "move_path": None}
        else:
            change = {"type": "add", "content": call.new}
        log.event(time, "patch_apply_end", call_id=id, turn_id=str(log.task), stdout="" if failed else "Success.", stderr="",
                  success=not failed, changes={call.target: change}, status="failed" if failed else "completed")
        log.item(time, "custom_tool_call_output", call_id=id, output=f"Exit code: {int(failed)}\nWall time: 0 seconds\nOutput:\n{call.result}")
    elif call.kind == "mcp":
        log.item(time, "function_call_output", call_id=id, output=f"Wall time: {call.seconds} seconds\nOutput:\n{call.result}")
    else:
        log.item(time, "function_call_output", call_id=id, output=(
            f"Chunk ID: {id[5:11]}\nWall time: {call.seconds} seconds\nProcess exited with code {call.exit_code}\n"
            f"Original token count: {call.tokens}\nOutput:\n{call.result}"))


def count(log, time, fresh, read, output, limit):
    reasoning = output * 2 // 5
    last = [fresh + read, read, output, reasoning, fresh + read + output]
    log.totals = [total + value for total, value in zip(log.totals, last)]
    names = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens", "total_tokens")
    usage = lambda values: dict(zip(names, values))
    limits = None
    if limit:
        primary, resets, secondary, week = limit
        limits = {"limit_id": "codex", "limit_name": None,
                  "primary": {"used_percent": primary, "window_minutes": 300, "resets_at": int(when(resets).timestamp())},
                  "secondary": {"used_percent": secondary, "window_minutes": 10_080, "resets_at": int(when(week).timestamp())},
                  "credits": None, "plan_type": "plus",
                  "rate_limit_reached_type": "rate_limit_reached" if primary >= 100 else None}
    log.event(time + seconds(0.1), "token_count", rate_limits=limits, info={
        "total_token_usage": usage(log.totals), "last_token_usage": usage(last), "model_context_window": WINDOW})
