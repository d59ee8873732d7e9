//! The skill and the slash command in effect for each response (`docs/accounting.md#attribution`).
//!
//! A skill is in effect for the responses after its load, until the next prompt of a human or the next skill; a slash command until
//! the next prompt. Where a log states the skills of responses, it is used as it is.

use std::mem;

use foldhash::{HashMap, HashMapExt as _};

use super::names;
use crate::base::text::Symbol;
use crate::model::session::{CallStatus, SessionResult, ToolCall, Turn};

/// What changes the skill or the slash command in effect, in the order of the log.
#[derive(Debug, Default)]
pub(super) struct SkillsInEffect {
    changes: Vec<Change>,
}

#[derive(Debug)]
struct Change {
    /// The first response for which it counts, by its index.
    turn: usize,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// A prompt of a human.
    Prompt,
    /// A slash command, and whether it is a skill; `None` if its name may be text.
    Command(Option<Symbol>, bool),
    /// A call that loads a skill, by its index.
    Call(usize),
}

/// What is in effect for an agent.
#[derive(Debug, Default)]
struct InEffect {
    skill: Option<Symbol>,
    command: Option<Symbol>,
}

impl SkillsInEffect {
    /// A prompt before the response `turn`.
    pub(super) fn prompted(&mut self, turn: usize) {
        // Without a skill or a command before it, there is nothing to end.
        if !self.changes.last().is_none_or(|last| matches!(last.kind, Kind::Prompt)) {
            self.changes.push(Change { turn, kind: Kind::Prompt });
        }
    }

    /// A slash command before the response `turn`.
    pub(super) fn commanded(&mut self, name: Option<Symbol>, turn: usize) {
        self.changes.push(Change { turn, kind: Kind::Command(name, false) });
    }

    /// The last command is a skill, if nothing followed it.
    pub(super) fn command_is_skill(&mut self) {
        if let Some(Change { kind: Kind::Command(_, is_skill), .. }) = self.changes.last_mut() {
            *is_skill = true;
        }
    }

    /// A call that loads a skill. `turn` is the index of the next response.
    pub(super) fn loaded(&mut self, call: usize, turn: usize) {
        self.changes.push(Change { turn, kind: Kind::Call(call) });
    }

    /// Sets what is in effect for each response of the session.
    pub(super) fn attribute(&mut self, session: &mut SessionResult) {
        let mut changes = mem::take(&mut self.changes);
        if changes.is_empty() {
            return;
        }
        for change in &mut changes {
            if let Kind::Call(call) = change.kind
                && let Some(turn) = session.tool_calls.iter().nth(call).and_then(|call| call.turn)
            {
                change.turn = turn + 1;
            }
        }
        changes.sort_by_key(|change| change.turn);
        let has_skill = |turn: &Turn| turn.details.as_ref().is_some_and(|it| it.skill.is_some());
        let is_stated = session.turns.iter().any(|turn| has_skill(turn));
        let mut in_effect: HashMap<Option<Symbol>, InEffect> = HashMap::new();
        let mut changes = changes.into_iter().peekable();
        for index in 0..session.turns.len() {
            while let Some(change) = changes.next_if(|change| change.turn <= index) {
                let (agent, next) = change.apply(session);
                let known = in_effect.entry(agent).or_default();
                match next {
                    Next::Skill(skill) => known.skill = Some(skill),
                    Next::Prompt(next) => *known = next,
                    Next::Nothing => {}
                }
            }
            let Some(turn) = session.turns.get_mut(index) else { return };
            let agent = turn.is_subagent.then(|| turn.agent_id.clone().unwrap_or_default());
            let Some(InEffect { skill, command }) = in_effect.get(&agent) else { continue };
            if let Some(skill) = skill.as_ref().filter(|_| !is_stated) {
                let attribution = turn.details_mut();
                attribution.skill = Some(skill.clone());
                attribution.plugin = names::plugin(skill).or_else(|| attribution.plugin.take());
            }
            if let Some(command) = command {
                turn.details_mut().command = Some(command.clone());
            }
        }
    }
}

/// What a change does.
enum Next {
    Nothing,
    /// A skill is added.
    Skill(Symbol),
    /// A prompt or a command begins.
    Prompt(InEffect),
}

impl Change {
    /// The agent for which it counts, `None` for the main agent, and what it does.
    fn apply(self, session: &SessionResult) -> (Option<Symbol>, Next) {
        match self.kind {
            Kind::Prompt => (None, Next::Prompt(InEffect::default())),
            Kind::Command(command, is_skill) => {
                let skill = command.clone().filter(|_| is_skill);
                (None, Next::Prompt(InEffect { skill, command }))
            }
            Kind::Call(call) => match session.tool_calls.iter().nth(call) {
                Some(call) => (agent_of(call, session), loaded_by(call)),
                None => (None, Next::Nothing),
            },
        }
    }
}

/// The agent that made a call; `None` for the main agent.
fn agent_of(call: &ToolCall, session: &SessionResult) -> Option<Symbol> {
    let turn = session.turns.iter().nth(call.turn?)?;
    turn.is_subagent.then(|| turn.agent_id.clone().unwrap_or_default())
}

/// What a call loads, unless it failed.
fn loaded_by(call: &ToolCall) -> Next {
    let is_loaded = matches!(call.status, CallStatus::Ok | CallStatus::Incomplete);
    call.skill.clone().filter(|_| is_loaded).map_or(Next::Nothing, Next::Skill)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The skill and the command of each response of a log, a list of words: `prompt`, `/COMMAND`, `/COMMAND!` for one that is a
    /// skill, `+SKILL` for a response that loads a skill, `-SKILL` for one whose load fails, `.` for a response without calls, `=SKILL`
    /// for one whose skill is stated.
    fn in_effect(log: &str) -> Vec<(Option<Symbol>, Option<Symbol>)> {
        let (mut session, mut skills) = (SessionResult::default(), SkillsInEffect::default());
        for word in log.split(' ') {
            let name = names::name(word.get(1..).unwrap_or_default().trim_end_matches('!'));
            let turn = session.turns.len();
            match word.get(..1) {
                Some("p") => skills.prompted(turn),
                Some("/") => {
                    skills.commanded(name, turn);
                    if word.ends_with('!') {
                        skills.command_is_skill();
                    }
                }
                sign => {
                    session.turns.push(Box::default());
                    if sign == Some("=") {
                        session.turns[turn].details_mut().skill = name;
                    } else if name.is_some() {
                        skills.loaded(session.tool_calls.len(), turn);
                        let status = CallStatus::from_error(sign == Some("-"));
                        let call = ToolCall { turn: Some(turn), skill: name, status, ..ToolCall::default() };
                        session.tool_calls.push(Box::new(call));
                    }
                }
            }
        }
        skills.attribute(&mut session);
        let attribution = |turn: &mut Box<Turn>| *turn.details.take().unwrap_or_default();
        session.turns.iter_mut().map(attribution).map(|it| (it.skill, it.command)).collect()
    }

    #[test]
    fn a_skill_is_in_effect_until_the_next_prompt_or_skill() {
        for (log, expected) in [
            ("prompt . .", "- -"),
            // The response that loads it is not under it.
            ("prompt +pdf . . prompt .", "- pdf pdf -"),
            ("+pdf . +docx .", "- pdf pdf docx"),
            ("prompt -pdf . +pdf .", "- - - pdf"),
            ("/pdf! . . prompt .", "pdf pdf -"),
            ("/review . +pdf . /clear .", "- - pdf -"),
            ("+pdf prompt prompt . +a:b .", "- - - a:b"),
            // The log states it.
            ("+pdf . =docx .", "- - docx -"),
        ] {
            let found: Vec<_> = in_effect(log).into_iter().map(|(skill, _)| skill).collect();
            let expected: Vec<_> = expected.split(' ').map(|word| names::name(word).filter(|_| word != "-")).collect();
            assert_eq!(found, expected, "{log}");
        }
    }

    #[test]
    fn a_command_is_in_effect_until_the_next_prompt() {
        let found: Vec<_> =
            in_effect("/review . +pdf . prompt . /a/b .").into_iter().map(|(_, command)| command).collect();
        let review = names::name("review");
        assert_eq!(found, [review.clone(), review.clone(), review, None, None]);
    }
}
