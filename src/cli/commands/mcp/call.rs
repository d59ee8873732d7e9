//! A call of a tool: it ends within its time, and what it cannot do is an answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;

use serde_json::{Value, json};

use super::answer::cut;
use super::arguments::Arguments;
use super::data::Data;
use super::paging::Paging;
use super::tools::Tool;

/// The threads that compute answers. Between calls these are overdue: a thread cannot be stopped.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// The number of overdue threads with which no call starts.
const MAX_OVERDUE: usize = 2;

/// The stack of a call in bytes, as large as that of a main thread.
const STACK: usize = 8 << 20;

/// The longest message of an error in bytes.
const ERROR_BYTES: usize = 1_000;

/// The result of a call, as the protocol describes it.
pub(super) fn result(tool: &'static Tool, arguments: Arguments, data: &Arc<Data>) -> Value {
    let (text, is_error) = match text(tool, arguments, data) {
        Ok(text) => (text, false),
        Err(error) => (cut(&format!("{error:#}"), ERROR_BYTES).to_owned(), true),
    };
    json!({"content": [{"type": "text", "text": text}], "isError": is_error})
}

/// A thread that computes an answer, until it is dropped, also by a panic.
struct Running;

impl Running {
    fn start() -> Self {
        RUNNING.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::SeqCst);
    }
}

fn text(tool: &'static Tool, mut arguments: Arguments, data: &Arc<Data>) -> anyhow::Result<String> {
    let paging = Paging::take(tool.name, &mut arguments)?;
    if RUNNING.load(Ordering::SeqCst) >= MAX_OVERDUE {
        anyhow::bail!("earlier questions still run; try again later");
    }
    let (sender, receiver) = sync_channel(1);
    let of_thread = Arc::clone(data);
    let running = Running::start();
    let call = move || {
        let answer = (tool.answer)(&of_thread, arguments).and_then(|answer| answer.text(&paging));
        // Before the answer, with which the next call can start.
        drop(running);
        let _ = sender.send(answer);
    };
    thread::Builder::new().stack_size(STACK).spawn(call)?;
    match receiver.recv_timeout(data.timeout) {
        Ok(answer) => answer,
        Err(RecvTimeoutError::Timeout) => {
            anyhow::bail!("no answer within {} s: filter by time, or ask for less", data.timeout.as_secs())
        }
        // The thread panicked; polars does with damaged tables.
        Err(RecvTimeoutError::Disconnected) => {
            anyhow::bail!("the tables cannot be read; `agentlogs archive check` names damaged files")
        }
    }
}
