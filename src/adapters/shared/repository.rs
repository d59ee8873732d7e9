//! The name of a session's repository, from the remote or the root directory in a log (docs/accounting.md#repository).

use crate::base::split::base_name;

/// The repository of a git remote, as `host/owner/name`: without scheme, user, password, port, query, fragment and `.git`. For a local
/// path, its last component. `None` if nothing is left.
pub fn of_remote(remote: &str) -> Option<String> {
    let end = remote.find(['?', '#']).or_else(|| remote.to_ascii_lowercase().find("%3f"));
    let remote = remote.get(..end.unwrap_or(remote.len())).unwrap_or(remote).trim().trim_end_matches('/');
    let remote = remote.strip_suffix(".git").unwrap_or(remote);
    let (address, path) = match remote.split_once("://") {
        Some(("file", path)) => return of_root(path),
        // A password may contain a slash: what precedes the last @ belongs to the user.
        Some((_, rest)) => rest.rsplit_once('@').map_or(rest, |(_, rest)| rest).split_once('/')?,
        // The form of scp: `user@host:owner/name`. A letter before the colon is a drive of Windows.
        None => match remote.rsplit_once('@').map_or(remote, |(_, rest)| rest).split_once(':') {
            Some((host, path)) if host.len() > 1 && !host.contains(['/', '\\']) => (host, path),
            _ => return of_root(remote),
        },
    };
    let host = address.rsplit_once('@').map_or(address, |(_, host)| host);
    let host = host.split_once(':').map_or(host, |(host, _)| host);
    let path = path.trim_matches('/');
    if host.is_empty() || path.is_empty() {
        return None;
    }
    Some(format!("{}/{path}", host.to_lowercase()))
}

/// The repository of a root directory: the directory's name. `None` for the root of a file system.
pub fn of_root(root: &str) -> Option<String> {
    let name = base_name(root.trim_end_matches(['/', '\\']));
    (!name.is_empty() && !name.ends_with(':')).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remotes_have_one_name_in_all_spellings() {
        for remote in [
            "https://github.com/acme/shop.git",
            "https://github.com/acme/shop/",
            "https://ann:secret@GitHub.com/acme/shop",
            "git@github.com:acme/shop.git",
            "github.com:acme/shop",
            "ssh://git@github.com:22/acme/shop.git",
            "git://github.com/acme/shop",
            "https://github.com/acme/shop.git?private_token=secret",
            "https://github.com/acme/shop#secret",
            "https://oauth2:secret@github.com/acme/shop.git/?token=secret@x",
            "git@github.com:acme/shop.git?token=secret",
            "github.com:acme/shop?token=secret",
            "https://github.com/acme/shop%3Ftoken=secret",
            "ann:secret@github.com:acme/shop.git",
            "https://ann:a/secret@github.com/acme/shop",
        ] {
            assert_eq!(of_remote(remote).as_deref(), Some("github.com/acme/shop"), "{remote}");
        }
        let others = [
            ("https://gitlab.com/group/sub/shop.git", Some("gitlab.com/group/sub/shop")),
            ("/srv/git/shop.git", Some("shop")),
            ("file:///srv/git/shop.git", Some("shop")),
            ("C:\\git\\shop", Some("shop")),
            ("../shop", Some("shop")),
            ("https://github.com", None),
            ("https://:@/x", None),
            ("", None),
        ];
        for (remote, expected) in others {
            assert_eq!(of_remote(remote).as_deref(), expected, "{remote}");
        }
    }

    #[test]
    fn a_root_is_named_by_its_last_component() {
        let cases = [
            ("/home/ann/shop/", Some("shop")),
            ("C:\\work\\shop", Some("shop")),
            ("/", None),
            ("C:\\", None),
            ("", None),
        ];
        for (root, expected) in cases {
            assert_eq!(of_root(root).as_deref(), expected, "{root}");
        }
    }
}
