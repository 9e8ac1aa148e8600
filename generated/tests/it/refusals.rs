//! What an object says when it is refused, and where. One row for each way in which its members can be wrong.

use msp_types::msp::{Item, ViewPageParams};
use msp_types::session::{ContentBlockImage, ContentBlockText};
use serde::de::DeserializeOwned;

/// The error of decoding as `T`, without the place in the text that `serde_json` adds; none where the text is taken.
fn refusal<T: DeserializeOwned>(text: &str) -> Option<String> {
    let error = serde_json::from_str::<T>(text).err()?.to_string();
    Some(error.split(" at line ").next().unwrap_or_default().to_owned())
}

type Refusal = fn(&str) -> Option<String>;

#[test]
fn an_object_is_refused_with_the_name_of_the_member() {
    let rows: &[(&str, Refusal, &str, Option<&str>)] = &[
        ("all is well", refusal::<ViewPageParams>, r#"{"sessionId":"s","limit":1}"#, None),
        ("in another order", refusal::<ViewPageParams>, r#"{"limit":1,"new":[],"sessionId":"s"}"#, None),
        ("required, absent", refusal::<ViewPageParams>, r#"{"sessionId":"s"}"#, Some("missing field `limit`")),
        (
            "named twice",
            refusal::<ViewPageParams>,
            r#"{"sessionId":"s","limit":1,"sessionId":"t"}"#,
            Some("duplicate field `sessionId`"),
        ),
        (
            "optional, named twice",
            refusal::<ViewPageParams>,
            r#"{"sessionId":"s","limit":1,"cursor":"a","cursor":"b"}"#,
            Some("duplicate field `cursor`"),
        ),
        (
            "optional, null",
            refusal::<ViewPageParams>,
            r#"{"sessionId":"s","limit":1,"cursor":null}"#,
            Some("`/cursor`: invalid type: null, expected a string"),
        ),
        (
            "of the wrong type, further in",
            refusal::<Item>,
            r#"{"itemId":"i","kind":"k","revision":1,"status":"s","damagedRange":{"missingRecords":"1"}}"#,
            Some("`/damagedRange/missingRecords`: invalid type: string \"1\", expected i64"),
        ),
        (
            "no object",
            refusal::<ViewPageParams>,
            "7",
            Some("invalid type: integer `7`, expected an object that is a `ViewPageParams`"),
        ),
        (
            "unknown, named twice: the last counts",
            refusal::<ViewPageParams>,
            r#"{"sessionId":"s","limit":1,"x":1,"x":2}"#,
            None,
        ),
        (
            "absent, null or a text: absent",
            refusal::<ContentBlockImage>,
            r#"{"type":"image","mime":"m","data":""}"#,
            None,
        ),
        ("constant, right", refusal::<ContentBlockText>, r#"{"text":"t","type":"text"}"#, None),
        (
            "constant, another text",
            refusal::<ContentBlockText>,
            r#"{"type":"image","text":"t"}"#,
            Some("member `type` is `image`, expected `text`"),
        ),
        ("constant, absent", refusal::<ContentBlockText>, r#"{"text":"t"}"#, Some("missing field `type`")),
        (
            "constant, no text",
            refusal::<ContentBlockText>,
            r#"{"type":1,"text":"t"}"#,
            Some("`/type`: invalid type: integer `1`, expected a string"),
        ),
        (
            "constant, named twice",
            refusal::<ContentBlockText>,
            r#"{"type":"text","type":"text","text":"t"}"#,
            Some("duplicate field `type`"),
        ),
        (
            "absent, null or a text: null",
            refusal::<ContentBlockImage>,
            r#"{"type":"image","mime":"m","data":"","attachment_id":null}"#,
            None,
        ),
    ];
    let wrong: Vec<_> =
        rows.iter().filter(|(_, decode, text, expected)| decode(text).as_deref() != *expected).collect();
    let said: Vec<_> = wrong.iter().map(|(what, decode, text, _)| (*what, decode(text))).collect();
    assert!(said.is_empty(), "{said:#?}");
}
