//! What `openclaw agent --json` prints (docs/formats/openclaw.md#openclaw-json).
//!
//! # `openclaw-json`
//!
//! `openclaw agent --json`: one object for a run. Recognised by `payloads` and `meta.agentMeta`; through the gateway the same is in
//! `result`. Seen: 200 files, all without a gateway; the other form from programs that read it. Warnings may precede the object.
//!
//! - A row of grain `session`: `agentMeta.usage` is the sum of the run (of 200 of 200 equal to the session's own log). `total` and
//!   `lastCallUsage` are those of the last response, and are not used. `cacheWrite1h` is a part of `cacheWrite`, `reasoningTokens` of
//!   `output`. The sums of several runs of a session add up.
//! - Cost: `usage.cost.total`, since 2026.9, else `costUsd`, which openclaw computes from its prices. 0 is unknown, unless `totalOrigin`
//!   is `provider-billed`.
//! - If the session's own log contains the responses, the sums do not count.
//! - Status: `aborted`; `error` with an error or with that stop reason; else `success`. *Unknown*: times, calls.

use serde::Deserialize;

use crate::adapters::engine::{
    Adapter, FinishedSessions, Probe, RecordErrors, RecordKind, SessionRecords, session_records,
};
use crate::adapters::shared::builder::{Builder, money};
use crate::adapters::shared::ids::hashed_id;
use crate::adapters::shared::usage;
use crate::base::text::Symbol;
use crate::json::fields::{Count, Flag, Maybe, Number, Text};
use crate::json::lines::Line;
use crate::model::session::{Capabilities, ModelTotal, Tokens, Total, TotalKind};

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "openclaw-json",
    runtime: "openclaw",
    about: "openclaw, openclaw agent --json",
    tested: None,
    capabilities: Capabilities::RUNS_ONLY,
    places: &[],
    claims,
    parse: session_records::<Outputs>,
};

fn claims(probe: &Probe<'_>) -> u32 {
    let is_output = |probe: &Probe<'_>| probe.has("payloads") && probe.object("meta").has("agentMeta");
    8 * u32::from(is_output(probe) || is_output(&probe.object("result")))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Output<'a> {
    meta: Maybe<Meta<'a>>,
    /// Through the gateway.
    result: Maybe<Answer<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Answer<'a> {
    meta: Maybe<Meta<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"), rename_all = "camelCase")]
struct Meta<'a> {
    duration_ms: Number,
    agent_meta: Maybe<Agent<'a>>,
    aborted: Flag,
    error: Maybe<Failure<'a>>,
    stop_reason: Text<'a>,
    final_assistant_visible_text: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"), rename_all = "camelCase")]
struct Agent<'a> {
    session_id: Text<'a>,
    provider: Text<'a>,
    model: Text<'a>,
    usage: Maybe<Counts<'a>>,
    cost_usd: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Failure<'a> {
    message: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"), rename_all = "camelCase")]
struct Counts<'a> {
    input: Count,
    output: Count,
    cache_read: Count,
    cache_write: Count,
    #[serde(rename = "cacheWrite1h")]
    cache_write_1h: Count,
    reasoning_tokens: Count,
    cost: Maybe<Price<'a>>,
}

/// The sum of what the responses cost.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"), rename_all = "camelCase")]
struct Price<'a> {
    total: Number,
    /// Whether the provider stated it.
    total_origin: Text<'a>,
}

impl Agent<'_> {
    /// The cost of the run. openclaw writes 0 without a price, too.
    fn cost(&self, counts: &Counts<'_>, damage: &mut RecordErrors) -> Option<f64> {
        let price = counts.cost.get();
        let total = price.and_then(|price| money(price.total, damage));
        let is_billed = price.is_some_and(|price| price.total_origin.as_str() == "provider-billed");
        let computed = money(self.cost_usd, damage);
        total.filter(|cost| *cost > 0.0 || is_billed).or(computed.filter(|cost| *cost > 0.0))
    }
}

impl Counts<'_> {
    const fn all(&self) -> [Count; 6] {
        [self.input, self.output, self.cache_read, self.cache_write, self.cache_write_1h, self.reasoning_tokens]
    }

    fn tokens(&self) -> Tokens {
        Tokens {
            input: self.input.get(),
            output: self.output.get(),
            cache_read: self.cache_read.get(),
            cache_write: self.cache_write.get(),
            cache_write_1h: self.cache_write_1h.get(),
            reasoning: self.reasoning_tokens.get(),
        }
    }
}

/// The outputs of runs.
enum Outputs {}

impl SessionRecords for Outputs {
    type Record<'a> = Output<'a>;

    fn record(log: &mut FinishedSessions, line: Line<'_>, output: Output<'_>, damage: &mut RecordErrors) -> RecordKind {
        let answer = output.result.get();
        let both = [output.meta.get(), answer.and_then(|answer| answer.meta.get())];
        let Some(meta) = both.into_iter().flatten().find(|meta| meta.agent_meta.get().is_some()) else {
            return RecordKind::Unknown;
        };
        let Some(agent) = meta.agent_meta.get() else { return RecordKind::Unknown };
        let id = agent.session_id.owned().unwrap_or_else(|| hashed_id(line.bytes));
        let mut builder = Builder::new(&log.context, id, line.number);
        let model = agent.model.some().map(Symbol::new);
        builder.session.model.clone_from(&model);
        builder.set_answer(meta.final_assistant_visible_text.as_str());
        meta.end(&mut builder);
        if let Some(counts) = usage::present(&agent.usage, damage) {
            damage.note_impossible(&counts.all());
            let provider = agent.provider.some().map(Symbol::new);
            let cost = agent.cost(counts, damage);
            builder.session.totals.push(Total {
                line: line.number,
                key: hashed_id(line.bytes),
                kind: TotalKind::Run,
                duration_ms: meta.duration_ms.rounded(),
                cost,
                models: vec![ModelTotal { model, provider, tokens: counts.tokens(), cost, ..ModelTotal::default() }],
                ..Total::default()
            });
        }
        log.sessions.push(builder.finish());
        RecordKind::Known
    }
}

impl Meta<'_> {
    /// How the run ended.
    fn end(&self, builder: &mut Builder) {
        let message = self.error.get().map(|error| error.message.as_str());
        match message {
            _ if self.aborted.is_true() => builder.abort(""),
            Some(message) => builder.fail(None, message),
            None if self.stop_reason.as_str() == "error" => builder.fail(None, ""),
            None => builder.succeed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::engine::Hints;
    use crate::adapters::parse;
    use crate::adapters::shared::builder::Retention;
    use crate::model::session::{SessionResult, Status};

    fn read(log: &str) -> SessionResult {
        let parsed = parse(log.as_bytes(), Hints::default(), Retention::Text);
        assert_eq!(parsed.format, Some("openclaw-json"), "{log}");
        parsed.sessions.into_iter().next().unwrap()
    }

    #[test]
    fn an_output_has_the_sum_of_its_run() {
        let meta = |rest: &str| {
            let usage = r#""usage":{"input":100,"output":20,"cacheRead":3000,"cacheWrite":40,"total":900}"#;
            format!(
                r#"{{"payloads":[],"meta":{{"durationMs":5000,"agentMeta":{{"sessionId":"s","provider":"p","model":"m",{usage}}}{rest}}}}}"#
            )
        };
        let direct = read(&meta(r#","aborted":false,"stopReason":"stop""#));
        assert_eq!((direct.session_id.as_str(), direct.status), ("s", Status::Success));
        let total = &direct.totals[0];
        assert_eq!((total.kind, total.duration_ms, total.tokens().total()), (TotalKind::Run, Some(5000), Some(3160)));
        let gateway = read(&format!(r#"{{"runId":"r","status":"ok","summary":"completed","result":{}}}"#, meta("")));
        assert_eq!(gateway.totals[0].tokens(), total.tokens());
        assert_eq!(total.cost, None);
        assert_eq!(read(&meta(r#","aborted":true,"stopReason":"toolUse""#)).status, Status::Aborted);
        assert_eq!(read(&meta(r#","error":{"kind":"x","message":"401"}"#)).status, Status::Error);
        assert_eq!(read(&meta(r#","stopReason":"error""#)).status, Status::Error);
        // Warnings that precede the object.
        let after_warnings = format!("[tools] read failed: no such file\n{}\n", meta(""));
        assert_eq!(read(&after_warnings).totals[0].tokens(), total.tokens());
    }

    #[test]
    fn newer_outputs_have_a_cost_and_parts_of_counts() {
        let read = |cost: &str, computed: &str| {
            let usage = format!(
                r#""usage":{{"input":10,"output":5,"cacheRead":0,"cacheWrite":4,"cacheWrite1h":4,"reasoningTokens":2{cost}}}"#
            );
            let log = format!(
                r#"{{"payloads":[],"meta":{{"agentMeta":{{"sessionId":"s","model":"m",{usage}{computed}}}}}}}"#
            );
            read(&log).totals.remove(0)
        };
        let billed = r#","cost":{"total":0.0123,"totalOrigin":"provider-billed"}"#;
        let total = read(billed, r#","costUsd":0.5"#);
        assert_eq!((total.cost, total.models[0].cost), (Some(0.0123), Some(0.0123)));
        let tokens = total.tokens();
        assert_eq!((tokens.cache_write_1h, tokens.reasoning, tokens.total()), (Some(4), Some(2), Some(19)));
        for (cost, computed, expected) in [
            (r#","cost":{"total":0}"#, r#","costUsd":0.5"#, Some(0.5)),
            (r#","cost":{"total":0}"#, r#","costUsd":0"#, None),
            (r#","cost":{"total":0,"totalOrigin":"provider-billed"}"#, "", Some(0.0)),
            ("", r#","costUsd":0.25"#, Some(0.25)),
        ] {
            assert_eq!(read(cost, computed).cost, expected, "{cost}{computed}");
        }
    }
}
