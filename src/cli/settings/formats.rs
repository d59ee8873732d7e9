//! Formats that the user describes: the `[[format]]` entries of a configuration file (docs/configuration.md#formats-of-your-own).

use std::collections::BTreeMap;

use agentlogs::adapters::described::{Calls, Description, Facts, IdScope, Results, SessionFrom, TokenPaths};
use agentlogs::adapters::shared::tools::is_category;
use agentlogs::adapters::{ADAPTERS, UserFormat};
use agentlogs::model::session::Capabilities;
use serde::Deserialize;

/// One `[[format]]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    id: String,
    runtime: String,
    #[serde(default)]
    about: String,
    #[serde(default)]
    has: Vec<String>,
    #[serde(default)]
    equals: BTreeMap<String, String>,
    #[serde(default)]
    records: String,
    #[serde(default)]
    session: String,
    #[serde(default)]
    session_from: SessionFrom,
    #[serde(default)]
    facts: FactsEntry,
    #[serde(default)]
    role: String,
    #[serde(default)]
    responses: Vec<String>,
    #[serde(default)]
    prompts: Vec<String>,
    #[serde(default)]
    message_id: String,
    #[serde(default)]
    message_id_is_global: bool,
    #[serde(default)]
    model: String,
    #[serde(default)]
    provider: String,
    #[serde(default)]
    time: String,
    #[serde(default)]
    duration_ms: String,
    #[serde(default)]
    duration_s: String,
    #[serde(default)]
    stop_reason: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    tokens: TokensEntry,
    input_includes_cache: Option<bool>,
    output_excludes_reasoning: Option<bool>,
    #[serde(default)]
    cost: String,
    #[serde(default)]
    totals: TokensEntry,
    #[serde(default)]
    total_cost: String,
    #[serde(default)]
    categories: BTreeMap<String, String>,
    calls: Option<CallsEntry>,
    results: Option<ResultsEntry>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct FactsEntry {
    model: String,
    cwd: String,
    version: String,
    entrypoint: String,
    git_branch: String,
    parent_session: String,
    started_at: String,
    ended_at: String,
    exit_code: String,
    status: String,
    success: Vec<String>,
    error: Vec<String>,
    aborted: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct TokensEntry {
    input: String,
    output: String,
    cache_read: String,
    cache_write: String,
    reasoning: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallsEntry {
    list: String,
    #[serde(default)]
    only: BTreeMap<String, String>,
    id: String,
    name: String,
    #[serde(default)]
    arguments: String,
    #[serde(default)]
    ends: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ResultsEntry {
    roles: Vec<String>,
    list: String,
    only: BTreeMap<String, String>,
    call: String,
    content: String,
    name: String,
    error: String,
    at_end: bool,
}

/// Why an entry is invalid: the key, and the problem.
pub type Problem = (&'static str, String);

impl Entry {
    /// The format that the entry describes. Its texts live as long as the process.
    ///
    /// # Errors
    /// The key that is invalid, and why.
    pub fn format(&self) -> Result<UserFormat, Problem> {
        self.check()?;
        let description = Description {
            has: kept_list(&self.has),
            equals: kept_pairs(&self.equals),
            records: kept(&self.records),
            session: kept(&self.session),
            session_from: self.session_from,
            facts: self.facts.kept(),
            own_facts: None,
            role: kept(&self.role),
            responses: kept_list(&self.responses),
            prompts: kept_list(&self.prompts),
            typed: None,
            message_id: kept(&self.message_id),
            message_id_scope: if self.message_id_is_global { IdScope::Provider } else { IdScope::Session },
            model: kept(&self.model),
            provider: kept(&self.provider),
            time: kept(&self.time),
            duration_ms: kept(&self.duration_ms),
            duration_s: kept(&self.duration_s),
            stop_reason: kept(&self.stop_reason),
            text: kept(&self.text),
            tokens: self.tokens.kept(),
            input_includes_cache: self.input_includes_cache.unwrap_or(false),
            output_excludes_reasoning: self.output_excludes_reasoning.unwrap_or(false),
            cost: kept(&self.cost),
            totals: self.totals.kept(),
            total_cost: kept(&self.total_cost),
            is_subagent: false,
            migrated: None,
            compaction: None,
            lacks: Capabilities::NOTHING,
            categories: kept_pairs(&self.categories),
            calls: self.calls.as_ref().map(|calls| Calls {
                list: kept(&calls.list),
                only: kept_pairs(&calls.only).first().copied(),
                id: kept(&calls.id),
                name: kept(&calls.name),
                arguments: kept(&calls.arguments),
                arguments_form: None,
                own_arguments: None,
                ends: kept_list(&calls.ends),
            }),
            results: self.results.as_ref().map(|results| Results {
                roles: kept_list(&results.roles),
                list: kept(&results.list),
                only: kept_pairs(&results.only).first().copied(),
                call: kept(&results.call),
                content: kept(&results.content),
                name: kept(&results.name),
                error: kept(&results.error),
                outcome: None,
                at_end: results.at_end,
            }),
        };
        let about = if self.about.is_empty() { "described in agentlogs.toml" } else { &self.about };
        Ok(UserFormat::new(kept(&self.id), kept(&self.runtime), kept(about), description))
    }

    fn check(&self) -> Result<(), Problem> {
        let is_word = |text: &str| {
            let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
            !text.is_empty() && text.len() <= 40 && text.bytes().all(is_allowed)
        };
        for (key, text) in [("id", &self.id), ("runtime", &self.runtime)] {
            if !is_word(text) {
                return Err((key, format!("{text:?} is not a name: use lower-case letters, digits and `-`")));
            }
        }
        if ADAPTERS.iter().any(|adapter| adapter.id == self.id) {
            return Err(("id", format!("{:?} is a format of agentlogs; use another name", self.id)));
        }
        if self.has.is_empty() && self.equals.is_empty() {
            return Err((
                "has",
                "nothing distinguishes the records of the format from others: set `has` or `equals`".to_owned(),
            ));
        }
        let (tokens, totals) = (&self.tokens, &self.totals);
        let is_any_set = |paths: &[&String]| paths.iter().any(|path| !path.is_empty());
        let has_usage = is_any_set(&[&tokens.input, &tokens.output, &self.cost])
            || is_any_set(&[&totals.input, &totals.output, &self.total_cost]);
        if !has_usage && self.calls.is_none() && self.prompts.is_empty() {
            return Err((
                "tokens",
                "it reads nothing: set `tokens`, `cost`, `totals`, `total_cost`, `calls` or `prompts`".to_owned(),
            ));
        }
        let has_cache = is_any_set(&[&tokens.cache_read, &tokens.cache_write, &totals.cache_read, &totals.cache_write]);
        if has_cache && self.input_includes_cache.is_none() {
            let problem = "required with `cache_read` or `cache_write`: whether `input` includes them";
            return Err(("input_includes_cache", problem.to_owned()));
        }
        if is_any_set(&[&tokens.reasoning, &totals.reasoning]) && self.output_excludes_reasoning.is_none() {
            let problem = "required with `reasoning`: whether `output` excludes it";
            return Err(("output_excludes_reasoning", problem.to_owned()));
        }
        if self.session.is_empty() && matches!(self.session_from, SessionFrom::Hash) {
            let problem =
                "required with `session_from = \"hash\"`: the path to a value that all records of a session share";
            return Err(("session", problem.to_owned()));
        }
        if self.message_id.is_empty() && self.message_id_is_global {
            return Err(("message_id", "required with `message_id_is_global`".to_owned()));
        }
        if self.role.is_empty() && !(self.responses.is_empty() && self.prompts.is_empty()) {
            return Err((
                "role",
                "required with `responses` or `prompts`: the path to the author of a record".to_owned(),
            ));
        }
        if !self.role.is_empty() && self.responses.is_empty() {
            return Err(("responses", "required with `role`: its values for responses of the model".to_owned()));
        }
        let only = self.calls.iter().map(|calls| &calls.only).chain(self.results.iter().map(|results| &results.only));
        if only.into_iter().any(|only| only.len() > 1) {
            return Err(("only", "it has one path and one text".to_owned()));
        }
        if let Some(category) = self.categories.values().find(|category| !is_category(category)) {
            return Err(("categories", format!("{category:?} is not a category; docs/configuration.md lists them")));
        }
        if let Some(results) = &self.results {
            if results.call.is_empty() {
                return Err(("call", "required in `results`: the path to the id of the call".to_owned()));
            }
            if results.roles.is_empty() && results.list.is_empty() {
                return Err(("results", "set `roles` or `list`".to_owned()));
            }
            if results.at_end && results.list.is_empty() {
                return Err(("results", "`at_end` is the end of a `list`, which is not set".to_owned()));
            }
        }
        self.check_paths()
    }

    fn check_paths(&self) -> Result<(), Problem> {
        let of_line: Vec<(&'static str, &str)> = vec![
            ("session", &self.session),
            ("model", &self.facts.model),
            ("cwd", &self.facts.cwd),
            ("version", &self.facts.version),
            ("entrypoint", &self.facts.entrypoint),
            ("git_branch", &self.facts.git_branch),
            ("parent_session", &self.facts.parent_session),
            ("started_at", &self.facts.started_at),
            ("ended_at", &self.facts.ended_at),
            ("exit_code", &self.facts.exit_code),
            ("status", &self.facts.status),
            ("total_cost", &self.total_cost),
        ];
        let of_record: Vec<(&'static str, &str)> = vec![
            ("role", &self.role),
            ("message_id", &self.message_id),
            ("model", &self.model),
            ("provider", &self.provider),
            ("time", &self.time),
            ("duration_ms", &self.duration_ms),
            ("duration_s", &self.duration_s),
            ("stop_reason", &self.stop_reason),
            ("cost", &self.cost),
        ];
        let of_line = of_line.into_iter().chain(self.totals.paths());
        let of_record = of_record.into_iter().chain(self.tokens.paths());
        let mut of_element: Vec<(&'static str, &str)> = Vec::new();
        let mut lists: Vec<(&'static str, &str)> = vec![("text", &self.text)];
        if let Some(calls) = &self.calls {
            lists.push(("calls", &calls.list));
            let paths = [&calls.id, &calls.name, &calls.arguments];
            of_element.extend(paths.into_iter().chain(calls.only.keys()).map(|path| ("calls", path.as_str())));
        }
        if let Some(results) = &self.results {
            lists.push(("results", &results.list));
            let paths = [&results.call, &results.content, &results.name, &results.error];
            of_element.extend(paths.into_iter().chain(results.only.keys()).map(|path| ("results", path.as_str())));
        }
        let conditions = self.has.iter().map(|path| ("has", path.as_str()));
        let conditions = conditions.chain(self.equals.keys().map(|path| ("equals", path.as_str())));
        let without_document = of_line.chain(of_element).chain(conditions).map(|it| (it, Found::One));
        for ((key, path), found) in without_document.chain([(("records", self.records.as_str()), Found::List)]) {
            if path.split('|').any(|path| path.starts_with('^')) {
                return Err((key, format!("{path:?}: the path is one in the line or document, without `^.`")));
            }
            check_path(key, path, found)?;
        }
        let of_record = of_record.map(|it| (it, Found::One));
        for ((key, path), found) in of_record.chain(lists.into_iter().map(|it| (it, Found::List))) {
            if path.split('|').any(|path| path.starts_with("^.")) && self.records.is_empty() {
                return Err((key, format!("{path:?}: `^.` is the document around `records`, which is not set")));
            }
            check_path(key, path, found)?;
        }
        Ok(())
    }
}

/// How many values of a path are used.
#[derive(Clone, Copy, PartialEq)]
enum Found {
    One,
    List,
}

/// Whether a path is empty, or alternatives of keys with dots between them.
fn check_path(key: &'static str, path: &str, found: Found) -> Result<(), Problem> {
    let is_part = |part: &str| {
        let is_pair = part.split_once('=').is_none_or(|(key, text)| !key.is_empty() && !text.is_empty());
        !part.is_empty() && !part.contains(['[', ']', '^']) && is_pair
    };
    let is_path = |path: &str| path.strip_prefix("^.").unwrap_or(path).split('.').all(is_part);
    if !path.is_empty() && !path.split('|').all(is_path) {
        let problem =
            "is not a path: keys with dots between them, such as \"usage.input\", \"choices.0.message\" or \"a|b\"";
        return Err((key, format!("{path:?} {problem}")));
    }
    if found == Found::One && path.split(['|', '.']).any(|part| part == "*") {
        return Err((key, format!("{path:?}: `*` finds a list, and one value is required")));
    }
    Ok(())
}

impl TokensEntry {
    fn kept(&self) -> TokenPaths {
        let [input, output, cache_read, cache_write, reasoning] = self.paths().map(|(_, path)| kept(path));
        TokenPaths { input, output, cache_read, cache_write, reasoning }
    }

    fn paths(&self) -> [(&'static str, &str); 5] {
        [
            ("input", &self.input),
            ("output", &self.output),
            ("cache_read", &self.cache_read),
            ("cache_write", &self.cache_write),
            ("reasoning", &self.reasoning),
        ]
    }
}

impl FactsEntry {
    fn kept(&self) -> Facts {
        Facts {
            model: kept(&self.model),
            cwd: kept(&self.cwd),
            version: kept(&self.version),
            entrypoint: kept(&self.entrypoint),
            git_branch: kept(&self.git_branch),
            parent_session: kept(&self.parent_session),
            agent: "",
            started_at: kept(&self.started_at),
            ended_at: kept(&self.ended_at),
            exit_code: kept(&self.exit_code),
            status: kept(&self.status),
            success: kept_list(&self.success),
            error: kept_list(&self.error),
            aborted: kept_list(&self.aborted),
        }
    }
}

/// A text that lives as long as the process, as the settings do.
fn kept(text: &str) -> &'static str {
    if text.is_empty() { "" } else { Box::leak(text.to_owned().into_boxed_str()) }
}

fn kept_list(texts: &[String]) -> &'static [&'static str] {
    Box::leak(texts.iter().map(|text| kept(text)).collect::<Vec<_>>().into_boxed_slice())
}

fn kept_pairs(pairs: &BTreeMap<String, String>) -> &'static [(&'static str, &'static str)] {
    Box::leak(pairs.iter().map(|(key, value)| (kept(key), kept(value))).collect::<Vec<_>>().into_boxed_slice())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(more: &str) -> Option<&'static str> {
        let entry: Entry = toml::from_str(&format!("runtime = \"acme\"\n{more}")).unwrap();
        entry.format().err().map(|(key, _)| key)
    }

    #[test]
    fn an_entry_is_checked() {
        let complete = "id = \"acme-log\"\nhas = [\"usage\"]\ntokens = { input = \"usage.in\" }\n";
        assert_eq!(problem(complete), None);
        let cases = [
            ("id = \"Acme\"", "id"),
            ("id = \"codex-rollout\"", "id"),
            ("id = \"a\"\ncost = \"c\"", "has"),
            ("id = \"a\"\nhas = [\"x\"]", "tokens"),
            ("id = \"a\"\nhas = [\"x\"]\ntokens = { input = \"i\", cache_read = \"r\" }", "input_includes_cache"),
            ("id = \"a\"\nhas = [\"x\"]\ntokens = { output = \"o\", reasoning = \"r\" }", "output_excludes_reasoning"),
            ("id = \"a\"\nhas = [\"x\"]\ncost = \"c\"\nprompts = [\"user\"]", "role"),
            ("id = \"a\"\nhas = [\"x\"]\ncost = \"c\"\nrole = \"r\"", "responses"),
            ("id = \"a\"\nhas = [\"x\"]\ncost = \"a..b\"", "cost"),
            ("id = \"a\"\nhas = [\"x\"]\ncost = \"a[0]\"", "cost"),
            ("id = \"a\"\nhas = [\"x\"]\ncost = \"^.c\"", "cost"),
            ("id = \"a\"\nhas = [\"^.x\"]\ncost = \"c\"", "has"),
            ("id = \"a\"\nhas = [\"a|^.x\"]\ncost = \"c\"", "has"),
            ("id = \"a\"\nhas = [\"x\"]\ncost = \"c\"\nsession_from = \"hash\"", "session"),
            ("id = \"a\"\nhas = [\"x\"]\ncost = \"c\"\nmessage_id_is_global = true", "message_id"),
            ("id = \"a\"\nhas = [\"x\"]\ntotals = { input = \"i\", cache_read = \"r\" }", "input_includes_cache"),
            ("id = \"a\"\nhas = [\"x\"]\ntotals = { output = \"o\", reasoning = \"r\" }", "output_excludes_reasoning"),
            ("id = \"a\"\nhas = [\"x\"]\ntotals = { input = \"^.i\" }", "input"),
            ("id = \"a\"\nhas = [\"x\"]\ntotal_cost = \"a.*.b\"", "total_cost"),
            (
                "id = \"a\"\nhas = [\"x\"]\ncost = \"c\"\nresults = { call = \"c\", roles = [\"r\"], at_end = true }",
                "results",
            ),
            ("id = \"a\"\nhas = [\"x\"]\ncost = \"c\"\ncategories = { t = \"x\" }", "categories"),
            ("id = \"a\"\nhas = [\"x\"]\ncost = \"a|\"", "cost"),
            ("id = \"a\"\nhas = [\"x\"]\ncost = \"a.*.b\"", "cost"),
            ("id = \"a\"\nhas = [\"x\"]\ncost = \"a.k=.b\"", "cost"),
            ("id = \"a\"\nhas = [\"x\"]\ncost = \"a|^.c\"", "cost"),
            ("id = \"a\"\nhas = [\"x\"]\ncalls = { list = \"c.\", id = \"i\", name = \"n\" }", "calls"),
            ("id = \"a\"\nhas = [\"x\"]\ncalls = { list = \"c\", id = \"^.i\", name = \"n\" }", "calls"),
            ("id = \"a\"\nhas = [\"x\"]\ncost = \"c\"\nresults = { call = \"c\" }", "results"),
        ];
        for (more, key) in cases {
            assert_eq!(problem(more), Some(key), "{more}");
        }
        let paths = "cost = \"a.0.b|c.k=v.d|@\"\ncalls = { list = \"c.*.d\", id = \"i\", name = \"n\" }";
        assert_eq!(problem(&format!("id = \"a\"\nhas = [\"x\"]\n{paths}")), None);
    }
}
