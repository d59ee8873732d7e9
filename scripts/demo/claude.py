"""Claude Code: transcripts with the files of subagents, and the recorded output of `claude -p` in CI."""
from model import Context, digest, iso, latency, patch_lines, seconds, token, uuid4, when

VERSION = "2.1.296"
TOOLS = {"read": "Read", "run": "Bash", "edit": "Edit", "write": "Write", "grep": "Grep", "fetch": "WebFetch", "agent": "Agent"}


class Log:
    """The records of one agent."""

    def __init__(self, session, agent_id=None):
        self.session, self.agent_id, self.records, self.parent = session, agent_id, [], None

    def add(self, time, type, **fields):
        session = self.session
        id = uuid4(session.name, self.agent_id, len(self.records))
        record = {"parentUuid": self.parent, "isSidechain": self.agent_id is not None, "type": type, **fields, "uuid": id,
                  "timestamp": iso(time), "userType": "external", "entrypoint": "cli", "cwd": session.cwd,
                  "sessionId": session.id(), "version": VERSION, "gitBranch": session.branch}
        if self.agent_id:
            record["agentId"] = self.agent_id
        self.parent = id
        self.records.append(record)


def transcript(session):
    """The files of a session by their names: its own, and one for each subagent."""
    files = {}
    log = Log(session)
    write_steps(log, session.steps, Context(session.base, session.model, session.keeps_cache_for), session.model,
           when(session.start), files)
    name = session.id()
    return {f"{name}.jsonl": log.records} | {f"{name}/subagents/{agent}": records for agent, records in files.items()}


def write_steps(log, steps, context, model, time, files):
    """Writes the steps of an agent; the time after them and the usage of its last response."""
    session, added, usage = log.session, 0, None
    one_hour = session.keeps_cache_for > 300
    for index, step in enumerate(steps):
        if step.prompt:
            time += seconds(step.wait)
            log.add(time, "user", message={"role": "user", "content": step.prompt})
            added += 40 + len(step.prompt) // 4
        if step.compacts:
            before = context.size + added
            context.compact(26_000)
            added = 0
            log.add(time, "system", subtype="compact_boundary", content="Conversation compacted", level="info",
                    compactMetadata={"trigger": "auto", "preTokens": before})
        for attempt in range(step.retries):
            log.add(time, "system", subtype="api_error", level="error", error={"status": 529, "message": "Overloaded"},
                    retryInMs=1_000 * 2 ** attempt, retryAttempt=attempt + 1, maxRetries=10)
            time += seconds(2 ** attempt)
        began = time
        time += seconds(latency(step.output))
        fresh, read, written = context.request(began, added)
        context.answer(time, step.output)
        key = (session.name, log.agent_id, index)
        usage = {"input_tokens": fresh, "cache_creation_input_tokens": written, "cache_read_input_tokens": read,
                 "cache_creation": {"ephemeral_5m_input_tokens": 0 if one_hour else written,
                                    "ephemeral_1h_input_tokens": written if one_hour else 0},
                 "output_tokens": step.output, "service_tier": "standard", "speed": "standard"}
        content = [{"type": "text", "text": step.text}] if step.text else []
        content += [{"type": "tool_use", "id": token("toolu_01", 22, *key, at), "name": name_of(call), "input": input_of(call)}
                    for at, call in enumerate(step.calls)]
        log.add(time, "assistant", requestId=token("req_011", 21, *key), message={
            "model": model, "id": token("msg_01", 22, *key), "type": "message", "role": "assistant", "content": content,
            "stop_reason": "tool_use" if step.calls else "end_turn", "stop_sequence": None, "usage": usage})
        added = 0
        for at, call in enumerate(step.calls):
            time, tokens = result(log, call, token("toolu_01", 22, *key, at), time, files)
            added += tokens
    if not log.agent_id and session.end == "aborted":
        log.add(time + seconds(41), "user", message={"role": "user", "content": [
            {"type": "text", "text": "[Request interrupted by user]"}]})
    return time, usage


def name_of(call):
    return "mcp__" + call.target.replace("/", "__") if call.kind == "mcp" else TOOLS[call.kind]


def input_of(call):
    match call.kind:
        case "read": return {"file_path": call.target}
        case "run": return {"command": call.target}
        case "edit": return {"file_path": call.target, "old_string": call.old, "new_string": call.new}
        case "write": return {"file_path": call.target, "content": call.new}
        case "grep": return {"pattern": call.target, "output_mode": "content"}
        case "fetch": return {"url": call.target, "prompt": "What does it say about rounding?"}
        case "agent": return {"description": call.agent.prompt[:30], "prompt": call.agent.prompt, "subagent_type": call.target}
    return {"query": "orders by day"}


def result(log, call, id, time, files):
    """Writes the result of a call; the time after it, and the tokens that it adds."""
    extra, text, fields = None, call.result, {}
    if call.kind == "agent":
        agent = call.agent
        name = "a" + digest(log.session.name, agent.prompt)[:16]
        child = Log(log.session, name)
        steps = agent.steps
        steps[0].prompt = agent.prompt
        start = time
        time, usage = write_steps(child, steps, Context(agent.base, agent.model), agent.model, time + seconds(1), files)
        files[f"agent-{name}.jsonl"] = child.records
        extra = {"status": "completed", "prompt": agent.prompt, "agentId": name, "agentType": agent.type,
                 "content": [{"type": "text", "text": text}], "totalDurationMs": int((time - start).total_seconds() * 1000),
                 "totalToolUseCount": sum(len(step.calls) for step in steps), "usage": usage}
    else:
        time += seconds(call.seconds)
    if call.kind == "edit" and call.status == "ok":
        text = f"The file {call.target} has been updated successfully."
        lines = patch_lines(call.old, call.new)
        extra = {"filePath": call.target, "oldString": call.old, "newString": call.new, "userModified": False, "replaceAll": False,
                 "structuredPatch": [{"oldStart": 12, "oldLines": len(call.old.splitlines()), "newStart": 12,
                                      "newLines": len(call.new.splitlines()), "lines": lines}]}
    elif call.kind == "write":
        text = f"File created successfully at: {call.target}"
        extra = {"type": "create", "filePath": call.target, "content": call.new, "structuredPatch": [], "originalFile": None}
    elif call.kind == "run" and call.status == "ok":
        extra = {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
    elif call.kind == "run" and call.status == "error":
        text = f"Exit code {call.exit_code}\n{text}"
        extra = f"Error: {text}"
    elif call.status == "denied":
        text = ("The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
                "new_string was NOT written to the file).")
        extra, fields = "User rejected tool use", {"toolDenialKind": "user-rejected"}
    elif call.status == "error":
        extra = f"Error: {text}"
    block = {"tool_use_id": id, "type": "tool_result", "content": text}
    if call.status != "ok":
        block["is_error"] = True
    log.add(time, "user", message={"role": "user", "content": [block]}, **({"toolUseResult": extra} if extra else {}), **fields)
    return time, call.tokens


def stream(session, prices):
    """What `claude -p --output-format stream-json --verbose` prints."""
    id = session.id()
    lines = [{"type": "system", "subtype": "init", "cwd": session.cwd, "session_id": id, "model": session.model,
              "tools": sorted(TOOLS.values()), "mcp_servers": [], "permissionMode": "bypassPermissions", "apiKeySource": "ANTHROPIC_API_KEY",
              "claude_code_version": VERSION, "uuid": uuid4(id, "init"), "timestamp": iso(when(session.start))}]
    inner = Log(session)
    end, _ = write_steps(inner, session.steps, Context(session.base, session.model), session.model, when(session.start), {})
    sums, requests, prompted = [0, 0, 0, 0], 0, False
    for record in inner.records:
        if record["type"] == "user" and not prompted:
            prompted = True
            continue
        line = {"type": record["type"], "message": record["message"], "parent_tool_use_id": None, "session_id": id,
                "uuid": record["uuid"], "timestamp": record["timestamp"]}
        if "toolUseResult" in record:
            line["tool_use_result"] = record["toolUseResult"]
        lines.append(line)
        if record["type"] == "assistant":
            usage = record["message"]["usage"]
            requests += 1
            counts = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
            sums = [have + usage[name] for have, name in zip(sums, counts)]
    cost = round(sum(count * rate for count, rate in zip(sums, prices[session.model])) / 1_000_000, 6)
    duration = int((end - when(session.start)).total_seconds() * 1000)
    if session.end == "killed":
        return lines
    failed = session.end == "error"
    lines.append({
        "type": "result", "subtype": "error_max_turns" if failed else "success", "is_error": failed, "duration_ms": duration,
        "duration_api_ms": duration * 4 // 5, "num_turns": requests, "session_id": id, "total_cost_usd": cost,
        **({} if failed else {"result": session.steps[-1].text}),
        "usage": {"input_tokens": sums[0], "cache_creation_input_tokens": sums[3], "cache_read_input_tokens": sums[2],
                  "output_tokens": sums[1], "service_tier": "standard"},
        "modelUsage": {session.model: {"inputTokens": sums[0], "outputTokens": sums[1], "cacheReadInputTokens": sums[2],
                                       "cacheCreationInputTokens": sums[3], "webSearchRequests": 0, "costUSD": cost,
                                       "contextWindow": 200_000}},
        "permission_denials": [], "uuid": uuid4(id, "result")})
    return lines
