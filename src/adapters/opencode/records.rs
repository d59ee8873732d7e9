//! The records that OpenCode's formats share: sessions, messages and parts.

use serde::Deserialize;

use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Maybe, Number, Text, TextOrBlocks, When};

/// The facts of a session.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::adapters) struct Info<'a> {
    #[serde(borrow)]
    pub(in crate::adapters) id: Text<'a>,
    #[serde(borrow, rename = "parentID")]
    pub(in crate::adapters) parent_id: Text<'a>,
    #[serde(borrow)]
    pub(in crate::adapters) directory: Text<'a>,
    #[serde(borrow)]
    pub(in crate::adapters) version: Text<'a>,
    #[serde(borrow)]
    pub(in crate::adapters) agent: Text<'a>,
    pub(in crate::adapters) time: Span,
}

/// A message without its parts.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::adapters) struct Message<'a> {
    #[serde(borrow)]
    pub(in crate::adapters) id: Text<'a>,
    #[serde(borrow)]
    pub(in crate::adapters) role: Text<'a>,
    pub(in crate::adapters) time: Span,
    // assistant
    /// The id of the prompt that it answers.
    #[serde(borrow, rename = "parentID")]
    pub(in crate::adapters) parent_id: Text<'a>,
    #[serde(borrow, rename = "modelID")]
    pub(in crate::adapters) model_id: Text<'a>,
    #[serde(borrow, rename = "providerID")]
    pub(in crate::adapters) provider_id: Text<'a>,
    #[serde(borrow)]
    pub(in crate::adapters) variant: Text<'a>,
    #[serde(borrow)]
    pub(in crate::adapters) agent: Text<'a>,
    /// The older name of `agent`.
    #[serde(borrow)]
    pub(in crate::adapters) mode: Text<'a>,
    #[serde(borrow)]
    pub(in crate::adapters) path: Folder<'a>,
    pub(in crate::adapters) cost: Number,
    pub(in crate::adapters) tokens: Maybe<Usage>,
    #[serde(borrow)]
    pub(in crate::adapters) finish: Text<'a>,
    #[serde(borrow)]
    pub(in crate::adapters) error: Error<'a>,
    /// Whether it is the summary that a compaction made. Users' messages have an object here.
    pub(in crate::adapters) summary: Flag,
    // user
    pub(in crate::adapters) tools: Tools,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::adapters) struct Folder<'a> {
    #[serde(borrow)]
    pub(in crate::adapters) cwd: Text<'a>,
    /// The root of the repository; `/` outside of one.
    #[serde(borrow)]
    pub(in crate::adapters) root: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::adapters) struct Tools {
    pub(super) todowrite: Flag,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::adapters) struct Part<'a> {
    #[serde(borrow)]
    pub(in crate::adapters) id: Text<'a>,
    #[serde(borrow, rename = "messageID")]
    pub(in crate::adapters) message_id: Text<'a>,
    #[serde(borrow, rename = "type")]
    pub(in crate::adapters) kind: Text<'a>,
    #[serde(borrow)]
    pub(in crate::adapters) text: Text<'a>,
    /// Whether the program wrote the text.
    pub(in crate::adapters) synthetic: Flag,
    /// Whether the text is only shown to the user.
    pub(in crate::adapters) ignored: Flag,
    pub(in crate::adapters) time: Span,
    // tool
    #[serde(borrow, rename = "callID")]
    pub(in crate::adapters) call_id: Text<'a>,
    #[serde(borrow)]
    pub(in crate::adapters) tool: Text<'a>,
    #[serde(borrow)]
    pub(in crate::adapters) state: State<'a>,
    // step-finish
    #[serde(borrow)]
    pub(in crate::adapters) reason: Text<'a>,
    pub(in crate::adapters) cost: Number,
    pub(in crate::adapters) tokens: Maybe<Usage>,
    // compaction
    pub(in crate::adapters) auto: Flag,
    // retry
    #[serde(borrow)]
    pub(in crate::adapters) error: Error<'a>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(in crate::adapters) struct Usage {
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
#[serde(default)]
pub(in crate::adapters) struct State<'a> {
    #[serde(borrow)]
    pub(in crate::adapters) status: Text<'a>,
    #[serde(borrow)]
    pub(in crate::adapters) input: Raw<'a>,
    #[serde(borrow)]
    pub(in crate::adapters) output: Raw<'a>,
    #[serde(borrow)]
    pub(in crate::adapters) error: Raw<'a>,
    #[serde(borrow)]
    pub(in crate::adapters) metadata: Metadata<'a>,
    pub(in crate::adapters) time: Span,
}

/// A start and an end: `start` and `end` in parts, `created` and `completed` in messages and sessions.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(in crate::adapters) struct Span {
    pub(in crate::adapters) start: When,
    pub(in crate::adapters) end: When,
    pub(in crate::adapters) created: When,
    pub(in crate::adapters) completed: When,
}

impl Span {
    pub(in crate::adapters) fn start(self) -> Option<Time> {
        self.start.0.or(self.created.0)
    }

    pub(in crate::adapters) fn end(self) -> Option<Time> {
        self.end.0.or(self.completed.0)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::adapters) struct Metadata<'a> {
    pub(super) exit: Number,
    #[serde(borrow)]
    pub(super) diff: Text<'a>,
    pub(super) exists: Flag,
    #[serde(borrow)]
    pub(super) filediff: FileDiff<'a>,
    /// The files that a patch changed.
    #[serde(borrow)]
    pub(super) files: TextOrBlocks<'a, ChangedFile<'a>>,
    /// The child session of the `task` tool.
    #[serde(borrow, rename = "sessionId")]
    pub(super) session_id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FileDiff<'a> {
    #[serde(borrow)]
    pub(super) before: Text<'a>,
    pub(super) additions: Count,
    pub(super) deletions: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ChangedFile<'a> {
    #[serde(borrow)]
    pub(super) file_path: Text<'a>,
    #[serde(borrow)]
    pub(super) move_path: Text<'a>,
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) additions: Count,
    pub(super) deletions: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::adapters) struct Error<'a> {
    #[serde(borrow)]
    pub(in crate::adapters) name: Text<'a>,
    #[serde(borrow)]
    pub(in crate::adapters) message: Text<'a>,
    #[serde(borrow)]
    pub(in crate::adapters) data: ErrorData<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(in crate::adapters) struct ErrorData<'a> {
    #[serde(borrow)]
    pub(in crate::adapters) message: Text<'a>,
    pub(in crate::adapters) status_code: Number,
}
