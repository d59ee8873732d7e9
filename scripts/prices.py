#!/usr/bin/env python3
"""Regenerates the price catalog from the latest genai-prices and litellm, and prints the changes.

    scripts/prices.py                     fetch both with pip and write the catalog and the table in docs/prices.md
    scripts/prices.py --wheels DIR        the same from wheels that lie in DIR
    scripts/prices.py --check             change nothing, exit with 1 if something would change

Needs Python 3.11 and nothing else. docs/prices.md has the sources. Corrections by hand are in
src/prices/corrections.toml, in the words that `agentlogs prices import` reads.
"""

import argparse
import ast
import datetime
import json
import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CATALOG = ROOT / "src/prices/catalog.jsonl"
CORRECTIONS = ROOT / "src/prices/corrections.toml"
DOCS = ROOT / "docs/prices.md"

RATES = ["input", "output", "cache_read", "cache_write", "cache_write_1h"]

# Who makes models, and who only serves them: a host's price is kept where it differs from the maker's.
GENAI_MAKERS = {
    "anthropic": "anthropic", "openai": "openai", "google": "google", "x-ai": "xai", "deepseek": "deepseek", "mistral": "mistral",
    "moonshotai": "moonshotai", "zai": "zai", "minimax": "minimax", "cohere": "cohere", "meta": "meta", "perplexity": "perplexity",
    "cursor": "cursor", "arcee": "arcee",
}  # fmt: skip
GENAI_HOSTS = {
    "openrouter": "openrouter", "github-copilot": "github-copilot", "groq": "groq", "cerebras": "cerebras",
    "fireworks": "fireworks", "together": "together",
}  # fmt: skip
LITELLM_MAKERS = {
    "anthropic": "anthropic", "openai": "openai", "text-completion-openai": "openai", "gemini": "google", "xai": "xai",
    "deepseek": "deepseek", "mistral": "mistral", "codestral": "mistral", "moonshot": "moonshotai", "zai": "zai",
    "minimax": "minimax", "dashscope": "alibaba", "meta": "meta", "cohere_chat": "cohere", "cohere": "cohere",
    "amazon_nova": "amazon", "xiaomi_mimo": "xiaomi", "tencent": "tencent", "morph": "morph", "inception": "inception",
    "cognition": "cognition", "volcengine": "volcengine", "ai21": "ai21",
}  # fmt: skip
LITELLM_HOSTS = {
    "bedrock": "bedrock", "bedrock_converse": "bedrock", "azure": "azure", "azure_ai": "azure", "groq": "groq",
    "cerebras": "cerebras", "fireworks_ai": "fireworks", "together_ai": "together", "deepinfra": "deepinfra",
    "github_copilot": "github-copilot", "vercel_ai_gateway": "vercel", "opencode_go": "opencode",
}  # fmt: skip
NOT_TEXT = re.compile(
    r"audio|tts|image|realtime|embed|transcri|[-/]live|veo-|imagen|whisper|moderation|video|lyria|nano-banana|robotics|"
    r"translate|rerank|search-preview|deep-research|guard|ocr|[-/]omni"
)
# Where the tables disagree, genai-prices is kept, for it has the history, except:
PREFER_LITELLM = {
    ("deepseek", "deepseek-v3.2"): "genai-prices lists OpenRouter's price for it",
}
REASONS = {
    ("anthropic", "claude-sonnet-4-5"): "litellm lists the premium at Bedrock too; its end is known for 4.6 only",
    ("deepseek", "deepseek-chat"): "neither: corrections.toml has the history",
    ("deepseek", "deepseek-reasoner"): "neither: corrections.toml has the history",
    ("deepseek", "deepseek-flash"): "litellm lists the price of the expensive hours for all of them",
    ("deepseek", "deepseek-v4-flash"): "litellm lists the price of the expensive hours for all of them",
    ("deepseek", "deepseek-v4-pro"): "litellm lists the price of the expensive hours for all of them",
    ("mistral", "mistral-large"): "litellm's name moved on to another version, which has a name of its own",
    ("mistral", "mistral-large-4"): "the newest of a history; litellm has the price before it",
    ("mistral", "mistral-medium-3-1"): "litellm's name moved on to another version, which has a name of its own",
    ("mistral", "mistral-nemo"): "nothing decides between them",
    ("openai", "gpt-5.6-cyber"): "no premium is known from a second source",
    ("xai", "grok-code-fast-1"): "litellm lists the price of grok-build-0.1; the logs are older",
}
REGION = r"(us|eu|apac|jp|au|ca|in|sa|us-gov|global)"
# No list price per million tokens is higher. A table with a higher one uses another unit.
HIGHEST = 700


def fold(name):
    """The spelling under which names are compared: src/prices/spelling.rs does the same."""
    return re.sub(r"[. ]", "-", name.strip().lower())


def undated(name):
    """What the rules of src/prices/names.rs make of a date or `latest` at the end."""
    return re.sub(r"[-@](20\d{6}|20\d\d-\d\d-\d\d|latest|default)$", "", fold(name))


# ---------------------------------------------------------------- reading the sources


def python_literal(node):
    """The providers of genai-prices as plain data, read from its source without running it."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, (ast.List, ast.Tuple)):
        return [python_literal(it) for it in node.elts]
    if isinstance(node, ast.Dict):
        return {python_literal(key): python_literal(value) for key, value in zip(node.keys, node.values)}
    if isinstance(node, ast.Attribute):
        return ast.unparse(node)
    if isinstance(node, ast.Call):
        name, values = ast.unparse(node.func), [python_literal(it) for it in node.args]
        if name == "Decimal":
            return float(values[0])
        if name == "datetime.date":
            return "{:04}-{:02}-{:02}".format(*values)
        if name in ("datetime.time", "time"):
            return "{:02}:{:02}".format(*(values + [0, 0])[:2])
        return {"is": name, **{it.arg: python_literal(it.value) for it in node.keywords}}
    raise ValueError(ast.dump(node))


def read_genai(wheel):
    tree = ast.parse(wheel.read("genai_prices/data.py").decode())
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and node.target.id == "providers":
            return python_literal(node.value)
    raise SystemExit("genai_prices/data.py has no list of providers any more")


def read_litellm(wheel):
    table = json.loads(wheel.read("litellm/model_prices_and_context_window_backup.json"))
    table.pop("sample_spec", None)
    return table


# ---------------------------------------------------------------- genai-prices


def clause_matches(clause, name):
    kind = clause["is"]
    if kind == "ClauseOr":
        return any(clause_matches(it, name) for it in clause["or_"])
    if kind == "ClauseAnd":
        return all(clause_matches(it, name) for it in clause["and_"])
    if kind == "ClauseEquals":
        return name == clause["equals"].lower()
    if kind == "ClauseStartsWith":
        return name.startswith(clause["starts_with"].lower())
    if kind == "ClauseEndsWith":
        return name.endswith(clause["ends_with"].lower())
    if kind == "ClauseContains":
        return clause["contains"].lower() in name
    return re.search(clause["regex"], name) is not None


def clause_names(clause):
    """The names that a clause spells out: what only begins or ends so is no name."""
    if clause["is"] in ("ClauseOr", "ClauseAnd"):
        return [name for it in clause.get("or_") or clause.get("and_") for name in clause_names(it)]
    if clause["is"] == "ClauseEquals":
        return [clause["equals"]]
    if clause["is"] == "ClauseStartsWith":
        name = clause["starts_with"].rstrip("-@")
        return [] if re.search(r"-20\d\d$", name) else [name]
    return []


def genai_rates(prices):
    """Flat rates, the tiers by prompt size, and the price of a thousand searches."""
    flat, tiers = {}, {}
    for rate in RATES:
        price = prices.get(rate + "_mtok")
        if isinstance(price, dict):
            flat[rate] = price["base"]
            for tier in price["tiers"]:
                tiers.setdefault(tier["start"], {})[rate] = tier["price"]
        elif price is not None:
            flat[rate] = price
    period = dict(flat)
    if prices.get("web_searches_kcount") is not None:
        period["web_search"] = prices["web_searches_kcount"]
    long = [{"above": start, **{**flat, **rates}} for start, rates in sorted(tiers.items())]
    if long:
        period["long_context"] = long
    return period


def genai_entry(provider, model):
    prices = model["prices"] if isinstance(model["prices"], list) else [{"prices": model["prices"]}]
    periods = []
    for it in prices:
        period, constraint = genai_rates(it["prices"]), it.get("constraint") or {}
        if "start_date" in constraint:
            period["from"] = constraint["start_date"]
        elif "start_time" in constraint:
            period["hours"] = [[constraint["start_time"], constraint["end_time"]]]
            # Hours that an earlier price was split by end with it: they are those of the newest price.
            if periods and periods[-1].get("hours") and strip(periods[-1], "hours") == strip(period, "hours", periods[-1]):
                periods[-1]["hours"] += period["hours"]
                continue
            starts = [it["from"] for it in periods if "from" in it]
            if starts:
                period["from"] = starts[-1]
        periods.append(period)
    if not periods or "input" not in periods[-1] or "output" not in periods[-1]:
        return None
    names = [model["id"], *clause_names(model["match"])]
    entry = {"provider": provider, "model": model["id"], "aliases": names, "prices": periods}
    standard = newest(entry)
    tiers = {}
    for variant in model.get("price_variants") or []:
        when = variant["when"]
        word = when.get("service_tier") or when.get("speed") or when.get("processing")
        start = (variant.get("constraint") or {}).get("start_date", "")
        if word in ("batch", "flex", "priority", "fast") and start <= TODAY:
            tiers.setdefault(word, share(standard, genai_rates(variant["prices"])))
    if tiers.get("fast") == tiers.get("priority") and "fast" in tiers:
        # OpenAI's other word for it; a speed `fast` is looked up as priority too.
        tiers.pop("fast")
    entry["tiers"] = {word: it for word, it in tiers.items() if it not in (None, 1)}
    return entry


def strip(period, *keys):
    drop = {it for it in keys if isinstance(it, str)} | {"from"}
    return {key: value for key, value in period.items() if key not in drop}


def share(standard, tier):
    """What a service tier costs, as shares of the standard price."""
    shares = {}
    for rate in RATES:
        if standard.get(rate) and tier.get(rate) is not None:
            shares[rate] = round(tier[rate] / standard[rate], 6)
    if not shares.get("input") or not shares.get("output"):
        return None
    # Both lists round to cents or to tenths of them: 0.13 for half of 0.25.
    for rate, value in shares.items():
        exact = shares["input"] * standard[rate]
        if abs(exact - tier[rate]) <= 0.0051 and abs(value / shares["input"] - 1) < 0.05:
            shares[rate] = shares["input"]
    shares.setdefault("cache_read", 1 if standard.get("cache_read") else shares["input"])
    shares.setdefault("cache_write", 1 if standard.get("cache_write") else shares["input"])
    hour = shares.pop("cache_write_1h", None)
    if hour is not None and hour != shares["cache_write"]:
        return None
    long = 1 if standard.get("long_context") and not tier.get("long_context") and shares["input"] > 1 else None
    if len(set(shares.values())) == 1 and long is None:
        return shares["input"]
    return {**shares, **({"long_context": long} if long else {})}


# ---------------------------------------------------------------- litellm


def million(price):
    return None if price is None else float(f"{price * 1e6:.9g}")


def litellm_rates(model, suffix=""):
    keys = {
        "input": "input_cost_per_token", "output": "output_cost_per_token", "cache_read": "cache_read_input_token_cost",
        "cache_write": "cache_creation_input_token_cost", "cache_write_1h": "cache_creation_input_token_cost_above_1hr",
    }  # fmt: skip
    rates = {rate: million(model.get(key + suffix)) for rate, key in keys.items()}
    # A free write means that writes are billed as input, as they are where none is listed.
    return {rate: price for rate, price in rates.items() if price or (price == 0 and rate in ("input", "output"))}


def litellm_entry(provider, name, model):
    if model.get("mode") not in ("chat", "responses", "completion"):
        return None
    tiered = model.get("tiered_pricing")
    if tiered and not model.get("input_cost_per_token"):
        steps = sorted((it for it in tiered if "range" in it), key=lambda it: it["range"][0])
        if not steps:
            return None
        period = litellm_rates(steps[0])
        period["long_context"] = [{"above": int(it["range"][0]), **litellm_rates(it)} for it in steps[1:]]
        if not period["long_context"]:
            del period["long_context"]
    else:
        period = litellm_rates(model)
        long = []
        sizes = {int(it[1]) for key in model if (it := re.fullmatch(r"input_cost_per_token_above_(\d+)k_tokens", key))}
        for size in sorted(sizes):
            rates = {rate: price for rate, price in litellm_rates(model, f"_above_{size}k_tokens").items() if rate in period}
            long.append({"above": size * 1000 - (provider == "xai"), **{it: period[it] for it in RATES if it in period}, **rates})
        if long:
            period["long_context"] = long
    if not period.get("input") or not period.get("output") or max(period["input"], period["output"]) > HIGHEST:
        return None
    search = (model.get("search_context_cost_per_query") or {}).get("search_context_size_medium")
    if search:
        period["web_search"] = round(search * 1000, 6)
    tiers = {}
    for word, suffix in (("batch", "_batches"), ("flex", "_flex"), ("priority", "_priority")):
        tier = litellm_rates(model, suffix)
        if tier.get("input") and tier.get("output"):
            if any(re.fullmatch(rf"input_cost_per_token_above_\d+k_tokens{suffix}", key) for key in model):
                tier["long_context"] = True
            it = share(period, tier)
            if it not in (None, 1):
                tiers[word] = it
    extra, regions = model.get("provider_specific_entry") or {}, {}
    if extra.get("fast"):
        tiers["fast"] = float(extra["fast"])
    if extra.get("us"):
        regions["us"] = extra["us"]
    for region in ("us", "eu"):
        uplift = model.get(f"regional_processing_uplift_multiplier_{region}")
        if uplift:
            regions[region] = uplift
    return {"provider": provider, "model": name, "aliases": [name], "prices": [period], "tiers": tiers, "regions": regions}


def litellm_names(provider, key):
    """The name without litellm's own path, its region, and Bedrock's decoration."""
    name, region = key, None
    if provider == "bedrock":
        name = re.sub(r"^bedrock/", "", name)
        if "/" in name:
            return None, None
        if it := re.match(REGION + r"\.(?=[a-z0-9]+\.)", name):
            region, name = it[1], name[it.end():]
        if not re.match(r"[a-z0-9]+\.", name):
            return None, None
        name = re.sub(r"^(anthropic|amazon|meta|mistral|deepseek|openai|qwen|moonshotai|moonshot|minimax|zai|google|nvidia|cohere|ai21|writer|xai)\.", "", name)
        name = re.sub(r"-v\d+(:\d+)*$|:\d+$", "", name)
        return undated(name) if name.startswith("claude") else name, region
    if provider == "azure":
        name = re.sub(r"^(azure|azure_ai)/", "", name)
        if it := re.match(r"(us|eu|global|global-standard)/", name):
            region, name = it[1].split("-")[0], name[it.end():]
        return (None, None) if "/" in name else (name, region)
    if provider in ("openrouter", "vercel", "fireworks", "together", "deepinfra", "groq"):
        return name.split("/", 1)[1] if name.startswith(tuple(f"{it}/" for it in LITELLM_HOSTS)) else name, None
    return name.rsplit("/", 1)[-1], None


# ---------------------------------------------------------------- putting them together


class Book:
    def __init__(self):
        self.entries, self.names, self.disagreements = [], {}, []

    def add(self, entry):
        self.entries.append(entry)
        for name in entry["aliases"]:
            self.names.setdefault((entry["provider"], fold(name)), entry)

    def get(self, provider, name):
        return self.names.get((provider, fold(name)))

    def find(self, provider, name):
        return self.get(provider, name) or self.get(provider, undated(name))

    def alias(self, entry, name):
        if (entry["provider"], fold(name)) not in self.names:
            entry["aliases"].append(name)
            self.names[entry["provider"], fold(name)] = entry


def newest(entry):
    """The price of today; the script's own notion of what a source without a history is compared with."""
    periods = [it for it in entry["prices"] if it.get("from", "") <= TODAY and not it.get("hours")]
    return periods[-1]


def differences(a, b):
    """Kinds of token for which two prices that both are known differ by more than rounding."""
    kinds = [it for it in RATES if a.get(it) is not None and b.get(it) is not None and abs(a[it] - b[it]) > 0.005 * max(a[it], b[it])]
    steps = [[(it["above"], it["input"], it["output"]) for it in x.get("long_context", [])] for x in (a, b)]
    return kinds + (["long_context"] if steps[0] != steps[1] else [])


def collect(genai, litellm):
    book = Book()
    clauses = []
    for provider in genai:
        if provider["id"] not in GENAI_MAKERS:
            continue
        for model in provider["models"]:
            if NOT_TEXT.search(model["id"]) or (provider["id"] == "google" and "claude" in model["id"]):
                continue
            entry = genai_entry(GENAI_MAKERS[provider["id"]], model)
            if entry and entry["prices"][-1]["input"] and not model["id"].startswith("ft:"):
                book.add(entry)
                clauses.append((entry, model["match"]))
    from_genai = {id(it) for it in book.entries}
    for key, model in litellm.items():
        provider = LITELLM_MAKERS.get(model.get("litellm_provider"))
        if not provider or NOT_TEXT.search(key) or key.startswith("ft:"):
            continue
        name, _ = litellm_names(provider, key)
        entry = litellm_entry(provider, name, model)
        if not entry:
            continue
        known = book.find(provider, name)
        stated = known is not None
        if not known:
            known = next((it for it, match in clauses if it["provider"] == provider and clause_matches(match, name.lower())), None)
        if known:
            theirs, ours = entry["prices"][0], newest(known)
            if id(known) not in from_genai:
                if differences(ours, theirs) and fold(name) != fold(known["model"]):
                    book.add(entry)
                continue
            differ = differences(ours, theirs)
            # Mistral's `latest` moves on to other models, at other prices.
            if not stated or (provider == "mistral" and not book.get(provider, name)):
                if differ:
                    book.add(entry)
                else:
                    book.alias(known, name)
                continue
            if differ:
                if not any(it[0] is known for it in book.disagreements):
                    book.disagreements.append((known, dict(ours), theirs, differ))
                if (provider, known["model"]) in PREFER_LITELLM:
                    ours.update({it: theirs[it] for it in differ})
            for rate in [*RATES[2:], "web_search"]:
                if ours.get(rate) is None and theirs.get(rate) is not None:
                    ours[rate] = theirs[rate]
                    for mine, other in zip(ours.get("long_context", []), theirs.get("long_context", [])):
                        if rate in other:
                            mine.setdefault(rate, other[rate])
            for word, it in entry["tiers"].items():
                known["tiers"].setdefault(word, it)
            known.setdefault("regions", {}).update(entry["regions"])
            book.alias(known, name)
        else:
            book.add(entry)
    hosts(book, genai, litellm)
    return book


def hosts(book, genai, litellm):
    makers = {}
    for (provider, name), entry in book.names.items():
        makers.setdefault(name, entry)

    def maker(name):
        core = name.rsplit("/", 1)[-1]
        return makers.get(fold(core)) or makers.get(undated(core))

    def offer(entry):
        if NOT_TEXT.search(entry["model"]):
            return
        own = maker(entry["model"])
        if own and not differences(newest(own), newest(entry)):
            if not entry.get("regions"):
                return
            # Only the regions are its own: the history is the maker's.
            entry["prices"] = json.loads(json.dumps(own["prices"]))
            entry["tiers"] = {**own["tiers"], **entry["tiers"]}
        if not book.find(entry["provider"], entry["model"]):
            book.add(entry)

    for provider in genai:
        if provider["id"] in GENAI_HOSTS:
            for model in provider["models"]:
                entry = genai_entry(GENAI_HOSTS[provider["id"]], model)
                free = model["id"].endswith(":free")
                if entry and (newest(entry)["input"] or free):
                    entry["aliases"] = [it for it in entry["aliases"] if ("/" in it) == ("/" in model["id"])]
                    offer(entry)
    regional = {}
    for key, model in litellm.items():
        provider = LITELLM_HOSTS.get(model.get("litellm_provider"))
        if not provider:
            continue
        name, region = litellm_names(provider, key)
        entry = name and litellm_entry(provider, name, model)
        if entry:
            by_region = regional.setdefault((provider, name), {})
            own = maker(name)
            # Of several versions of one name, that with the maker's price.
            if region not in by_region or (own and differences(newest(own), by_region[region]["prices"][0])):
                by_region[region] = entry
    for (provider, name), by_region in regional.items():
        base = by_region.get("global") or by_region.get(None) or next(iter(by_region.values()))
        for region, entry in by_region.items():
            ratios = {round(entry["prices"][0][it] / base["prices"][0][it], 3) for it in ("input", "output")}
            if region and len(ratios) == 1 and ratios != {1.0}:
                base.setdefault("regions", {})[region] = ratios.pop()
        offer(base)


CLAUDE = re.compile(r"^claude-(opus|sonnet|haiku|fable|mythos)-(\d+(?:-\d{1,2})?)$")


def other_orders(book):
    """Logs contain Claude's names in both orders: claude-4-5-sonnet, claude-sonnet-4-5; 4 is also 4-0."""
    for entry in [it for it in book.entries if it["provider"] == "anthropic"]:
        for name in list(entry["aliases"]):
            if it := CLAUDE.match(undated(name)):
                version = re.sub(r"-0$", "", it[2])
                for other in (f"claude-{version}-{it[1]}", f"claude-{it[1]}-{version}"):
                    book.alias(entry, other)


def correct(book, corrections):
    for it in corrections.get("models", []):
        known = book.get(it["provider"], it["model"])
        if known is None:
            known = {"provider": it["provider"], "model": it["model"], "aliases": [it["model"]], "prices": [], "tiers": {}}
            book.add(known)
        for name in it.get("aliases", []):
            book.alias(known, name)
        if "prices" in it:
            known["prices"] = [{key: str(value) if key in ("from", "until") else value for key, value in period.items()} for period in it["prices"]]
        known.setdefault("tiers", {}).update(it.get("tiers", {}))
        known.setdefault("regions", {}).update(it.get("regions", {}))


# ---------------------------------------------------------------- writing


def clean(entry):
    """The entry as it is written: no name that a rule finds anyway, no empty parts, keys in one order."""
    names = {}
    for name in entry["aliases"]:
        names.setdefault(fold(name), name.lower())
    own = fold(entry["model"])
    kept = sorted(name for key, name in names.items() if key != own and (undated(name) == key or undated(name) not in names))
    periods = []
    for period in entry["prices"]:
        it = {key: period[key] for key in ("from", "until", "hours", *RATES, "web_search") if period.get(key) is not None}
        if period.get("long_context"):
            it["long_context"] = [{key: step[key] for key in ("above", *RATES) if step.get(key) is not None} for step in period["long_context"]]
        periods.append({key: whole(value) for key, value in it.items()})
    written = {"provider": entry["provider"], "model": entry["model"].lower()}
    if kept:
        written["aliases"] = kept
    written["prices"] = periods
    for key in ("tiers", "regions"):
        if entry.get(key):
            written[key] = {word: whole(it) for word, it in sorted(entry[key].items())}
    return written


def whole(value):
    if isinstance(value, float) and value == int(value):
        return int(value)
    if isinstance(value, dict):
        return {key: whole(it) for key, it in value.items()}
    if isinstance(value, list):
        return [whole(it) for it in value]
    return value


def lines(entries):
    return [json.dumps(it, separators=(",", ":")) for it in sorted(entries, key=lambda it: (it["provider"], it["model"]))]


def price_words(period):
    words = [f"{it} {period[it]:g}" for it in RATES if period.get(it) is not None]
    words += [f"above {it['above'] // 1000 if it['above'] % 1000 == 0 else it['above'] / 1000:g}k {it['input']:g}/{it['output']:g}" for it in period.get("long_context", [])]
    return ", ".join(words)


def disagreement_table(book):
    rows = ["| provider | model | genai-prices | litellm | kept | why |", "| --- | --- | --- | --- | --- | --- |"]
    for entry, ours, theirs, differ in sorted(book.disagreements, key=lambda it: (it[0]["provider"], it[0]["model"])):
        kinds = [it for it in differ if it != "long_context"]
        def words(period):
            some = {key: period.get(key) for key in kinds}
            if "long_context" in differ:
                some["long_context"] = period.get("long_context", [])
            return price_words(some) or "no tier"

        key = (entry["provider"], entry["model"])
        reason = PREFER_LITELLM.get(key)
        kept, why = ("litellm", reason) if reason else ("genai-prices", REASONS.get(key, "it has the history"))
        kept = "correction" if why.startswith("neither") else kept
        rows.append(f"| {entry['provider']} | {entry['model'].lower()} | {words(ours)} | {words(theirs)} | {kept} | {why} |")
    return rows


def changes(old, new):
    index = lambda entries: {(it["provider"], it["model"]): it for it in entries}
    before, after = index(old), index(new)
    for key in sorted(before.keys() | after.keys()):
        name = "/".join(key)
        if key not in before:
            yield f"+ {name}: {price_words(after[key]['prices'][-1])}"
        elif key not in after:
            yield f"- {name}: {price_words(before[key]['prices'][-1])}"
        elif before[key] != after[key]:
            yield f"~ {name}: {json.dumps(before[key])} -> {json.dumps(after[key])}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheels", type=Path, help="folder with both wheels, instead of pip")
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wheels = options.wheels or Path(folder)
        if not options.wheels:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", folder]
            subprocess.run([*pip, "genai-prices", "litellm"], check=True)
        newest_wheel = lambda name: max(wheels.glob(f"{name}-*.whl"), key=lambda it: [int(number) for number in re.findall(r"\d+", it.name.split("-")[1])])
        paths = {"genai-prices": newest_wheel("genai_prices"), "litellm": newest_wheel("litellm")}
        genai = read_genai(zipfile.ZipFile(paths["genai-prices"]))
        litellm = read_litellm(zipfile.ZipFile(paths["litellm"]))
    book = collect(genai, litellm)
    other_orders(book)
    correct(book, tomllib.loads(CORRECTIONS.read_text()))
    entries = [clean(it) for it in book.entries]
    old_head, old = {}, []
    if CATALOG.exists():
        old_head, *old = [json.loads(it) for it in CATALOG.read_text().splitlines()]
    changed_lines = list(changes(old, entries))
    print("\n".join(changed_lines) if changed_lines else "no price changed")
    print(f"{len(entries)} models, {len(book.disagreements)} on which the sources disagree, {len(changed_lines)} changed")
    versions = {name: path.name.split("-")[1] for name, path in paths.items()}
    if options.check:
        return 1 if changed_lines else 0
    # The date is that of the prices: it stays as it is when nothing changed.
    date = TODAY if changed_lines or not old_head else old_head["date"]
    CATALOG.write_text("\n".join([json.dumps({"date": date, "sources": versions}, separators=(",", ":")), *lines(entries)]) + "\n")
    if DOCS.exists():
        begin, end = "<!-- disagreements: written by scripts/prices.py -->", "<!-- end of disagreements -->"
        text = DOCS.read_text()
        head, rest = text.split(begin, 1)
        _, tail = rest.split(end, 1)
        DOCS.write_text(head + begin + "\n\n" + "\n".join(disagreement_table(book)) + "\n\n" + end + tail)
    return 0


TODAY = datetime.datetime.now(datetime.timezone.utc).date().isoformat()

if __name__ == "__main__":
    sys.exit(main())
