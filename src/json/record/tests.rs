//! A record is read as one that serde derives, whatever the order of its members and whatever is damaged in it.

use crate::json::fields::{Count, Maybe, Number, Text, TextOrBlocks, When};
use crate::json::record::Skip;
use crate::json::{self, Raw, WithRaw};

record! {
    struct Outer<'a> {
        "type" => kind: Text<'a>,
        "parent" => _parent: Skip,
        "time" => time: When,
        "inner" => inner: Inner<'a>,
        "usage" => usage: Maybe<Box<Inner<'a>>>,
        "list" => list: TextOrBlocks<'a, Inner<'a>>,
        "both" => both: WithRaw<'a, Inner<'a>>,
        "raw" => raw: Raw<'a>,
    }
}

record! {
    struct Inner<'a> {
        "id" => id: Text<'a>,
        "n" => n: Count,
        "cost" => cost: Number,
    }
}

mod by_key {
    use serde::Deserialize;

    use super::{Count, Maybe, Number, Raw, Skip, Text, TextOrBlocks, When, WithRaw};

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    pub struct Outer<'a> {
        #[serde(borrow, rename = "type")]
        kind: Text<'a>,
        #[serde(rename = "parent")]
        _parent: Skip,
        time: When,
        #[serde(borrow)]
        inner: Inner<'a>,
        #[serde(borrow)]
        usage: Maybe<Box<Inner<'a>>>,
        #[serde(borrow)]
        list: TextOrBlocks<'a, Inner<'a>>,
        #[serde(borrow)]
        both: WithRaw<'a, Inner<'a>>,
        #[serde(borrow)]
        raw: Raw<'a>,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Inner<'a> {
        #[serde(borrow)]
        id: Text<'a>,
        n: Count,
        cost: Number,
    }
}

/// Fails unless both declarations read the same from `json`. Returns whether it is a record.
fn check(json: &str) -> bool {
    let record = json::from_slice::<Outer<'_>>(json.as_bytes());
    let derived = json::from_slice::<by_key::Outer<'_>>(json.as_bytes());
    let is_record = derived.is_ok();
    assert_eq!(
        record.map(|record| format!("{record:?}")).ok(),
        derived.map(|record| format!("{record:?}")).ok(),
        "{json}"
    );
    let mut in_place = Outer::default();
    assert_eq!(json::read_into(json.as_bytes(), &mut in_place).is_ok(), is_record, "{json}");
    is_record
}

const INNER: &str = r#"{"id":"a","n":7,"cost":0.5}"#;

/// The members of a record, in their usual order.
fn members() -> [String; 8] {
    [
        r#""type":"x""#.to_owned(),
        r#""parent":null"#.to_owned(),
        r#""time":"2026-01-02T03:04:05Z""#.to_owned(),
        format!(r#""inner":{INNER}"#),
        format!(r#""usage":{INNER}"#),
        format!(r#""list":[{INNER},{{"n":3,"id":"b"}}]"#),
        format!(r#""both":{INNER}"#),
        r#""raw":{"b":[1]}"#.to_owned(),
    ]
}

#[test]
fn the_order_of_members_does_not_matter() {
    let members = members();
    let usual =
        format!("{:?}", json::from_slice::<Outer<'_>>(format!("{{{}}}", members.join(",")).as_bytes()).unwrap());
    for shift in 0..members.len() {
        for step in [1, 3, 5, 7] {
            let order = (0..members.len()).map(|index| members[(shift + index * step) % members.len()].clone());
            for separator in [",", " , ", ",\"unknown\":{\"id\":\"y\"},"] {
                let record = format!("{{{}}}", order.clone().collect::<Vec<_>>().join(separator));
                assert!(check(&record));
                let read: Outer<'_> = json::from_slice(record.as_bytes()).unwrap();
                assert_eq!(format!("{read:?}"), usual, "{record}");
            }
        }
    }
}

#[test]
fn absent_and_repeated_members_are_read_as_by_key() {
    let members = members();
    for absent in 0..1 << members.len() {
        let present = (0..members.len()).filter(|index| absent >> index & 1 == 0).map(|index| members[index].clone());
        assert!(check(&format!("{{{}}}", present.collect::<Vec<_>>().join(","))));
    }
    let whole = members.join(",");
    for name in ["type", "parent", "time", "inner", "usage", "list", "both", "raw", "id", "n", "cost", "x"] {
        for value in ["\"y\"", "\"\\n\"", "null", "true", "{}", "[7]", "0.5", "-3", "1e400", "\""] {
            let member = format!("\"{name}\":{value}");
            for (at, _) in whole.match_indices(',') {
                check(&format!("{{{},{member}{}}}", &whole[..at], &whole[at..]));
            }
            check(&format!("{{{member},{whole}}}"));
            check(&format!("{{{whole},{member}}}"));
            check(&format!("{{{whole}}}").replace(&format!("\"{name}\":"), &format!("{member},\"z\":")));
        }
    }
}

#[test]
fn damaged_records_are_read_as_by_key() {
    let whole = format!("{{{}}}", members().join(","));
    let mut records = 0;
    for (at, _) in whole.char_indices() {
        records += usize::from(check(&whole[..at]));
        for other in ["", " ", "\"", "\\", "{", "}", "[", "]", ",", ":", "0", "e", "\u{e9}", "\u{1}"] {
            records += usize::from(check(&format!("{}{other}{}", &whole[..at], &whole[at + 1..])));
            records += usize::from(check(&format!("{}{other}{}", &whole[..at], &whole[at..])));
        }
    }
    assert!(records > 1000, "{records}");
    for other in ["null", "7", "\"x\"", "[]", "[{}]", "{}", " {} ", "{", "}", "", "{\"n\"}", "{\"inner\":[]}"] {
        check(other);
    }
}
