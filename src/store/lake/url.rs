//! URLs of object stores.

use std::path::{Path, PathBuf};

/// Whether `--archive` names an object store.
pub fn is_url(name: &Path) -> bool {
    let schemes = ["s3", "s3a", "gs", "az", "adl", "abfs", "abfss", "azure"];
    let name = name.to_string_lossy();
    name.split_once("://").is_some_and(|(scheme, _)| schemes.contains(&scheme))
}

/// A URL as messages show it, without credentials in it.
pub fn shown(name: &Path) -> PathBuf {
    let name = name.to_string_lossy();
    let Some((scheme, rest)) = name.split_once("://") else { return PathBuf::from(&*name) };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.rsplit_once('@').map_or_else(|| host.to_owned(), |(_, host)| format!("***@{host}"));
    PathBuf::from(format!("{scheme}://{host}/{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_shown_without_credentials() {
        for (url, expected) in [
            ("s3://bucket/a/b", "s3://bucket/a/b"),
            ("s3://key:secret@bucket/a@b", "s3://***@bucket/a@b"),
            ("az://container/a?sig=secret", "az://container/a"),
            ("a/directory@home", "a/directory@home"),
        ] {
            assert_eq!(shown(Path::new(url)), Path::new(expected));
        }
    }
}
