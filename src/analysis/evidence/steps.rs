//! The calls of a session as steps, and where two sessions differ first.

use serde::Serialize;

/// A call of the main agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Step {
    /// The number of the response that made it.
    pub turn: Option<i64>,
    pub tool: String,
    pub category: String,
    /// The purpose of a shell command.
    pub command_kind: Option<String>,
    /// The file, host or program.
    pub target: Option<String>,
    pub status: String,
    pub exit_code: Option<i64>,
    pub source_path: String,
    pub line: Option<i64>,
    /// The arguments, if the archive contains them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// The result, if the archive contains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
}

impl Step {
    /// What two steps of different runtimes have in common if they do the same with the same result: the kind of the call, its target, a
    /// file by its name, and how it ended.
    fn action(&self) -> (&str, Option<&str>, Option<&str>, &str) {
        let name = |path: &'_ str| -> usize { path.rfind(['/', '\\']).map_or(0, |at| at + 1) };
        let target = self.target.as_deref().map(|target| target.get(name(target)..).unwrap_or(target));
        (&self.category, self.command_kind.as_deref(), target, &self.status)
    }

    /// The step in a line.
    pub(super) fn text(&self) -> String {
        let kind = self.command_kind.as_ref().map(|kind| format!(" ({kind})")).unwrap_or_default();
        let target = self.target.as_ref().map(|target| format!(" {target}")).unwrap_or_default();
        let end = match (self.status.as_str(), self.exit_code) {
            (status, Some(code)) if code != 0 => format!(", {status}, exit status {code}"),
            ("ok", _) => String::new(),
            (status, _) => format!(", {status}"),
        };
        format!("{}{target}{kind}{end}", self.tool)
    }
}

/// How many steps two sessions have in common at their beginning.
fn common(a: &[Step], b: &[Step]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a.action() == b.action()).count()
}

/// The one of several sessions that begins most like a session, and the number of steps that both have in common. `None` without
/// others.
pub(super) fn nearest<'o, T>(
    steps: &[Step],
    others: impl Iterator<Item = (&'o T, &'o [Step])>,
) -> Option<(&'o T, &'o [Step], usize)> {
    // The first of several that have as much in common.
    let with_common = others.map(|(other, of_other)| (other, of_other, common(steps, of_other)));
    with_common.reduce(|best, other| if other.2 > best.2 { other } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(category: &str, target: &str) -> Step {
        let text = str::to_owned;
        Step {
            tool: text(category),
            category: text(category),
            target: Some(text(target)),
            status: text("ok"),
            ..Step::default()
        }
    }

    #[test]
    fn sessions_differ_first_where_their_actions_do() {
        let failed = [step("read", "/app/TASK.md"), step("shell", "ls"), step("edit", "/app/a.py")];
        let early = [step("read", "TASK.md"), step("edit", "/app/a.py")];
        let late = [step("read", r"C:\app\TASK.md"), step("shell", "ls"), step("shell", "pytest")];
        let others = [("early", &early[..]), ("late", &late[..])];
        let found = nearest(&failed, others.iter().map(|(name, steps)| (name, *steps)));
        let (name, steps, count) = found.unwrap();
        assert_eq!((*name, count, steps.get(count).map(Step::text)), ("late", 2, Some("shell pytest".to_owned())));
        assert!(nearest(&failed, std::iter::empty::<(&u8, &[Step])>()).is_none());
        // One of them ends before they differ.
        assert_eq!(common(&failed, &failed[..1]), 1);
    }
}
