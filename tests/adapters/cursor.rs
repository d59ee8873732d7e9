//! Cursor's recorded stdout.

use super::{sessions, tables};

const INIT: &str = r#"{"type":"system","subtype":"init","apiKeySource":"login","cwd":"/work/shop","session_id":"s","model":"Composer 2","permissionMode":"default"}"#;

fn result(second: u32, usage: &str) -> String {
    format!(
        r#"{{"type":"result","subtype":"success","duration_ms":{second}000,"is_error":false,"result":"Done.","session_id":"s","request_id":"r{second}","usage":{usage}}}"#
    )
}

/// Each run has its own counts, also in a resumed session.
#[test]
fn runs_of_one_session_add() {
    let (first, second) = (
        result(1, r#"{"inputTokens":50,"outputTokens":9,"cacheReadTokens":70}"#),
        result(2, r#"{"inputTokens":60,"outputTokens":10,"cacheReadTokens":80}"#),
    );
    let tables = tables(&[[INIT, &first, INIT, &second].join("\n")]);
    assert_eq!(tables.sessions[0].tokens.kinds(), [Some(110), Some(19), Some(150), None]);
    assert_eq!(tables.sessions[0].duration_ms, Some(3000));
    assert_eq!(sessions(&[INIT, &result(1, "{}")].join("\n"))[0].totals[0].models, []);
}
