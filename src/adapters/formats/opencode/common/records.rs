//! The records that OpenCode's formats share: sessions, messages and parts.

use serde::Deserialize;

use crate::adapters::shared::changed_lines::ChangedLines;
use crate::adapters::shared::tools;
use crate::base::split;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Maybe, Number, Text, TextOrBlocks, When};
use crate::model::session::Operation;

/// The facts of a session.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Info<'a> {
    pub(crate) id: Text<'a>,
    #[serde(rename = "parentID")]
    pub(crate) parent_id: Text<'a>,
    pub(crate) directory: Text<'a>,
    pub(crate) version: Text<'a>,
    pub(crate) agent: Text<'a>,
    pub(crate) time: Span,
    /// Since 2.0.
    pub(crate) fork: Fork<'a>,
}

/// The session of which a session is a fork.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Fork<'a> {
    #[serde(rename = "sessionID")]
    pub(crate) session_id: Text<'a>,
}

/// A message without its parts.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Message<'a> {
    pub(crate) id: Text<'a>,
    pub(crate) role: Text<'a>,
    pub(crate) time: Span,
    // assistant
    /// The id of the prompt that it answers.
    #[serde(rename = "parentID")]
    pub(crate) parent_id: Text<'a>,
    #[serde(rename = "modelID")]
    pub(crate) model_id: Text<'a>,
    #[serde(rename = "providerID")]
    pub(crate) provider_id: Text<'a>,
    pub(crate) variant: Text<'a>,
    pub(crate) agent: Text<'a>,
    /// The older name of `agent`.
    pub(crate) mode: Text<'a>,
    pub(crate) path: Directory<'a>,
    pub(crate) cost: Number,
    pub(crate) tokens: Maybe<Usage>,
    pub(crate) finish: Text<'a>,
    pub(crate) error: Error<'a>,
    /// Whether it is the summary that a compaction made. Users' messages have an object here.
    pub(crate) summary: Flag,
    // user
    pub(crate) tools: Tools,
    /// Whether 2.0 or later wrote it.
    #[serde(skip)]
    pub(crate) is_since_2: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Directory<'a> {
    pub(crate) cwd: Text<'a>,
    /// The root of the repository; `/` outside of one.
    pub(crate) root: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Tools {
    pub(super) todowrite: Flag,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Part<'a> {
    pub(crate) id: Text<'a>,
    /// In recordings since 2.0, where `id` is that of the call.
    #[serde(rename = "partID")]
    pub(crate) part_id: Text<'a>,
    #[serde(rename = "messageID")]
    pub(crate) message_id: Text<'a>,
    #[serde(rename = "type")]
    pub(crate) kind: Text<'a>,
    pub(crate) text: Text<'a>,
    /// Whether the program wrote the text.
    pub(crate) synthetic: Flag,
    /// Whether the text is only shown to the user.
    pub(crate) ignored: Flag,
    pub(crate) time: Span,
    // tool
    #[serde(rename = "callID")]
    pub(crate) call_id: Text<'a>,
    pub(crate) tool: Text<'a>,
    pub(crate) state: State<'a>,
    // step-finish
    pub(crate) reason: Text<'a>,
    pub(crate) cost: Number,
    pub(crate) tokens: Maybe<Usage>,
    /// In Kilo Code: the model that answered, if the message names a router.
    pub(crate) model: StepModel<'a>,
    // compaction
    pub(crate) auto: Flag,
    /// Whether the context was full, so that the prompt before is written again.
    pub(crate) overflow: Flag,
    // file
    pub(crate) mime: Text<'a>,
    pub(crate) filename: Text<'a>,
    // retry
    pub(crate) error: Error<'a>,
}

/// The model of a step.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct StepModel<'a> {
    #[serde(rename = "providerID")]
    pub(crate) provider_id: Text<'a>,
    #[serde(rename = "modelID")]
    pub(crate) model_id: Text<'a>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Usage {
    pub(super) total: Count,
    pub(super) input: Count,
    pub(super) output: Count,
    pub(super) reasoning: Count,
    pub(super) cache: Cache,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Cache {
    pub(super) read: Count,
    pub(super) write: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct State<'a> {
    pub(crate) status: Text<'a>,
    pub(crate) input: Raw<'a>,
    pub(crate) output: Raw<'a>,
    pub(crate) error: Raw<'a>,
    pub(crate) metadata: Metadata<'a>,
    pub(crate) time: Span,
}

/// A start and an end: `start` and `end` in parts, `created` and `completed` in messages and sessions.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Span {
    pub(crate) start: When,
    pub(crate) end: When,
    pub(crate) created: When,
    pub(crate) completed: When,
}

impl Span {
    pub(crate) fn start(self) -> Option<Time> {
        self.start.0.or(self.created.0)
    }

    pub(crate) fn end(self) -> Option<Time> {
        self.end.0.or(self.completed.0)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Metadata<'a> {
    pub(super) exit: Number,
    /// Whether the command was stopped after its time, since 2.0.
    pub(super) timeout: Flag,
    pub(super) diff: Text<'a>,
    pub(super) exists: Flag,
    pub(super) filediff: FileDiff<'a>,
    /// The files that a patch changed; since 2.0 that of an edit, too.
    pub(super) files: TextOrBlocks<'a, ChangedFile<'a>>,
    /// The child session of the `task` tool.
    #[serde(rename = "sessionId")]
    pub(super) session_id: Text<'a>,
    /// The child session of the `subagent` tool, since 2.0.
    #[serde(rename = "sessionID")]
    pub(super) session_id_2: Text<'a>,
    /// In recordings since 2.0: what the tool itself states.
    pub(super) metadata: Raw<'a>,
    /// The older name of `metadata`.
    pub(super) structured: Raw<'a>,
}

/// The arguments that only tools of OpenCode have.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct OwnInput<'a> {
    /// Of `subagent`, since 2.0.
    pub(super) agent: Text<'a>,
    /// Of `skill`, since 2.0.
    pub(super) id: Text<'a>,
    /// Of `invalid`: the tool that the model called.
    pub(super) tool: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct FileDiff<'a> {
    pub(super) before: Text<'a>,
    pub(super) additions: Count,
    pub(super) deletions: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct ChangedFile<'a> {
    file_path: Text<'a>,
    move_path: Text<'a>,
    #[serde(rename = "type")]
    kind: Text<'a>,
    // since 2.0
    file: Text<'a>,
    status: Text<'a>,
    patch: Text<'a>,
    additions: Count,
    deletions: Count,
}

impl<'a> Metadata<'a> {
    /// The file that an edit changed.
    pub(super) fn only_file(&self) -> Option<&ChangedFile<'a>> {
        if let [file] = self.files.blocks.as_slice() { Some(file) } else { None }
    }
}

impl ChangedFile<'_> {
    /// Its path after the change.
    pub(super) fn path(&self) -> Option<&str> {
        self.move_path.some().or(self.file_path.some()).or(self.file.some())
    }

    pub(super) fn operation(&self) -> Option<Operation> {
        Operation::from_word(self.kind.some().unwrap_or(self.status.as_str()))
    }

    /// The lines that are added and removed, if both are stated.
    pub(super) fn lines(&self) -> Option<ChangedLines> {
        let counted = self.additions.get().zip(self.deletions.get()).map(ChangedLines::counted)?;
        Some(counted.or_sketch(|| tools::diff_lines(split::lines(self.patch.some()?)).sketch))
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Error<'a> {
    pub(crate) name: Text<'a>,
    /// Its name since 2.0.
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    /// The HTTP status since 2.0.
    pub(super) status: Number,
    pub(crate) message: Text<'a>,
    pub(crate) data: ErrorData<'a>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct ErrorData<'a> {
    pub(crate) message: Text<'a>,
    pub(crate) status_code: Number,
}
