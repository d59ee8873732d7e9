"""What a session of the demo is, whichever runtime writes it: steps with calls, and the tokens that a provider would bill.

The tokens follow the rules of prompt caches: a request reads what the one before it wrote, unless the cache expired."""
import hashlib
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

MODELS_OF_OPENAI = ("gpt-",)


@dataclass
class Call:
    """A call of a tool. `tokens` is what its result adds to the context."""
    kind: str
    target: str
    result: str = ""
    tokens: int = 600
    seconds: float = 0.4
    status: str = "ok"
    exit_code: int = 0
    old: str = ""
    new: str = ""
    agent: "Agent | None" = None


@dataclass
class Agent:
    """A subagent: its type, model, prompt and steps."""
    type: str
    model: str
    prompt: str
    steps: list
    base: int = 14_000


@dataclass
class Step:
    """A response, and before it a prompt of the user or the results of the step before.

    `wait` is the time until the prompt. `compacts`: before it the context is compacted. `retries`: requests that failed before it.
    """
    text: str = ""
    calls: list = field(default_factory=list)
    output: int = 300
    prompt: str = ""
    wait: float = 0
    compacts: bool = False
    retries: int = 0
    reached_limit: bool = False


@dataclass
class Session:
    """A session: where and when it ran, and its steps."""
    name: str
    start: str
    model: str
    cwd: str
    branch: str
    steps: list
    base: int = 32_000
    end: str = "success"
    limits: list = field(default_factory=list)
    keeps_cache_for: int = 300
    effort: str = "high"

    def id(self):
        """A UUID of version 7 for the start, with bits of the name."""
        return uuid7(self.start, self.name)


# Lines of files by their language; {0} and {1} become words.
LINES = {
    "ts": ["import {{ {0} }} from './{1}'", "", "export async function {0}(request: Request): Promise<Response> {{",
           "  const {1} = await load(request.params.{1})", "  if (!{1}) throw new NotFound('{1}')", "  return json({{ {1} }})", "}}"],
    "rs": ["use crate::{1}::{{{0}, Error}};", "", "impl {1}::Store {{", "    pub async fn {0}(&self, id: Id) -> Result<{1}::Row, Error> {{",
           "        let row = self.db.fetch_one(id).await?;", "        Ok(row.try_into()?)", "    }}", "}}"],
    "py": ["from reports import {0}, {1}", "", "def {0}(rows: pl.DataFrame) -> pl.DataFrame:", "    kept = rows.filter(pl.col('{1}').is_not_null())",
           "    return kept.group_by('{1}').agg(pl.len())"],
    "md": ["# {0}", "", "The {0} page shows the {1} of a customer. It is loaded on demand, and cached for a minute."]}


def source(path):
    """The beginning of a file, as far as the demo invents it."""
    extension = path.rsplit(".", 1)[-1]
    words = [word for word in path.replace(".", "/").replace("-", "_").split("/") if word]
    lines = LINES.get(extension, LINES["ts" if extension == "tsx" else "md"])
    return "\n".join(f"{number:6}\t{line.format(words[-2], words[-3 if len(words) > 2 else 0])}" for number, line in enumerate(lines, 1))


def read(path, tokens=2_400):
    return Call("read", path, source(path), tokens, 0.1)


def run(command, result, seconds=4.0, exit_code=0, tokens=900):
    return Call("run", command, result, tokens, seconds, "error" if exit_code else "ok", exit_code)


def denied(command):
    return Call("run", command, "", 120, 3.0, "denied")


def edit(path, old, new):
    return Call("edit", path, "", 350, 0.2, old=old, new=new)


def failed_edit(path, old, new):
    return Call("edit", path, "String to replace not found in file.", 180, 0.1, "error", old=old, new=new)


def write(path, text):
    return Call("write", path, "", 250, 0.2, new=text)


def grep(pattern, result, tokens=700):
    return Call("grep", pattern, result, tokens, 0.3)


def fetch(url, tokens=3_800):
    return Call("fetch", url, "The page explains rounding of currencies with the number of their minor units.", tokens, 2.6)


def mcp(server, tool, result, tokens=1_500, status="ok"):
    return Call("mcp", f"{server}/{tool}", result, tokens, 1.8, status)


def agent(type, model, prompt, steps):
    return Call("agent", type, steps[-1].text, 900, 0, agent=Agent(type, model, prompt, steps))


class Context:
    """The context of an agent, and what of it the provider has in its cache."""

    def __init__(self, base, model, keeps_cache_for=300):
        self.size, self.cached, self.last = base, 0, None
        self.is_openai = model.startswith(MODELS_OF_OPENAI)
        self.keeps_cache_for = keeps_cache_for

    def request(self, now, added):
        """The prompt of a request: uncached input, cache reads and cache writes."""
        self.size += added
        expired = self.last is not None and (now - self.last).total_seconds() > self.keeps_cache_for
        read = 0 if expired else self.cached
        if self.is_openai:
            read -= read % 128
            self.cached = self.size
            return self.size - read, read, 0
        fresh = 4 + self.size % 11
        self.cached = self.size - fresh
        return fresh, read, self.cached - read

    def answer(self, now, output):
        self.size += output
        self.last = now

    def compact(self, size):
        self.size, self.cached = size, 0


def when(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def iso(time):
    return time.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.") + f"{time.microsecond // 1000:03d}Z"


def milliseconds(time):
    return int(time.timestamp() * 1000)


def seconds(count):
    return timedelta(seconds=count)


def latency(output):
    """How long a response takes."""
    return 1.6 + output / 75


def digest(*parts):
    return hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()


def token(prefix, length, *parts):
    """An id as providers make them: a prefix, then letters and digits."""
    letters = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    number, text = int(digest(prefix, *parts), 16), ""
    while len(text) < length:
        number, rest = divmod(number, len(letters))
        text += letters[rest]
    return prefix + text


def uuid4(*parts):
    return str(uuid.UUID(digest(*parts)[:32], version=4))


def uuid7(start, *parts):
    head = f"{milliseconds(when(start)):012x}"
    rest = digest(*parts)
    return f"{head[:8]}-{head[8:]}-7{rest[:3]}-a{rest[3:6]}-{rest[6:18]}"


def patch_lines(old, new):
    return [f"-{line}" for line in old.splitlines()] + [f"+{line}" for line in new.splitlines()]
