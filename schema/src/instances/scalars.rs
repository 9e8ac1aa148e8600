//! Numbers and strings worth trying: ends of ranges, ends of types, and spellings that get lost easily.

use serde_json::{Number, Value, json};

use super::plan::{Bounds, Text};
use super::random::Random;

/// Ranges of at most this many integers are tried one by one.
const SMALL_RANGE: i128 = 256;

/// 2^53, above which a double no longer holds every integer.
const DOUBLE: i128 = 9_007_199_254_740_992;

/// Integers to try; empty where none lies within the bounds.
pub(super) fn integers(bounds: &Bounds) -> Vec<Value> {
    let (low, high) = bounds.integers();
    let mut all: Vec<i128> = if high - low < SMALL_RANGE {
        (low..=high).collect()
    } else {
        let edges = [
            low,
            high,
            low + 1,
            high - 1,
            0,
            1,
            -1,
            7,
            DOUBLE + 1,
            -DOUBLE - 1,
            i128::from(i64::MAX),
            1_700_000_000_000,
        ];
        edges.into_iter().filter(|edge| (low..=high).contains(edge)).collect()
    };
    if let Some(step) = bounds.whole_step() {
        for number in &mut all {
            *number -= number.rem_euclid(step);
        }
        all.push(step);
        all.retain(|number| (low..=high).contains(number));
    } else if bounds.step.is_some() {
        all.retain(|number| bounds.hold(float(*number)));
    }
    let mut seen = Vec::new();
    all.retain(|number| {
        !seen.contains(number) && {
            seen.push(*number);
            true
        }
    });
    all.into_iter().filter_map(integer).collect()
}

/// Any integer within the bounds, mostly a small one.
pub(super) fn random_integer(bounds: &Bounds, random: &mut Random) -> Option<Value> {
    let (low, high) = bounds.integers();
    if high < low {
        return None;
    }
    let span = if random.percent(70) { (high - low).min(5_000) } else { high - low };
    let offset = i128::from(random.next()) % (span + 1);
    let start = if (low..=high).contains(&0) && low != 0 && span < high { 0 } else { low };
    let number = (start + offset).min(high);
    let down = bounds.whole_step().map_or(0, |step| number.rem_euclid(step));
    integer(number - down)
}

/// Numbers of every spelling: integers, fractions, exponents.
pub(super) fn numbers(bounds: &Bounds) -> Vec<Value> {
    let mut all = vec![
        json!(0),
        json!(1),
        json!(1.0),
        json!(-1),
        json!(0.5),
        json!(1e21),
        json!(-2.25e-7),
        json!(9_007_199_254_740_993_u64),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(-0.0),
        json!(5e-324),
        json!(f64::MAX),
        json!(0.1),
        json!(100.0),
    ];
    let ends =
        [bounds.low, bounds.high, bounds.above.map(|end| end + 0.5), bounds.below.map(|end| end - 0.5), bounds.step];
    all.extend(ends.into_iter().flatten().flat_map(|end| [json!(end), integer(exact(end)).unwrap_or(Value::Null)]));
    if let (Some(low), Some(high)) = (bounds.low.or(bounds.above), bounds.high.or(bounds.below)) {
        all.push(json!(f64::midpoint(low, high)));
    }
    all.retain(|number| number.as_f64().is_some_and(|float| bounds.hold(float)));
    let mut seen = Vec::new();
    all.retain(|number| {
        let text = number.to_string();
        !seen.contains(&text) && {
            seen.push(text);
            true
        }
    });
    all
}

/// Any number within the bounds.
pub(super) fn random_number(bounds: &Bounds, random: &mut Random) -> Option<Value> {
    for _ in 0..8 {
        let tenths = i32::try_from(random.below(200_000)).unwrap_or(0) - 100_000;
        let middle = bounds.low.or(bounds.above).or(bounds.high).or(bounds.below).unwrap_or(0.0);
        let number = middle + f64::from(tenths) / 16.0;
        if bounds.hold(number) {
            return Number::from_f64(number).map(Value::Number);
        }
    }
    let all = numbers(bounds);
    (!all.is_empty()).then(|| all[random.below(all.len())].clone())
}

pub(super) fn integer(number: i128) -> Option<Value> {
    u64::try_from(number).map(Value::from).or_else(|_| i64::try_from(number).map(Value::from)).ok()
}

#[expect(clippy::cast_precision_loss, reason = "only compared with bounds, which are doubles themselves")]
fn float(number: i128) -> f64 {
    number as f64
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "out of range becomes an end of the range, which the caller filters"
)]
fn exact(number: f64) -> i128 {
    number as i128
}

/// How many ways of making a string [`string`] knows.
pub(super) const STRING_WAYS: usize = 5;

/// A string of one way: empty, a word, one that needs escapes, the shortest, the longest. None where the way does not exist.
pub(super) fn string(text: &Text, way: usize, random: &mut Random) -> Option<String> {
    if let Some(pattern) = &text.pattern {
        return (0..16).map(|_| pattern.make(random)).find(|made| text.holds(made));
    }
    let made = match way {
        0 => String::new(),
        1 => stretched(word(random), text),
        2 => stretched(odd(random), text),
        3 => stretched(String::new(), text),
        // Longer limits than this are not worth the time of every test that reads the values.
        _ => "é".repeat(text.most.filter(|most| *most <= 4_096)?),
    };
    text.holds(&made).then_some(made)
}

fn stretched(mut made: String, text: &Text) -> String {
    while made.chars().count() < text.least {
        made.push('x');
    }
    match text.most {
        Some(most) => made.chars().take(most).collect(),
        None => made,
    }
}

/// Lower-case letters and digits.
pub(super) fn word(random: &mut Random) -> String {
    let length = 1 + random.below(9);
    (0..length).map(|_| char::from(b"abcdefghijklmnopqrstuvwxyz0123456789"[random.below(36)])).collect()
}

/// Quotes, backslashes, control characters, letters of one to four bytes.
fn odd(random: &mut Random) -> String {
    const PIECES: [&str; 12] =
        ["\"", "\\", "\u{0}", "\n", "\u{7f}", "ü", "€", "\u{1f980}", "\u{2028}", "/", " ", "\u{feff}"];
    let length = 1 + random.below(6);
    let mut made: String = (0..length).map(|_| PIECES[random.below(PIECES.len())]).collect();
    made.push_str(&word(random));
    made
}
