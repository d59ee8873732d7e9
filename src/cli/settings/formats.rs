//! Formats that the user describes: the `[[format]]` entries of a configuration file (docs/configuration.md#formats-of-your-own).

use std::collections::BTreeMap;

use agentlogs::adapters::described::{Calls, Description, Facts, Results, SessionFromPath, TokenPaths};
use agentlogs::adapters::{ADAPTERS, UserFormat};
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
    session_from: From,
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
    model: String,
    #[serde(default)]
    provider: String,
    #[serde(default)]
    time: String,
    #[serde(default)]
    duration_ms: String,
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
    calls: Option<CallsEntry>,
    results: Option<ResultsEntry>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum From {
    #[default]
    Record,
    File,
    Directory,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct FactsEntry {
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
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ResultsEntry {
    roles: Vec<String>,
    list: String,
    only: BTreeMap<String, String>,
    call: String,
    content: String,
    error: String,
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
            session_from_path: match self.session_from {
                From::Record => SessionFromPath::No,
                From::File => SessionFromPath::File,
                From::Directory => SessionFromPath::Directory,
            },
            facts: self.facts.kept(),
            role: kept(&self.role),
            responses: kept_list(&self.responses),
            prompts: kept_list(&self.prompts),
            message_id: kept(&self.message_id),
            model: kept(&self.model),
            provider: kept(&self.provider),
            time: kept(&self.time),
            duration_ms: kept(&self.duration_ms),
            stop_reason: kept(&self.stop_reason),
            text: kept(&self.text),
            tokens: TokenPaths {
                input: kept(&self.tokens.input),
                output: kept(&self.tokens.output),
                cache_read: kept(&self.tokens.cache_read),
                cache_write: kept(&self.tokens.cache_write),
                reasoning: kept(&self.tokens.reasoning),
            },
            input_includes_cache: self.input_includes_cache.unwrap_or(false),
            output_excludes_reasoning: self.output_excludes_reasoning.unwrap_or(false),
            cost: kept(&self.cost),
            is_subagent: false,
            calls: self.calls.as_ref().map(|calls| Calls {
                list: kept(&calls.list),
                only: kept_pairs(&calls.only).first().copied(),
                id: kept(&calls.id),
                name: kept(&calls.name),
                arguments: kept(&calls.arguments),
            }),
            results: self.results.as_ref().map(|results| Results {
                roles: kept_list(&results.roles),
                list: kept(&results.list),
                only: kept_pairs(&results.only).first().copied(),
                call: kept(&results.call),
                content: kept(&results.content),
                error: kept(&results.error),
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
                return Err((key, format!("{text:?} is no name: use lower-case letters, digits and `-`")));
            }
        }
        if ADAPTERS.iter().any(|adapter| adapter.id == self.id) {
            return Err(("id", format!("{:?} is a format of agentlogs; use another name", self.id)));
        }
        if self.has.is_empty() && self.equals.is_empty() {
            return Err(("has", "nothing tells the records of the format: set `has` or `equals`".to_owned()));
        }
        let tokens = &self.tokens;
        let has_usage = [&tokens.input, &tokens.output, &self.cost].into_iter().any(|path| !path.is_empty());
        if !has_usage && self.calls.is_none() && self.prompts.is_empty() {
            return Err(("tokens", "it reads nothing: set `tokens`, `cost`, `calls` or `prompts`".to_owned()));
        }
        let has_cache = !tokens.cache_read.is_empty() || !tokens.cache_write.is_empty();
        if has_cache && self.input_includes_cache.is_none() {
            let problem = "required with `cache_read` or `cache_write`: whether `tokens.input` includes them";
            return Err(("input_includes_cache", problem.to_owned()));
        }
        if !tokens.reasoning.is_empty() && self.output_excludes_reasoning.is_none() {
            let problem = "required with `reasoning`: whether `tokens.output` excludes it";
            return Err(("output_excludes_reasoning", problem.to_owned()));
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
        if let Some(results) = &self.results {
            if results.call.is_empty() {
                return Err(("call", "required in `results`: the path to the id of the call".to_owned()));
            }
            if results.roles.is_empty() && results.list.is_empty() {
                return Err(("results", "set `roles` or `list`".to_owned()));
            }
        }
        self.check_paths()
    }

    fn check_paths(&self) -> Result<(), Problem> {
        let of_line: Vec<(&'static str, &str)> = vec![
            ("session", &self.session),
            ("cwd", &self.facts.cwd),
            ("version", &self.facts.version),
            ("entrypoint", &self.facts.entrypoint),
            ("git_branch", &self.facts.git_branch),
            ("parent_session", &self.facts.parent_session),
            ("started_at", &self.facts.started_at),
            ("ended_at", &self.facts.ended_at),
            ("exit_code", &self.facts.exit_code),
            ("status", &self.facts.status),
        ];
        let of_record: Vec<(&'static str, &str)> = vec![
            ("role", &self.role),
            ("message_id", &self.message_id),
            ("model", &self.model),
            ("provider", &self.provider),
            ("time", &self.time),
            ("duration_ms", &self.duration_ms),
            ("stop_reason", &self.stop_reason),
            ("input", &self.tokens.input),
            ("output", &self.tokens.output),
            ("cache_read", &self.tokens.cache_read),
            ("cache_write", &self.tokens.cache_write),
            ("reasoning", &self.tokens.reasoning),
            ("cost", &self.cost),
        ];
        let mut of_element: Vec<(&'static str, &str)> = Vec::new();
        let mut lists: Vec<(&'static str, &str)> = vec![("text", &self.text)];
        if let Some(calls) = &self.calls {
            lists.push(("calls", &calls.list));
            let paths = [&calls.id, &calls.name, &calls.arguments];
            of_element.extend(paths.into_iter().chain(calls.only.keys()).map(|path| ("calls", path.as_str())));
        }
        if let Some(results) = &self.results {
            lists.push(("results", &results.list));
            let paths = [&results.call, &results.content, &results.error];
            of_element.extend(paths.into_iter().chain(results.only.keys()).map(|path| ("results", path.as_str())));
        }
        let conditions = self.has.iter().map(|path| ("has", path.as_str()));
        let conditions = conditions.chain(self.equals.keys().map(|path| ("equals", path.as_str())));
        let without_document = of_line.into_iter().chain(of_element).chain(conditions).map(|it| (it, Found::One));
        for ((key, path), found) in without_document.chain([(("records", self.records.as_str()), Found::List)]) {
            if path.split('|').any(|path| path.starts_with('^')) {
                return Err((key, format!("{path:?}: the path is one in the line or document, without `^.`")));
            }
            check_path(key, path, found)?;
        }
        let of_record = of_record.into_iter().map(|it| (it, Found::One));
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
            "is no path: keys with dots between them, such as \"usage.input\", \"choices.0.message\" or \"a|b\"";
        return Err((key, format!("{path:?} {problem}")));
    }
    if found == Found::One && path.split(['|', '.']).any(|part| part == "*") {
        return Err((key, format!("{path:?}: `*` finds a list, and one value is required")));
    }
    Ok(())
}

impl FactsEntry {
    fn kept(&self) -> Facts {
        Facts {
            cwd: kept(&self.cwd),
            version: kept(&self.version),
            entrypoint: kept(&self.entrypoint),
            git_branch: kept(&self.git_branch),
            parent_session: kept(&self.parent_session),
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
