//! Options of the commands that read logs, and the threads that read them.

use std::collections::BTreeSet;
use std::error::Error as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use agentlogs::base::time::Time;
use agentlogs::ingest::Options;
use agentlogs::input::open::Limit;
use agentlogs::input::sidecar::Sidecar;

use super::output::complain;
use super::places::owned;
use crate::cli::args;
use crate::cli::settings::Settings;

/// Starts the worker threads: `jobs` of them, up to a maximum, or one per core.
///
/// # Errors
/// When the system cannot start them.
pub fn start_threads(jobs: Option<usize>) -> anyhow::Result<()> {
    /// Allowed on any machine: more threads than cores help with slow disks.
    const MIN_LIMIT: usize = 64;
    /// More threads per core only wait for each other.
    const MAX_PER_CORE: usize = 4;
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let limit = MIN_LIMIT.max(cores * MAX_PER_CORE);
    if let Some(jobs) = jobs.filter(|jobs| *jobs > limit) {
        complain(format_args!("--jobs {jobs} is more than this machine can use; starting {limit} threads"));
    }
    // For rayon, 0 is one thread per core.
    let threads = rayon::ThreadPoolBuilder::new().num_threads(jobs.unwrap_or(0).min(limit));
    match threads.build_global() {
        // An error without a source is that the threads are running already.
        Err(error) if error.source().is_some() => {
            anyhow::bail!("threads could not be started: {error}; --jobs N starts fewer")
        }
        _ => Ok(()),
    }
}

/// Starts the threads, and returns the options of a run that reads `paths` except for the directory `except`.
///
/// # Errors
/// When the threads cannot be started.
pub fn options(
    paths: Vec<PathBuf>,
    except: Option<PathBuf>,
    reading: &args::Reading,
    settings: &Settings,
) -> anyhow::Result<Options> {
    start_threads(reading.jobs)?;
    Ok(Options {
        roots: paths,
        except,
        content: reading.content.unwrap_or(settings.content.value).into(),
        redact: reading.redact || settings.redact.value,
        limit: reading.max_decompressed.map_or(Limit::Usual, Limit::Bytes),
        sidecar: Sidecar {
            runtime: reading.runtime.clone(),
            model: reading.model.clone(),
            labels: labels(&reading.labels, settings),
            ..Sidecar::default()
        },
        path_labels: reading.path_labels.clone(),
        owned: owned(settings),
        formats: settings.formats,
        host: gethostname::gethostname().into_string().ok(),
        now: Some(Time::from(jiff::Timestamp::now())),
        written_since: None,
        earlier_stdin: Vec::new(),
    })
}

/// The labels of the command line, and those of the configuration with other keys.
fn labels(named: &[String], settings: &Settings) -> BTreeSet<String> {
    let key_of = |label: &String| label.split_once('=').map(|(key, _)| key.to_owned());
    let keys: BTreeSet<String> = named.iter().filter_map(key_of).collect();
    let configured = settings.labels.iter().filter(|(key, _)| !keys.contains(*key));
    named.iter().cloned().chain(configured.map(|(_, label)| label.value.clone())).collect()
}
