//! The pack as Markdown, for people.

use std::io::{self, Write};

use super::pack::{Case, ClassOfFailures, Pack};
use super::steps::Step;
use crate::analysis::present::{Currency, counted, human, visible};
use crate::store::frames::sessions;

/// The cases of a class that are shown; the others are in the JSON file.
const SHOWN: usize = 5;

impl Pack {
    /// The pack as Markdown: the most expensive cases of each class.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "# Evidence\n")?;
        let cost = self.cost_usd.map(|cost| format!(" of {}", dollars(cost))).unwrap_or_default();
        writeln!(out, "{}{cost} failed.", counted(self.sessions, "session"))?;
        if self.held_out_sessions > 0 {
            let held_out = counted(self.held_out_sessions, "failed session");
            let verb = if self.held_out_sessions == 1 { "is" } else { "are" };
            writeln!(
                out,
                "{held_out} of held-out tasks {verb} left out: `agentlogs compare --held-out` tests what was learned."
            )?;
        }
        writeln!(out, "\n| class | sessions | cost |\n| --- | ---: | ---: |")?;
        for class in &self.classes {
            let cost = class.cost_usd.map_or_else(|| "unknown".to_owned(), dollars);
            writeln!(out, "| {} | {} | {cost} |", class.class, class.sessions)?;
        }
        self.classes.iter().try_for_each(|class| write_class(class, out))
    }
}

fn dollars(cost: f64) -> String {
    human(sessions::COST_USD, cost, Currency::default())
}

/// A text of a log in one line, without what Markdown would read.
fn inline(text: &str) -> String {
    visible(text).replace('`', "'")
}

fn write_class(class: &ClassOfFailures, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n## {}", class.class)?;
    class.cases.iter().take(SHOWN).try_for_each(|case| write_case(case, out))?;
    match class.cases.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => writeln!(out, "\n{} more in evidence.json.", counted(more, "case")),
    }
}

fn write_case(case: &Case, out: &mut dyn Write) -> io::Result<()> {
    let name = case.task.as_deref().unwrap_or(&case.session_id);
    writeln!(out, "\n### {}\n", inline(name))?;
    let mut facts = vec![format!("session `{}` ({})", inline(&case.session_id), inline(&case.runtime))];
    facts.extend(case.model.as_deref().map(inline));
    facts.extend(case.trial.as_deref().map(|trial| format!("trial `{}`", inline(trial))));
    facts.extend(case.cost_usd.map(dollars));
    writeln!(out, "- {}", facts.join(", "))?;
    let line = case.line.map(|line| format!(":{line}")).unwrap_or_default();
    let place = case.source_path.as_deref().map(|path| format!(", `{}{line}`", inline(path))).unwrap_or_default();
    writeln!(out, "- {}{place}", inline(&case.sign))?;
    for message in &case.messages {
        writeln!(out, "- judge: {}", inline(message))?;
    }
    if let Some(divergence) = &case.divergence {
        let next = |step: &Option<Step>| {
            step.as_ref().map_or_else(|| "ended".to_owned(), |step| format!("`{}`", inline(&step.text())))
        };
        writeln!(
            out,
            "- after {} in common with `{}`, which passed: this one {}, that one {}",
            counted(divergence.common_calls, "call"),
            inline(&divergence.passed_session_id),
            next(&divergence.failed),
            next(&divergence.passed)
        )?;
    }
    if !case.steps.is_empty() {
        writeln!(out, "\n```text")?;
        for (index, step) in case.steps.iter().enumerate() {
            let mark = if case.decisive == Some(index) { ">" } else { " " };
            let line = step.line.map(|line| format!("{line}")).unwrap_or_default();
            writeln!(out, "{mark} {line:>6} {}", inline(&step.text()))?;
        }
        writeln!(out, "```")?;
    }
    if !case.records.is_empty() {
        writeln!(out, "\n```text")?;
        for record in &case.records {
            writeln!(out, "{:>8} {}", record.line, inline(&record.text))?;
        }
        writeln!(out, "```")?;
    }
    Ok(())
}
