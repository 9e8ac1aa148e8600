//! The rules as data: whole, and refused where they are not.

use std::collections::BTreeMap;

use msp_judge::Rule;
use msp_judge::rules::table::{Reason, Table, TableError, Version};

#[test]
fn every_rule_has_a_judge_or_a_reason() {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in Table::msp().rows() {
        assert_eq!(row.reason().is_some(), row.check().is_none(), "{}", row.id());
        assert_eq!(row.reason().is_some(), row.fault().is_none(), "{}", row.id());
        if let Some(reason) = row.reason() {
            reasons.entry(reason.word()).or_default().push(row.id());
        }
        assert_eq!(Rule::find(row.id()).map(Rule::id), Some(row.id()));
    }
    let without: usize = reasons.values().map(Vec::len).sum();
    println!("{} rules, {without} of them without a judge: {reasons:#?}", Table::msp().rows().len());
    assert_eq!(Table::msp().rows().len(), 445);
    assert!(445 - without >= 410);
}

#[test]
fn versions_compare_by_their_numbers() {
    let version = |text: &str| Version::parse(text);
    assert!(version("1.4.9") < version("1.4.13") && version("1.4.13") < Some(Version::NEWEST));
    assert_eq!(version("1.4.13").unwrap().to_string(), "1.4.13");
    for text in ["", "1.4", "1.4.x", "1.4.13.1", "v1.4.13", "1.4.99999"] {
        assert_eq!(version(text), None, "{text}");
    }
    let row = Table::msp().find("TURN-21").unwrap();
    assert!(!row.holds_in(Version(1, 4, 4)) && row.holds_in(Version(1, 4, 6)) && row.holds_in(Version::NEWEST));
}

const GOOD: &str = "
[[rule]]
id = 'CUR-1'
level = 'MUST'
who = 'host'
statement = '''
two
  lines'''
source = 'somewhere'
visible = ['frames']
since = '1.3.1'
until = '1.4.2'
premise = 'p'
check = 'c'
fault = 'f'
scenario = 's'
schema = ['/$defs/Item']
";

#[test]
fn a_rule_is_read() {
    let table = Table::parse(GOOD).unwrap();
    let row = table.find("CUR-1").unwrap();
    assert_eq!((row.statement(), row.family(), row.claims()), ("two lines", "CUR", &["/$defs/Item".to_owned()][..]));
    assert_eq!(row.until(), Some(Version(1, 4, 2)));
    assert!(!row.holds_in(Version(1, 4, 3)));
    let given_up = GOOD.split("premise").next().unwrap().to_owned() + "reason = 'real-model'";
    assert_eq!(Table::parse(&given_up).unwrap().rows()[0].reason(), Some(Reason::RealModel));
}

#[test]
fn what_no_rule_may_say_is_refused() {
    let cases = [
        ("id = 'CUR-1'", "id = 'CUR-01'", "rule `CUR-01`: the id is not of the form `CUR-1`"),
        ("id = 'CUR-1'", "id = 'Cur-1'", "rule `Cur-1`: the id is not of the form `CUR-1`"),
        ("since = '1.3.1'", "since = '1.3'", "a version is three numbers"),
        ("until = '1.4.2'", "until = 'never'", "a version is three numbers"),
        ("until = '1.4.2'", "until = '1.3.0'", "`until` is before `since`"),
        ("source = 'somewhere'", "source = ' '", "a text is empty"),
        ("premise = 'p'", "premise = ''", "a text is empty"),
        ("visible = ['frames']", "visible = []", "`visible` names nothing"),
        ("visible = ['frames']", "visible = ['frames', 'nothing']", "beside `nothing`"),
        ("visible = ['frames']", "visible = ['nothing']", "nothing is visible, and there is no `reason`"),
        ("visible = ['frames']", "visible = ['smells']", "unknown variant"),
        ("premise = 'p'", "reason = 'permission'\npremise = 'p'", "a `reason` beside what a judge needs"),
        ("premise = 'p'", "reason = 'too hard'", "unknown variant"),
        ("check = 'c'", "", "neither a `reason` nor"),
        ("schema = ['/$defs/Item']", "schema = ['Item']", "a claim that names no place"),
        ("level = 'MUST'", "level = 'must'", "unknown variant"),
        ("who = 'host'", "who = 'nobody'", "unknown variant"),
        ("who = 'host'", "", "missing field `who`"),
        ("who = 'host'", "who = 'host'\nsmell = 'odd'", "unknown field"),
    ];
    for (from, to, words) in cases {
        assert!(GOOD.contains(from));
        let text = GOOD.replacen(from, to, 1);
        let error = Table::parse(&text).unwrap_err().to_string();
        assert!(error.contains(words), "{from} as {to}: {error}");
    }
    let twice = format!("{GOOD}{GOOD}");
    assert!(matches!(Table::parse(&twice), Err(TableError::Rule { what: "the id comes twice", .. })));
}
