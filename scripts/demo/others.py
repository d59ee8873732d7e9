"""pi, Gemini CLI, GitHub Copilot CLI and OpenCode: one session, or one database, for each function."""
import json
import sqlite3
from datetime import datetime, timezone

from model import Context, Session, digest, iso, latency, milliseconds, patch_lines, seconds, token, uuid4, when


class Requests:
    """The steps of a session, one after the other, with times and tokens."""

    def __init__(self, session, keeps_cache_for=300):
        self.session = session
        self.context = Context(session.base, session.model, keeps_cache_for)
        self.time = when(session.start)

    def __iter__(self):
        added = 0
        for index, step in enumerate(self.session.steps):
            if step.prompt:
                self.time += seconds(step.wait)
                added += 40 + len(step.prompt) // 4
            began = self.time
            self.time += seconds(latency(step.output))
            tokens = self.context.request(began, added)
            self.context.answer(self.time, step.output)
            yield index, step, began, tokens
            added = sum(call.tokens for call in step.calls)


def pi(session, prices):
    """A session file of pi, with the cost that pi computes."""
    records, last = [], None

    def add(type, time, **fields):
        nonlocal last
        id = digest(session.name, len(records))[:8]
        records.append({"type": type, **fields, "id": id, "parentId": last, "timestamp": iso(time)})
        last = id

    requests = Requests(session)
    start = requests.time
    records.append({"type": "session", "version": 3, "id": session.id(), "timestamp": iso(start), "cwd": session.cwd})
    add("model_change", start, provider="anthropic", modelId=session.model)
    add("thinking_level_change", start, thinkingLevel="medium")
    tools = {"run": "bash", "grep": "grep", "read": "read", "edit": "edit", "write": "write"}
    for index, step, began, (fresh, read, written) in requests:
        if step.prompt:
            message = {"role": "user", "content": [{"type": "text", "text": step.prompt}], "timestamp": milliseconds(began)}
            add("message", began, message=message)
        parts = [count * rate / 1_000_000 for count, rate in zip((fresh, step.output, read, written), prices[session.model])]
        usage = {"input": fresh, "output": step.output, "cacheRead": read, "cacheWrite": written,
                 "totalTokens": fresh + step.output + read + written,
                 "cost": dict(zip(("input", "output", "cacheRead", "cacheWrite"), (round(part, 8) for part in parts)))
                 | {"total": round(sum(parts), 8)}}
        ids = [token("toolu_01", 22, session.name, index, at) for at in range(len(step.calls))]
        content = ([{"type": "text", "text": step.text}] if step.text else []) + [
            {"type": "toolCall", "id": id, "name": tools[call.kind], "arguments": arguments(call)} for id, call in zip(ids, step.calls)]
        add("message", requests.time, message={
            "role": "assistant", "content": content, "api": "anthropic-messages", "provider": "anthropic", "model": session.model,
            "usage": usage, "stopReason": "toolUse" if step.calls else "stop", "timestamp": milliseconds(began)})
        for id, call in zip(ids, step.calls):
            requests.time += seconds(call.seconds)
            text = call.result + (f"\n\nCommand exited with code {call.exit_code}" if call.exit_code else "")
            message = {"role": "toolResult", "toolCallId": id, "toolName": tools[call.kind], "isError": call.status != "ok",
                       "content": [{"type": "text", "text": text}], "timestamp": milliseconds(requests.time)}
            if call.kind == "edit" and call.status == "ok":
                message["details"] = {"diff": "\n".join(f"{line[0]} 12 {line[1:]}" for line in patch_lines(call.old, call.new))}
            add("message", requests.time, message=message)
    return {f"{iso(start)[:19].replace(':', '-')}-000Z_{session.id()}.jsonl": records}


def arguments(call):
    """The arguments of pi's tools."""
    match call.kind:
        case "run": return {"command": call.target}
        case "grep": return {"pattern": call.target}
        case "edit": return {"path": call.target, "oldText": call.old, "newText": call.new}
        case "write": return {"path": call.target, "content": call.new}
    return {"path": call.target}


def gemini(session):
    """A chat of Gemini CLI: a header, and a line for each message."""
    requests = Requests(session, 600)
    start = iso(requests.time)
    records = [{"sessionId": session.id(), "projectHash": digest(session.cwd), "startTime": start, "lastUpdated": start, "kind": "main"}]
    tools = {"run": "run_shell_command", "grep": "search_file_content", "read": "read_file", "edit": "replace", "write": "write_file",
             "fetch": "web_fetch"}
    for index, step, began, (fresh, read, written) in requests:
        if step.prompt:
            records.append({"id": uuid4(session.name, index, "user"), "timestamp": iso(began), "type": "user",
                            "content": [{"text": step.prompt}]})
        thoughts = step.output // 3
        tokens = {"input": fresh + read + written, "output": step.output - thoughts, "cached": read, "thoughts": thoughts, "tool": 0,
                  "total": fresh + read + written + step.output}
        answered, calls = requests.time, []
        for at, call in enumerate(step.calls):
            requests.time += seconds(call.seconds)
            id = f"{tools[call.kind]}-{milliseconds(answered)}-{at}"
            failed = call.status != "ok"
            text = call.result + (f"\nExit Code: {call.exit_code}" if call.kind == "run" else "")
            shown = {"fileDiff": "\n".join(["@@ -12 +12 @@", *patch_lines(call.old, call.new)]), "fileName": call.target.rsplit("/", 1)[-1],
                     "isNewFile": call.kind == "write"} if call.kind in ("edit", "write") and not failed else text[:80]
            calls.append({"id": id, "name": tools[call.kind], "args": gemini_arguments(call), "result": [{"functionResponse": {
                "id": id, "name": tools[call.kind], "response": {"error" if failed else "output": text}}}],
                "status": "error" if failed else "success", "timestamp": iso(requests.time), "resultDisplay": shown})
        records.append({"id": uuid4(session.name, index), "timestamp": iso(answered), "type": "gemini", "content": step.text,
                        "thoughts": [], "tokens": tokens, "model": session.model} | ({"toolCalls": calls} if calls else {}))
    return {f"session-{start[:16].replace(':', '-')}-{session.id()[:8]}.jsonl": records}


def gemini_arguments(call):
    match call.kind:
        case "run": return {"command": call.target}
        case "grep": return {"pattern": call.target}
        case "fetch": return {"prompt": call.target}
        case "edit": return {"file_path": call.target, "old_string": call.old, "new_string": call.new}
        case "write": return {"file_path": call.target, "content": call.new}
    return {"file_path": call.target}


def copilot(session):
    """The events of GitHub Copilot CLI. A response has only its output; the shutdown has the sums."""
    requests, records = Requests(session), []

    def add(type, time, **data):
        last = records[-1]["id"] if records else None
        records.append({"type": type, "data": data, "id": uuid4(session.name, len(records)), "timestamp": iso(time), "parentId": last})

    add("session.start", requests.time, sessionId=session.id(), version=1, producer="copilot-agent", copilotVersion="1.0.71",
        startTime=iso(requests.time), selectedModel=session.model, reasoningEffort="medium",
        context={"cwd": session.cwd, "gitRoot": session.cwd, "branch": session.branch, "repository": "tidewater/storefront"})
    tools = {"run": "bash", "grep": "grep", "read": "view", "edit": "edit", "write": "create"}
    sums, count, changed, started = [0] * 4, 0, {}, requests.time
    for index, step, began, (fresh, read, written) in requests:
        if step.prompt:
            add("user.message", began, content=step.prompt, attachments=[], interactionId=f"i{index}")
        ids = [token("toolu_", 22, session.name, index, at) for at in range(len(step.calls))]
        add("assistant.message", requests.time, messageId=uuid4(session.name, index, "message"), apiCallId=token("msg_", 22, session.name, index),
            model=session.model, content=step.text, turnId=str(index), outputTokens=step.output, toolRequests=[
                {"toolCallId": id, "name": tools[call.kind], "arguments": copilot_arguments(call), "type": "function"}
                for id, call in zip(ids, step.calls)])
        sums = [have + value for have, value in zip(sums, (fresh + read + written, step.output, read, written))]
        count += 1
        for id, call in zip(ids, step.calls):
            add("tool.execution_start", requests.time, toolCallId=id, toolName=tools[call.kind], arguments=copilot_arguments(call), turnId=str(index))
            requests.time += seconds(call.seconds)
            text = call.result + (f"\n<shellId: {index} completed with exit code {call.exit_code}>" if call.kind == "run" else "")
            shown = {"content": text}
            if call.kind in ("edit", "write") and call.status == "ok":
                changed[call.target] = changed.get(call.target, 0) + len(call.new.splitlines())
                shown = {"content": f"File {call.target} updated with changes.", "detailedContent": "\n".join(
                    [f"diff --git a{call.target} b{call.target}", f"--- a{call.target}", f"+++ b{call.target}", "@@ -12 +12 @@",
                     *patch_lines(call.old, call.new)])}
            add("tool.execution_complete", requests.time, toolCallId=id, success=call.status == "ok", result=shown, turnId=str(index))
    usage = dict(zip(("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"), sums)) | {"reasoningTokens": 0}
    add("session.shutdown", requests.time + seconds(20), shutdownType="routine", totalPremiumRequests=1,
        totalApiDurationMs=int((requests.time - started).total_seconds() * 700), sessionStartTime=milliseconds(started),
        codeChanges={"linesAdded": sum(changed.values()), "linesRemoved": 0, "filesModified": sorted(changed)},
        modelMetrics={session.model: {"requests": {"count": count, "cost": 1}, "usage": usage}}, currentModel=session.model)
    return {f"{session.id()}/events.jsonl": records}


def copilot_arguments(call):
    match call.kind:
        case "run": return {"command": call.target, "description": "Run a command"}
        case "grep": return {"pattern": call.target}
        case "edit": return {"path": call.target, "old_str": call.old, "new_str": call.new}
        case "write": return {"path": call.target, "file_text": call.new}
    return {"path": call.target}


SCHEMA = """
CREATE TABLE project (id text PRIMARY KEY, worktree text NOT NULL, vcs text, name text, time_created integer NOT NULL,
  time_updated integer NOT NULL, sandboxes text NOT NULL);
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL, directory text NOT NULL,
  title text NOT NULL, version text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL,
  FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL,
  data text NOT NULL, FOREIGN KEY (session_id) REFERENCES session(id) ON DELETE CASCADE);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, time_created integer NOT NULL,
  time_updated integer NOT NULL, data text NOT NULL, FOREIGN KEY (message_id) REFERENCES message(id) ON DELETE CASCADE);
"""


def opencode(path, sessions, prices):
    """The database of OpenCode with its sessions; a call of a subagent makes a child session."""
    path.unlink(missing_ok=True)
    database = sqlite3.connect(path)
    database.executescript(SCHEMA)
    first = sessions[0]
    made = milliseconds(when(first.start))
    database.execute("INSERT INTO project VALUES (?,?,?,?,?,?,?)", ("global", first.cwd, "git", None, made, made, "[]"))
    for session in sessions:
        opencode_session(database, session, None, prices)
    database.commit()
    database.execute("VACUUM")
    database.close()
    # The header contains the version of SQLite, which differs between machines.
    bytes = bytearray(path.read_bytes())
    bytes[96:100] = (3_045_001).to_bytes(4, "big")
    path.write_bytes(bytes)


def opencode_session(database, session, parent, prices):
    id = "ses_" + token("", 26, session.name)
    requests, order = Requests(session), 0
    start = milliseconds(requests.time)
    database.execute("INSERT INTO session VALUES (?,?,?,?,?,?,?,?,?)", (
        id, "global", parent, session.name, session.cwd, session.name.replace("-", " "), "1.18.27", start, start))

    def insert(table, time, data, message=None):
        nonlocal order
        order += 1
        row = f"{'msg' if table == 'message' else 'prt'}_{time:x}{order:04x}" + token("", 12, session.name, order)
        values = (row, *((message,) if message else ()), id, time, time, json.dumps(data, separators=(",", ":")))
        database.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(values))})", values)
        return row

    asked = None
    for index, step, began, (fresh, read, written) in requests:
        model = {"providerID": "openai" if session.model.startswith("gpt") else "anthropic", "modelID": session.model}
        if step.prompt:
            time = milliseconds(began)
            asked = insert("message", time, {"role": "user", "time": {"created": time}, "agent": "build", "model": model})
            insert("part", time, {"type": "text", "text": step.prompt}, asked)
        answered = requests.time
        cost = round(sum(count * rate for count, rate in zip((fresh, step.output, read, written), prices[session.model])) / 1_000_000, 6)
        tokens = {"total": fresh + read + written + step.output, "input": fresh, "output": step.output, "reasoning": 0,
                  "cache": {"read": read, "write": written}}
        reason = "tool-calls" if step.calls else "stop"
        message = insert("message", milliseconds(began) + 1, {
            "parentID": asked, "role": "assistant", "mode": "build", "agent": "build", "path": {"cwd": session.cwd, "root": "/"},
            "cost": cost, "tokens": tokens, **model, "time": {"created": milliseconds(began), "completed": milliseconds(answered)},
            "finish": reason})
        if step.text:
            insert("part", milliseconds(answered), {"type": "text", "text": step.text}, message)
        for at, call in enumerate(step.calls):
            begun = milliseconds(requests.time)
            requests.time += seconds(call.seconds)
            insert("part", begun, opencode_call(database, session, id, index, at, call, begun, milliseconds(requests.time), prices), message)
        insert("part", milliseconds(requests.time), {"type": "step-finish", "reason": reason, "cost": cost, "tokens": tokens}, message)
    database.execute("UPDATE session SET time_updated = ? WHERE id = ?", (milliseconds(requests.time), id))
    return id


def opencode_call(database, session, parent, index, at, call, begun, ended, prices):
    names = {"run": "bash", "grep": "grep", "read": "read", "edit": "edit", "write": "write", "agent": "task"}
    id = token("call_", 24, session.name, index, at)
    inputs = {"run": {"command": call.target, "description": "Runs a command"}, "grep": {"pattern": call.target},
              "edit": {"filePath": call.target, "oldString": call.old, "newString": call.new},
              "write": {"filePath": call.target, "content": call.new}}.get(call.kind, {"filePath": call.target})
    metadata = {}
    if call.kind == "agent":
        call.agent.steps[0].prompt = call.agent.prompt
        start = iso(datetime.fromtimestamp(begun / 1000, timezone.utc))
        child = Session(f"{session.name}-{call.target}", start, call.agent.model, session.cwd, session.branch, call.agent.steps, call.agent.base)
        metadata = {"sessionId": opencode_session(database, child, parent, prices)}
        inputs = {"description": call.agent.prompt[:30], "prompt": call.agent.prompt, "subagent_type": call.target}
    if call.kind == "run":
        metadata = {"output": call.result, "exit": call.exit_code}
    if call.kind == "edit" and call.status == "ok":
        metadata = {"filediff": {"file": call.target, "additions": len(call.new.splitlines()), "deletions": len(call.old.splitlines())}}
    state = {"status": "completed", "input": inputs, "output": call.result, "title": call.target, "metadata": metadata}
    if call.status == "error" and call.kind != "run":
        state = {"status": "error", "input": inputs, "error": call.result}
    return {"type": "tool", "callID": id, "tool": names[call.kind], "state": state | {"time": {"start": begun, "end": ended}}}
