//! Changes of a document, as a log of them states them.

#![cfg_attr(not(test), expect(clippy::indexing_slicing, reason = "a member of a JSON value that is absent is null"))]

use serde_json::Value;

/// Applies a change: `k` is the path; kind 1 sets `v`, kind 2 removes what follows index `i` of an array and appends the elements of
/// `v`, kind 3 deletes. Returns whether the document has that path.
pub(super) fn apply(document: &mut Value, mut change: Value) -> bool {
    let mut take = |key: &str| change.get_mut(key).map(Value::take).unwrap_or_default();
    let (path, value) = (take("k"), take("v"));
    let Some((last, parents)) = path.as_array().and_then(|path| path.split_last()) else { return false };
    let Some(parent) = parents.iter().try_fold(document, child_of) else { return false };
    match change["kind"].as_i64() {
        Some(1) => set(parent, last, value),
        Some(2) => child_of(parent, last).is_some_and(|array| append(array, change["i"].as_u64(), value)),
        Some(3) => delete(parent, last),
        _ => false,
    }
}

/// The index from which on a change removes the requests of the document: it cuts their list, or replaces it.
pub(super) fn removes_requests_from(change: &Value) -> Option<usize> {
    let is_of_list = matches!(change["k"].as_array().map(Vec::as_slice), Some([key]) if key == "requests");
    match change["kind"].as_i64().filter(|_| is_of_list) {
        Some(1 | 3) => Some(0),
        Some(2) => usize::try_from(change["i"].as_u64()?).ok(),
        _ => None,
    }
}

fn child_of<'v>(parent: &'v mut Value, key: &Value) -> Option<&'v mut Value> {
    match key {
        Value::String(key) => parent.as_object_mut()?.get_mut(key),
        _ => parent.as_array_mut()?.get_mut(usize::try_from(key.as_u64()?).ok()?),
    }
}

fn set(parent: &mut Value, key: &Value, value: Value) -> bool {
    match (parent, key) {
        (Value::Object(object), Value::String(key)) => {
            object.insert(key.clone(), value);
            true
        }
        (Value::Array(array), key) => {
            let index = key.as_u64().and_then(|index| usize::try_from(index).ok());
            match index.map(|index| (index == array.len(), array.get_mut(index))) {
                Some((true, _)) => array.push(value),
                Some((false, Some(known))) => *known = value,
                _ => return false,
            }
            true
        }
        _ => false,
    }
}

fn append(array: &mut Value, from: Option<u64>, value: Value) -> bool {
    let Value::Array(array) = array else { return false };
    if let Some(from) = from {
        array.truncate(usize::try_from(from).unwrap_or(usize::MAX));
    }
    if let Value::Array(more) = value {
        array.extend(more);
    }
    true
}

fn delete(parent: &mut Value, key: &Value) -> bool {
    match (parent, key) {
        (Value::Object(object), Value::String(key)) => object.remove(key).is_some(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_of_the_list_can_remove_requests() {
        for (change, expected) in [
            (json!({"kind": 2, "k": ["requests"], "i": 1, "v": []}), Some(1)),
            (json!({"kind": 2, "k": ["requests"], "v": [{}]}), None),
            (json!({"kind": 1, "k": ["requests"], "v": []}), Some(0)),
            (json!({"kind": 2, "k": ["requests", 0, "response"], "i": 0}), None),
            (json!({"kind": 1, "k": ["customTitle"], "v": "x"}), None),
        ] {
            assert_eq!(removes_requests_from(&change), expected, "{change}");
        }
    }

    #[test]
    fn a_document_is_the_sum_of_its_changes() {
        let mut document = json!({"requests": [{"response": [1, 2]}], "title": "a"});
        let changes = [
            (json!({"kind": 1, "k": ["title"], "v": "b"}), true),
            (json!({"kind": 2, "k": ["requests"], "v": [{"response": []}]}), true),
            (json!({"kind": 2, "k": ["requests", 0, "response"], "i": 1, "v": [3, 4]}), true),
            (json!({"kind": 1, "k": ["requests", 1, "result"], "v": {"ok": true}}), true),
            (json!({"kind": 3, "k": ["title"]}), true),
            (json!({"kind": 1, "k": ["requests", 9, "result"], "v": 1}), false),
            (json!({"kind": 1, "k": ["requests", 900_000_000_000_u64], "v": 1}), false),
            (json!({"kind": 2, "k": ["requests", 0, "response", 0], "v": [1]}), false),
            (json!({"kind": 1, "k": [], "v": 1}), false),
            (json!({"kind": 7, "k": ["title"]}), false),
        ];
        for (change, expected) in changes {
            assert_eq!(apply(&mut document, change.clone()), expected, "{change}");
        }
        assert_eq!(document, json!({"requests": [{"response": [1, 3, 4]}, {"response": [], "result": {"ok": true}}]}));
    }
}
