//! Adds the setting of a server to the text of a client's file. Everything else in the file stays as it is, byte for byte.

use anyhow::{Context, bail};
use serde_json::{Map, Value};

/// The name of the server in settings.
pub(super) const NAME: &str = "agentlogs";

/// The text with the server below `key`; `None` if it contains the same already.
///
/// # Errors
/// When the text cannot be parsed, or contains another server of this name.
pub(super) fn into_json(text: &str, key: &str, server: &Value) -> anyhow::Result<Option<String>> {
    if text.trim().is_empty() {
        let all = Value::Object(Map::from_iter([(key.to_owned(), named(server))]));
        return Ok(Some(format!("{}\n", pretty(&all, "")?)));
    }
    let value: Value = serde_json::from_str(text)?;
    let Value::Object(mut expected) = value else { bail!("is not a JSON object") };
    let servers = expected.entry(key).or_insert_with(|| Value::Object(Map::new()));
    let Value::Object(servers) = servers else { bail!("{key:?} is not a JSON object") };
    match servers.get(NAME) {
        Some(known) if known == server => return Ok(None),
        Some(_) => bail!("contains another server {NAME:?}; remove it, or change it by hand"),
        None => servers.insert(NAME.to_owned(), server.clone()),
    };
    let added = if let Some(place) = place_after_key(text, key) {
        inserted(text, place, &format!("\"{NAME}\": {}", pretty(server, "    ")?), "    ")
    } else {
        let place = text.find('{').context("is not a JSON object")? + 1;
        inserted(text, place, &format!("\"{key}\": {}", pretty(&named(server), "  ")?), "  ")
    };
    // Repeated keys, and keys with escapes, are not worth a better search.
    if serde_json::from_str::<Value>(&added).ok() != Some(Value::Object(expected)) {
        bail!("has a form that is not supported; add the setting by hand");
    }
    Ok(Some(added))
}

/// The text of TOML with the server as a table at its end; `None` if it contains the same already.
///
/// # Errors
/// When the text cannot be parsed, or contains another server of this name.
pub(super) fn into_toml(text: &str, table: &str, server: &toml::Table) -> anyhow::Result<Option<String>> {
    let mut expected: toml::Table = text.parse()?;
    let servers = expected.entry(table).or_insert_with(|| toml::Table::new().into());
    let Some(servers) = servers.as_table_mut() else { bail!("{table} is not a table") };
    match servers.get(NAME) {
        Some(known) if known.as_table() == Some(server) => return Ok(None),
        Some(_) => bail!("contains another server {NAME}; remove it, or change it by hand"),
        None => servers.insert(NAME.to_owned(), server.clone().into()),
    };
    let space = match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let added = format!("{text}{space}{}", section(table, server)?);
    if added.parse::<toml::Table>().ok() != Some(expected) {
        bail!("has a form that is not supported; add the setting by hand");
    }
    Ok(Some(added))
}

/// The server as a section of TOML. Its values are texts and lists of texts, which TOML writes as JSON does.
pub(super) fn section(table: &str, server: &toml::Table) -> anyhow::Result<String> {
    let lines = server.iter().map(|(key, value)| Ok(format!("{key} = {}\n", serde_json::to_string(value)?)));
    Ok(format!("[{table}.{NAME}]\n{}", lines.collect::<anyhow::Result<String>>()?))
}

/// An object with the server.
pub(super) fn named(server: &Value) -> Value {
    Value::Object(Map::from_iter([(NAME.to_owned(), server.clone())]))
}

/// JSON in lines, of which all but the first begin with `indent`.
pub(super) fn pretty(value: &Value, indent: &str) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(value)?.replace('\n', &format!("\n{indent}")))
}

/// The text with a member at the beginning of an object, whose content begins at `place`.
fn inserted(text: &str, place: usize, member: &str, indent: &str) -> String {
    let (before, after) = text.split_at(place);
    let is_empty = after.trim_start().starts_with('}');
    let outer = indent.get(2..).unwrap_or_default();
    let end = if is_empty { format!("\n{outer}") } else { ",".to_owned() };
    let after = if is_empty { after.trim_start() } else { after };
    format!("{before}\n{indent}{member}{end}{after}")
}

/// The place after the `{` of the object that the outermost object has below `key`. The text is valid JSON.
fn place_after_key(text: &str, key: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut depth, mut place, mut last): (usize, usize, Option<&str>) = (0, 0, None);
    while let Some(byte) = bytes.get(place) {
        match byte {
            b'"' => {
                let end = end_of_string(bytes, place + 1)?;
                last = text.get(place + 1..end);
                place = end;
            }
            b'{' if depth == 1 && last == Some(key) => return Some(place + 1),
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            // A value follows, and not a key.
            b',' => last = None,
            _ => {}
        }
        place += 1;
    }
    None
}

/// The place of the quote that ends a string.
fn end_of_string(bytes: &[u8], mut place: usize) -> Option<usize> {
    loop {
        match bytes.get(place)? {
            b'"' => return Some(place),
            b'\\' => place += 2,
            _ => place += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn merged(text: &str) -> Result<Option<String>, String> {
        into_json(text, "mcpServers", &json!({"command": "agentlogs"})).map_err(|error| error.to_string())
    }

    #[test]
    fn json_keeps_everything_else() {
        let server = "\"agentlogs\": {\n      \"command\": \"agentlogs\"\n    }";
        let whole = "{\n  \"mcpServers\": {\n    \"agentlogs\": {\n      \"command\": \"agentlogs\"\n    }\n  }\n}\n";
        assert_eq!(merged("").unwrap().as_deref(), Some(whole));
        assert_eq!(merged(whole), Ok(None));
        for (before, after) in [
            (
                "{\"a\" : 1.0, \"mcpServers\" :\t{ \"x\":{}}, \"z\":1e2 }\n",
                format!("{{\"a\" : 1.0, \"mcpServers\" :\t{{\n    {server}, \"x\":{{}}}}, \"z\":1e2 }}\n"),
            ),
            ("{\"mcpServers\":{}}", format!("{{\"mcpServers\":{{\n    {server}\n  }}}}")),
            (
                "{\"deep\":{\"mcpServers\":{}},\"t\":\"mcpServers\",\"q\\\"\":[{}]}",
                format!(
                    "{{\n  \"mcpServers\": {{\n    {server}\n  }},\"deep\":{{\"mcpServers\":{{}}}},\"t\":\"mcpServers\",\"q\\\"\":[{{}}]}}"
                ),
            ),
        ] {
            assert_eq!(merged(before).unwrap(), Some(after), "{before}");
        }
    }

    #[test]
    fn json_that_is_not_understood_is_refused() {
        for text in [
            "{",
            "[]",
            "// comment\n{}",
            "{\"mcpServers\":[]}",
            "{\"mcpServers\":{\"agentlogs\":{\"command\":\"other\"}}}",
            "{\"mcpServers\":{\"x\":{}},\"mcpServers\":{}}",
            "{\"mcp\\u0053ervers\":{\"x\":{}}}",
        ] {
            assert!(merged(text).is_err(), "{text}");
        }
    }

    #[test]
    fn toml_keeps_everything_else() {
        let server = toml::Table::from_iter([("command".to_owned(), "agentlogs".into())]);
        let merged = |text: &str| into_toml(text, "mcp_servers", &server).map_err(|error| error.to_string());
        let section = "[mcp_servers.agentlogs]\ncommand = \"agentlogs\"\n";
        assert_eq!(merged("").unwrap().as_deref(), Some(section));
        assert_eq!(merged(section), Ok(None));
        let text = "# mine\nmodel = 'x'\n[mcp_servers.\"y z\"]\ncommand = \"a\" # b";
        assert_eq!(merged(text).unwrap(), Some(format!("{text}\n\n{section}")));
        for text in ["x", "mcp_servers = { a = { command = 'x' } }", "mcp_servers = 1", "[mcp_servers.agentlogs]\n"] {
            assert!(merged(text).is_err(), "{text}");
        }
    }
}
