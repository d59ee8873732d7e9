//! `agentlogs mcp install`: the settings with which clients start the server.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use agentlogs::analysis::export::{Access, write_file};
use agentlogs::base::byte_order_mark::without_mark;
use anyhow::{Context, bail};
use clap::ValueEnum;
use serde_json::{Value, json};

use super::merge::{self, NAME};
use crate::cli::args::{Client, Install};
use crate::cli::commands::Outcome;
use crate::cli::commands::output::say;
use crate::cli::settings::Settings;

/// The key of the servers in the JSON of most clients.
const SERVERS: &str = "mcpServers";
/// The table of the servers in the TOML of Codex.
const TABLE: &str = "mcp_servers";

pub(super) fn run(args: &Install, settings: &Settings) -> anyhow::Result<Outcome> {
    let arguments = arguments(args.archive.as_deref())?;
    if let (Some(client), true) = (args.client, args.write) {
        return write(client, &arguments, settings);
    }
    let clients: Vec<Client> = args.client.map_or_else(|| Client::value_variants().to_vec(), |client| vec![client]);
    let mut out = io::stdout().lock();
    for client in clients {
        say(&format!("in {}:", path(client, settings)?.display()));
        writeln!(out, "{}", setting(client, &arguments)?.trim_end())?;
        out.flush()?;
    }
    Ok(Outcome::Done)
}

/// The arguments with which a client starts the program.
fn arguments(archive: Option<&Path>) -> anyhow::Result<Vec<String>> {
    let Some(archive) = archive else { return Ok(vec!["mcp".to_owned()]) };
    // The client starts the server in any directory.
    let absolute =
        if agentlogs::store::lake::is_url(archive) { archive.to_owned() } else { std::path::absolute(archive)? };
    let text = absolute.to_str().context("the path of the archive is not UTF-8, which settings have to be")?;
    Ok(["mcp", "--archive", text].map(str::to_owned).to_vec())
}

/// The file of a client.
fn path(client: Client, settings: &Settings) -> anyhow::Result<PathBuf> {
    let machine = &settings.machine;
    let home = machine.home().context("no home directory is known")?;
    let named = |variable: &str| machine.variable(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    Ok(match client {
        Client::Claude => named("CLAUDE_CONFIG_DIR").unwrap_or(home).join(".claude.json"),
        Client::Codex => named("CODEX_HOME").unwrap_or_else(|| home.join(".codex")).join("config.toml"),
        Client::Gemini => home.join(".gemini/settings.json"),
        Client::Cursor => home.join(".cursor/mcp.json"),
        Client::Opencode => {
            named("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")).join("opencode/opencode.json")
        }
    })
}

/// The server in the settings of a client, with the key below which servers are.
fn server(client: Client, arguments: &[String]) -> (&'static str, Value) {
    match client {
        Client::Claude => (SERVERS, json!({"type": "stdio", "command": NAME, "args": arguments})),
        Client::Opencode => {
            let command: Vec<&str> = std::iter::once(NAME).chain(arguments.iter().map(String::as_str)).collect();
            ("mcp", json!({"type": "local", "command": command, "enabled": true}))
        }
        Client::Gemini | Client::Cursor | Client::Codex => (SERVERS, json!({"command": NAME, "args": arguments})),
    }
}

fn server_in_toml(arguments: &[String]) -> toml::Table {
    [("command".to_owned(), NAME.into()), ("args".to_owned(), arguments.to_vec().into())].into_iter().collect()
}

/// The setting of a client as text.
fn setting(client: Client, arguments: &[String]) -> anyhow::Result<String> {
    if client == Client::Codex {
        return merge::section(TABLE, &server_in_toml(arguments));
    }
    let (key, server) = server(client, arguments);
    Ok(merge::into_json("", key, &server)?.unwrap_or_default())
}

/// Adds the setting to the file of a client.
fn write(client: Client, arguments: &[String], settings: &Settings) -> anyhow::Result<Outcome> {
    let path = path(client, settings)?;
    let shown = path.display().to_string();
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => bail!("{shown}: {error}"),
    };
    // It stays before the setting.
    let (mark, text) = text.split_at(text.len() - without_mark(text.as_bytes()).len());
    let merged = if client == Client::Codex {
        merge::into_toml(text, TABLE, &server_in_toml(arguments))
    } else {
        let (key, server) = server(client, arguments);
        merge::into_json(text, key, &server)
    };
    let Some(merged) = merged.with_context(|| format!("{shown} is not changed"))? else {
        say(&format!("{shown} has the setting"));
        return Ok(Outcome::Done);
    };
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    }
    // Settings of clients can contain secrets.
    write_file(&path, Access::Owner, |out| out.write_all(format!("{mark}{merged}").as_bytes()))
        .with_context(|| shown.clone())?;
    say(&format!("{shown}: added; restart the client"));
    Ok(Outcome::Done)
}
