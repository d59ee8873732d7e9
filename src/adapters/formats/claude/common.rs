//! Messages and tool results of Claude Code, in its streams, its transcripts, and the logs of programs that run it.

use foldhash::{HashMap, HashMapExt as _};

pub(crate) use self::call_result::{CallResult, NotRun, ResultMeta, ToolUseResult};
use self::early_results::EarlyResults;
use self::iterations::billed_apart;
use self::records::Block;
pub(crate) use self::records::{Message, Usage};
use self::response_names::{ResponseName, ResponseNames};
use crate::adapters::engine::{Context, RecordErrors};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::Builder;
use crate::adapters::shared::names;
use crate::adapters::shared::subagents;
use crate::adapters::shared::tools::Arguments;
use crate::adapters::shared::usage::{Included, present, uncached};
use crate::base::text::{SharedStr, Symbol};
use crate::model::session::{Event, EventKind, Identity, Operation, Tokens, Turn};

mod call_result;
mod early_results;
mod iterations;
pub(crate) mod limits;
pub(crate) mod model_usage;
pub(crate) mod prompts;
mod records;
mod response_names;

/// The record of a message, and the agent that wrote it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Origin<'a> {
    pub(crate) at: At,
    /// The id of the record.
    pub(crate) uuid: Option<&'a str>,
    pub(crate) request_id: Option<&'a str>,
    /// The session that a fork copied the record from.
    pub(crate) forked_from: Option<&'a str>,
    /// Whether a subagent wrote it.
    pub(crate) is_subagent: bool,
    /// The id of the subagent.
    pub(crate) agent_id: Option<&'a str>,
    /// The structured result of a call.
    pub(crate) tool_use_result: Option<&'a ToolUseResult<'a>>,
    /// Why calls were not executed, as the record states it.
    pub(crate) not_run: NotRun<'a>,
    /// The bytes of the record.
    pub(crate) bytes: &'a [u8],
}

impl<'a> Origin<'a> {
    /// The id of the subagent that wrote it; `None` for the main agent.
    fn subagent(&self) -> Option<&'a str> {
        self.is_subagent.then(|| self.agent_id.unwrap_or_default())
    }
}

/// A session while its messages are read.
#[derive(Debug)]
pub(crate) struct Conversation {
    pub(crate) builder: Builder,
    /// The type of the agent that each call starts.
    pub(crate) agents: HashMap<String, Symbol>,
    /// Whether the input of the program includes what was read from the cache.
    pub(crate) input_includes_cache: bool,
    /// Results whose calls are on later lines.
    pub(crate) early: EarlyResults,
    /// The names of its responses.
    names: ResponseNames,
}

impl Conversation {
    pub(crate) fn new(context: &Context, id: &str, line: i64) -> Self {
        Self {
            builder: Builder::new(context, id, line),
            agents: HashMap::new(),
            input_includes_cache: false,
            early: EarlyResults::default(),
            names: ResponseNames::default(),
        }
    }

    /// The tokens of a response or a total.
    pub(crate) fn tokens(&self, usage: &Usage<'_>, damage: &mut RecordErrors) -> Tokens {
        let tokens = usage.tokens(damage);
        if !self.input_includes_cache {
            return tokens;
        }
        Tokens { input: uncached(Included::IfTheyFit, tokens.input, tokens.cache_read, None), ..tokens }
    }

    /// Adds a line of a response: one content block, with the usage of the whole response. Returns the index of the turn.
    pub(crate) fn response(
        &mut self,
        message: &Message<'_>,
        origin: &Origin<'_>,
        agent: Option<Symbol>,
        damage: &mut RecordErrors,
    ) -> usize {
        let At { line, time } = origin.at;
        let tokens = message.usage.get().map(|usage| self.tokens(usage, damage)).unwrap_or_default();
        let known = self.builder.session.turns.len();
        // Programs that copy sessions write the new id of each record in the place of the id of its response.
        let message_id = message.id.some().filter(|id| origin.request_id.is_none() || Some(*id) != origin.uuid);
        // The lines of a response without an id have the id of its request.
        let id = message_id.or(origin.request_id).or(origin.uuid);
        let session = origin.forked_from.unwrap_or(&self.builder.session.session_id);
        let name = id.map(|id| self.names.name(id, session, tokens));
        let identity = name.as_ref().map_or(Identity::Unique, ResponseName::identity);
        let index = self.builder.turn(identity, line);
        self.builder.answered(index, origin.subagent(), time);
        let turn = &mut self.builder.session.turns[index];
        turn.message_id = turn.message_id.take().or_else(|| message_id.map(SharedStr::from));
        turn.request_id = turn.request_id.take().or_else(|| origin.request_id.map(SharedStr::from));
        turn.model = turn.model.take().or_else(|| message.model.owned());
        turn.stop_reason = message.stop_reason.owned().or_else(|| turn.stop_reason.take());
        // Of a line that is repeated, one may have the time of the copy.
        turn.occurred_at = turn.occurred_at.into_iter().chain(time).min();
        if let Some(reason) = message.diagnostics.cache_miss_reason.kind.some().and_then(names::name) {
            turn.details_mut().cache_miss_reason = Some(reason);
        }
        if index == known {
            turn.is_subagent = origin.is_subagent;
            turn.agent_id = origin.agent_id.map(Symbol::new);
            turn.agent = agent;
            if let Some(record) = name.as_ref().and_then(|name| name.by_record(origin.uuid, "")) {
                turn.details_mut().record = Some(record);
            }
        } else if !origin.is_subagent {
            // A side question repeats the main agent's response, which stays the main agent's.
            (turn.is_subagent, turn.agent_id, turn.agent) = (false, None, None);
        }
        if let Some(usage) = present(&message.usage, damage) {
            add_usage(turn, message, usage, tokens);
            self.parts(index, message, usage, name.as_ref(), origin);
        }
        self.blocks(index, message, origin);
        if !self.builder.session.turns[index].is_subagent {
            self.end_of_answer(message);
        }
        index
    }

    /// Adds the parts of a response that are billed apart from it.
    fn parts(
        &mut self,
        response: usize,
        message: &Message<'_>,
        usage: &Usage<'_>,
        name: Option<&ResponseName>,
        origin: &Origin<'_>,
    ) {
        for (part, iteration) in billed_apart(&usage.iterations, message.model.as_str(), usage.prompt()) {
            let identity = name.map_or(Identity::Unique, |name| name.identity_of_part(&part));
            let added = iteration.add(&mut self.builder, response, identity, origin.at.line);
            if let Some(record) = name.and_then(|name| name.by_record(origin.uuid, &part)) {
                self.builder.session.turns[added].details_mut().record.get_or_insert(record);
            }
        }
    }

    /// Adds the calls of a response, and the results that it contains.
    fn blocks(&mut self, response: usize, message: &Message<'_>, origin: &Origin<'_>) {
        for block in &message.content.blocks {
            match block.kind.as_str() {
                "tool_use" | "server_tool_use" | "mcp_tool_use" => self.call(response, block, origin),
                // Proxies write the results of their own tools without the name of a tool before it.
                kind if kind == "tool_result" || kind.ends_with("_tool_result") => {
                    self.call_result(block, &Origin { tool_use_result: None, ..*origin });
                }
                _ => {}
            }
        }
    }

    fn call(&mut self, response: usize, block: &Block<'_>, origin: &Origin<'_>) {
        let (id, tool, input) = (block.id.as_str(), block.name.as_str(), block.input.raw);
        let call = self.builder.call_of(Some(response), id, tool, input, origin.at);
        let turn = &self.builder.session.turns[response];
        let (is_subagent, agent) = (turn.is_subagent, turn.agent.clone());
        let row = &mut self.builder.session.tool_calls[call];
        (row.is_subagent, row.agent) = (is_subagent, agent);
        let arguments = self.builder.arguments_read_with_call(call, &block.input);
        if let Some(agent) = arguments.and_then(Arguments::agent) {
            self.agents.insert(id.to_owned(), agent);
        }
        if matches!(&*self.builder.session.tool_calls[call].category, "edit" | "write")
            && let Some(file) = arguments.and_then(Arguments::file)
        {
            let operation = (tool != "Write").then_some(Operation::Update);
            // The files of subagents contain no structured results.
            let lines = if origin.is_subagent { call_result::lines_of(&block.input) } else { None };
            self.builder.change(call, file, operation, lines, origin.at);
        }
    }

    /// Sets the last text of the main agent and why it stopped, so far.
    fn end_of_answer(&mut self, message: &Message<'_>) {
        if self.builder.keeps_text() {
            let texts = message.content.blocks.iter().filter_map(|it| it.text.some());
            message.content.text.as_deref().into_iter().chain(texts).for_each(|it| self.builder.set_answer(it));
        }
        self.builder.session.stop_reason =
            message.stop_reason.owned().or_else(|| self.builder.session.stop_reason.take());
    }

    /// Adds an event of the agent that wrote a record.
    pub(crate) fn event(&mut self, kind: EventKind, origin: &Origin<'_>) -> &mut Event {
        let agent = origin.subagent().and_then(|id| self.agents.get(id).cloned());
        let event = self.builder.event(kind, origin.at);
        (event.agent, event.is_subagent) = (agent, origin.is_subagent);
        event
    }

    /// Adds the agent that a call started. Returns its type.
    pub(crate) fn subagent(&mut self, call_id: &str, at: At) -> Option<Symbol> {
        let agent = self.agents.get(call_id).cloned();
        if let Some(event) = subagents::add(&mut self.builder, call_id, Some(call_id), at) {
            event.agent.clone_from(&agent);
        }
        agent
    }

    /// Adds the results in a user line. Returns whether there are any.
    pub(crate) fn results(&mut self, message: &Message<'_>, origin: &Origin<'_>) -> bool {
        // A prompt or results.
        self.builder.asked(origin.subagent(), origin.at.time);
        let mut is_result = false;
        for block in message.content.blocks.iter().filter(|it| it.tool_use_id.is_some()) {
            is_result = true;
            self.call_result(block, origin);
        }
        is_result
    }

    /// Adds the result of a call that is on a later line than its result, from the record of the result.
    pub(crate) fn early_result(&mut self, call_id: &str, message: &Message<'_>, origin: &Origin<'_>) {
        for block in message.content.blocks.iter().filter(|block| block.tool_use_id.as_str() == call_id) {
            self.call_result(block, origin);
        }
    }

    fn call_result(&mut self, block: &Block<'_>, origin: &Origin<'_>) {
        let call_id = block.tool_use_id.as_str();
        let Some(call) = self.builder.call_index(call_id) else {
            self.early.add(call_id, origin.at.line, origin.bytes);
            return;
        };
        // A call and its result in one record have the same time, which is not a duration.
        let row = &self.builder.session.tool_calls[call];
        let has_own_record = (row.line, row.occurred_at) != (origin.at.line, origin.at.time);
        let result = CallResult {
            content: block.content,
            is_error: block.is_error.is_true(),
            rich: origin.tool_use_result,
            not_run: origin.not_run.of(call_id),
            at: At { time: origin.at.time.filter(|_| has_own_record), ..origin.at },
        };
        result.apply(&mut self.builder, call);
    }
}

/// Adds the usage of a line of a response. Lines repeat it, and the last ones have the largest counts.
fn add_usage(turn: &mut Turn, message: &Message<'_>, usage: &Usage<'_>, tokens: Tokens) {
    // Proxies write zeros while they stream. A response with content cannot have cost nothing.
    let has_content = message.content.text.is_some() || !message.content.blocks.is_empty();
    if !(tokens.is_all_zero() && has_content) {
        turn.tokens = turn.tokens.get().max(tokens).into();
    }
    turn.web_searches = turn.web_searches.get().max(usage.server_tool_use.web_search_requests.get()).into();
    turn.service_tier = usage.service_tier.owned().or_else(|| turn.service_tier.take());
    turn.speed = usage.speed.owned().or_else(|| turn.speed.take());
    let geo = usage.inference_geo.owned().filter(|it| it != "not_available");
    turn.inference_geo = geo.or_else(|| turn.inference_geo.take());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;
    use crate::json::fields::Count;

    /// Invalid arguments of a call do not affect its response.
    #[test]
    fn invalid_arguments_affect_only_their_call() {
        for input in [r#"{"x":NaN}"#, r#"{"x":1,}"#, r#"{"x" 1}"#, r#"{"file_path":"\q"}"#, r#"{"\q":1}"#] {
            let message = format!(
                r#"{{"model":"m","id":"i","content":[{{"type":"tool_use","id":"t","input":{input},"name":"X"}}],"usage":{{"input_tokens":3}}}}"#
            );
            let message: Message<'_> = json::from_slice(message.as_bytes()).unwrap();
            let usage = message.usage.get().unwrap();
            assert_eq!((usage.input_tokens, message.content.blocks.len()), (Count::Known(3), 1), "{input}");
            let block = &message.content.blocks[0];
            assert_eq!((block.name.as_str(), block.input.raw.0), ("X", input.as_bytes()));
        }
    }
}
