//! Links: hashed ids by which one file can concern the same sessions or responses as another file.

use super::{forked_totals, joins};
use crate::model::delegation::link_of_start;
use crate::model::id_hash::{IdHash, link};
use crate::model::session::{Details, EventKind, Identity, SessionResult};
use crate::model::source::Source;
use crate::model::trial::whole;

/// The links of a file: its session ids, response ids, prompts and content. Files that share no link, not even through
/// other files, can be reconciled separately with the same result: see [`groups`](super::groups).
pub fn links(source: &Source) -> Box<[u64]> {
    links_of(&source.sessions, source.content_hash.as_deref())
}

/// The [`links`] of sessions and of the content hash of their file.
pub fn links_of(sessions: &[SessionResult], content_hash: Option<&str>) -> Box<[u64]> {
    let mut links: Vec<u64> = content_hash.into_iter().map(|hash| link("content", hash)).collect();
    for session in sessions {
        let other_sessions =
            [&session.id_if_cut, &session.parent_session_id, &session.provider_session_id, &session.continues];
        let ids = other_sessions.into_iter().flatten().chain([&session.session_id]);
        let ids = ids.chain(&session.contains);
        links.extend(ids.chain(session.delegates.iter().map(|(_, id)| id)).map(|id| link("id", id)));
        let children = session.events.iter().filter(|event| event.kind == EventKind::Subagent);
        links.extend(children.filter_map(|event| event.code.as_deref()).map(|id| link("id", id)));
        let prompts = session.prompts.iter().chain(session.prompt_candidates.values());
        let identities = session.turns.iter().map(|turn| &turn.identity).chain(prompts).chain(&session.answers);
        links.extend(identities.filter_map(link_of));
        let details = session.turns.iter().filter_map(|turn| turn.details.as_deref());
        links.extend(details.flat_map(Details::names).map(IdHash::link));
        // Copies of a history begin with its first response. Other ids than those of the provider may be masked.
        let first_request = session.turns.iter().find_map(|turn| turn.request_id.as_deref());
        links.extend(first_request.filter(|id| id.starts_with("req_")).map(|id| link("request", id)));
        links.extend(session.trial.as_deref().map(|trial| link("trial", whole(trial))));
        links.extend(session.messages.iter().copied().map(IdHash::link));
        if let Some(cwd) = &session.cwd {
            links.extend(session.delegation.iter().flat_map(|delegation| delegation.links(cwd)));
            links.extend(session.started_at.map(|start| link_of_start(&session.runtime, cwd, start)));
        }
        links.extend(joins::links(session));
        links.extend(forked_totals::links(session));
    }
    distinct(links)
}

fn link_of(identity: &Identity) -> Option<u64> {
    match identity {
        Identity::Global(name) => Some(name.link()),
        // Its final name is not known yet, but it is the name of a response in one of the thread's sessions.
        Identity::Thread(thread, _) => Some(link("id", thread)),
        Identity::Unique | Identity::Session(_) => None,
    }
}

/// Sorted links, each once.
pub fn distinct(mut links: Vec<u64>) -> Box<[u64]> {
    links.sort_unstable();
    links.dedup();
    links.into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_can_concern_the_same_session_share_a_link() {
        let named = |id: &str| SessionResult { session_id: id.to_owned(), ..SessionResult::default() };
        let parent = Some("s1".to_owned());
        let cases = [
            ("the same id", named("s1"), true),
            ("another id", named("s2"), false),
            ("a child", SessionResult { parent_session_id: parent.clone(), ..named("s2") }, true),
            ("a wrapper", SessionResult { provider_session_id: parent.clone(), ..named("s2") }, true),
            ("a log that ends with its id", SessionResult { id_if_cut: parent.clone(), ..named("s2") }, true),
            ("a fork", SessionResult { continues: parent, ..named("s2") }, true),
        ];
        let first = links_of(&[named("s1")], Some("hash of a"));
        for (name, session, expected) in cases {
            let links = links_of(&[session], Some("hash of b"));
            assert_eq!(links.iter().any(|link| first.contains(link)), expected, "{name}");
        }
        assert!(links_of(&[named("s2")], Some("hash of a")).iter().any(|link| first.contains(link)));
    }
}
