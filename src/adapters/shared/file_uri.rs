//! Paths that editors log as URIs.

/// The path of a `file:` URI, or that on the other machine of a `vscode-remote:` URI. `None` for other schemes.
pub fn path(uri: &str) -> Option<String> {
    let (scheme, rest) = uri.split_once("://")?;
    let (authority, path) = rest.split_at(rest.find('/')?);
    let path = decoded(path)?;
    let drive = path.strip_prefix('/').filter(|rest| rest.as_bytes().get(1) == Some(&b':'));
    match (scheme, drive) {
        // VS Code writes the drive in lower case, programs on Windows in upper case.
        ("file", Some(rest)) => {
            let mut letters = rest.chars();
            let drive = letters.next()?.to_ascii_uppercase();
            Some(format!("{drive}{}", letters.as_str()).replace('/', "\\"))
        }
        ("file", None) if !authority.is_empty() => Some(format!("//{authority}{path}").replace('/', "\\")),
        ("file" | "vscode-remote", _) => Some(path),
        _ => None,
    }
}

/// A text whose bytes may be written as `%` and two hexadecimal digits.
fn decoded(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_of_files_are_paths() {
        for (uri, expected) in [
            ("file:///home/u/web", Some("/home/u/web")),
            ("file:///home/u/my%20web%C3%A4", Some("/home/u/my web\u{e4}")),
            ("file:///c%3A/Users/u/web", Some("C:\\Users\\u\\web")),
            ("file://server/share/web", Some("\\\\server\\share\\web")),
            ("vscode-remote://ssh-remote%2Bhost/srv/web", Some("/srv/web")),
            ("vscode-vfs://github/acme/web", None),
            ("file:///bad%2", None),
            ("file:///bad%zz", None),
            ("/home/u/web", None),
            ("file://", None),
            ("", None),
        ] {
            assert_eq!(path(uri).as_deref(), expected, "{uri}");
        }
    }
}
