//! Whatever the fast lane accepts, `jsonschema` accepts, and finds nothing new in it.
//!
//! A seeded part runs by default; `FULL=1` takes more than 100,000 frames.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use msp_judge::probe::Probe;
use msp_judge::transcript::{Entry, Frame, Side, What};
use msp_judge::{Judge, Library, Overlay, Profile, Rule, Schema, Surface, Why};
use serde_json::{Value, json};

use crate::frames::{Sample, made, recorded};
use crate::mutate::{Dice, mutate};
use crate::reference::Reference;

/// What was tried.
#[derive(Default, Debug)]
struct Tally {
    frames: usize,
    accepted: usize,
    wrong: Vec<String>,
    asked: BTreeMap<String, usize>,
    /// For each reason to ask: frames that would be accepted wrongly if the lane ignored it.
    caught: BTreeMap<String, usize>,
}

impl Tally {
    fn try_frame(&mut self, schema: &Schema, reference: &mut Reference, sample: &Sample, bytes: &[u8]) {
        let mut probe = Probe::new(schema);
        if let Some(method) = &sample.answers {
            probe.ask(sample.side.other(), 1, method);
        }
        self.frames += 1;
        match probe.accept(sample.side, bytes, None) {
            Ok(()) => {
                self.accepted += 1;
                if !reference.accepts(sample.side, sample.answers.as_deref(), bytes) {
                    self.wrong.push(String::from_utf8_lossy(bytes).into_owned());
                }
            }
            Err(why) => {
                *self.asked.entry(format!("{why:?}")).or_default() += 1;
                let caught = self.caught.entry(format!("{why:?}")).or_default();
                // A few are enough to know that the reason is needed.
                if *caught < 3
                    && probe.accept(sample.side, bytes, Some(why)).is_ok()
                    && !reference.accepts(sample.side, sample.answers.as_deref(), bytes)
                {
                    *caught += 1;
                }
            }
        }
    }

    fn run(
        &mut self,
        schema: &Schema,
        bundle: &Value,
        samples: impl Fn(&Reference, &mut Dice) -> Vec<Sample>,
        mutations: usize,
        seed: u64,
    ) {
        let mut reference = Reference::new(bundle);
        let mut dice = Dice(seed);
        let samples = samples(&reference, &mut dice);
        for sample in &samples {
            self.try_frame(schema, &mut reference, sample, sample.frame.to_string().as_bytes());
        }
        for turn in 0..mutations {
            let mut sample = samples[turn % samples.len()].clone();
            let bytes = mutate(&sample.frame, &mut dice);
            if dice.below(40) == 0 {
                sample.side = sample.side.other();
            }
            self.try_frame(schema, &mut reference, &sample, &bytes);
        }
    }
}

/// Frames that neither side ends or interrupts with a line feed: of those the judge says more than the library.
fn is_one_line(bytes: &[u8]) -> bool {
    !bytes.contains(&b'\n') && bytes.last() != Some(&b'\r')
}

/// Whether the whole judge, both lanes, has nothing to say about a frame.
fn is_fine(schema: &Arc<Schema>, sample: &Sample, bytes: &[u8]) -> bool {
    let mut profile = Profile::default();
    // The library knows shapes, not what one frame says about another.
    profile.rules = false;
    let mut judge = Judge::new(Arc::clone(schema), profile);
    if let Some(method) = &sample.answers {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method }).to_string();
        let frame = Frame { side: Some(sample.side.other()), bytes: request.as_bytes() };
        judge.observe(&Entry { line: 1, conn: "", at_ms: None, what: What::Frame(frame) });
        judge.take_findings();
    }
    let frame = Frame { side: Some(sample.side), bytes };
    judge.observe(&Entry { line: 2, conn: "", at_ms: None, what: What::Frame(frame) });
    // Which requests are open is nothing that a schema knows.
    judge.finish().findings.iter().all(|finding| matches!(finding.rule, Rule::UNPAIRED | Rule::UNASKED))
}

/// Keywords that MSP does not use, so that nothing of the compiler goes untried.
fn other_keywords() -> Value {
    json!({
        "$defs": {
            "ErrorObject": { "type": "object" },
            "Shelf": {
                "type": "object",
                "properties": {
                    "rows": { "type": "array", "items": { "type": "integer", "minimum": 0, "maximum": 60000 }, "minItems": 1, "maxItems": 2 },
                    "label": { "type": "string", "minLength": 1 },
                    "never": false,
                    "odd": { "type": "integer", "multipleOf": 2 },
                    "half": { "type": "number" },
                    "most": { "type": "number", "maximum": 0.75 },
                    "tagged": { "oneOf": [
                        { "type": "object", "properties": { "kind": { "const": "loaf" }, "grams": { "type": "integer" } }, "required": ["kind", "grams"] },
                        { "type": "object", "properties": { "kind": { "enum": ["tray", "box"] } }, "required": ["kind"], "additionalProperties": false },
                    ] },
                    "both": { "oneOf": [{ "type": "string" }, { "type": "string", "minLength": 3 }] },
                    "all": { "allOf": [{ "$ref": "#/$defs/Base" }, { "type": "object", "properties": { "b": { "type": "boolean" } }, "required": ["b"] }] },
                    "beside": { "$ref": "#/$defs/Base", "required": ["c"] },
                    "untyped": { "minimum": 3, "minLength": 2, "required": ["x"] },
                    "names": { "type": "object", "additionalProperties": { "type": ["string", "null"] } },
                    "maybe": { "type": ["integer", "null"], "minimum": 5 },
                },
                "required": ["rows"],
                "additionalProperties": false,
                "dependentRequired": { "label": ["half"] },
            },
            "Base": { "type": "object", "properties": { "a": { "type": "integer" }, "next": { "$ref": "#/$defs/Base" } }, "required": ["a"] },
        },
        "methods": { "shelf/set": { "params": { "$ref": "#/$defs/Shelf" }, "result": { "type": "object", "properties": { "a": { "type": "null" } }, "required": ["a"] } } },
        "notifications": {}, "requests": {},
    })
}

fn shelves() -> Vec<Sample> {
    let bodies = [
        json!({ "rows": [1, 2], "label": "rye", "half": 0.5, "tagged": { "kind": "loaf", "grams": 750 }, "all": { "a": 1, "b": true } }),
        json!({ "rows": [0], "tagged": { "kind": "box" }, "names": { "x": null, "y": "z" }, "maybe": 5 }),
        json!({ "rows": [60000], "beside": { "a": 1, "c": 2, "next": { "a": 2, "next": { "a": 3 } } }, "maybe": null }),
        json!({ "rows": [1], "untyped": 3, "most": 0.5 }),
        json!({ "rows": [1], "untyped": { "x": 1 }, "odd": 4 }),
        json!({ "rows": [1], "untyped": true, "both": "ab" }),
    ];
    let mut samples: Vec<Sample> = bodies
        .into_iter()
        .map(|params| Sample {
            side: Side::Client,
            answers: None,
            frame: json!({ "jsonrpc": "2.0", "id": 1, "method": "shelf/set", "params": params }),
        })
        .collect();
    // What only a mutation of the shape would hit rarely.
    for (name, value) in [
        ("never", json!(1)),
        ("extra", json!(1)),
        ("odd", json!(3)),
        ("both", json!("abcd")),
        ("rows", json!([1, 2, 3])),
    ] {
        let mut sample = samples[0].clone();
        sample.frame["params"][name] = value;
        samples.push(sample);
    }
    let frame = json!({ "jsonrpc": "2.0", "id": 1, "result": { "a": null } });
    samples.push(Sample { side: Side::Server, answers: Some("shelf/set".into()), frame });
    samples
}

/// Reasons that the frames of this test have to prove needed. The others end the reading of a frame: ignoring them
/// means nothing.
const NEEDED: [Why; 19] = [
    Why::Unknown,
    Why::Control,
    Why::Escape,
    Why::Surrogate,
    Why::Number,
    Why::Deep,
    Why::Kind,
    Why::Never,
    Why::Word,
    Why::Bound,
    Why::Text,
    Why::Items,
    Why::Missing,
    Why::Dependent,
    Why::Rest,
    Why::Duplicate,
    Why::EscapedName,
    Why::Branch,
    Why::Method,
];

fn compare() {
    let full = std::env::var_os("FULL").is_some();
    let (each, mutations) = if full { (12, 100_000) } else { (2, 24_000) };
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = Library::new(Surface::Experimental).unwrap();
    let bundle: Value = serde_json::from_str(msp_schema::published::text(Surface::Experimental)).unwrap();
    let mut tally = Tally::default();
    let samples = |reference: &Reference, dice: &mut Dice| {
        let mut samples = recorded(&here.join("../recordings"));
        samples.extend(recorded(&here.join("../../../shared/msp/transcripts")));
        assert!(samples.len() > 700, "the recordings of the kit are missing");
        samples.extend(made(reference, each, dice));
        samples
    };
    tally.run(&library.newest().unwrap(), &bundle, samples, mutations, 0x0005_EEDE_D0F0_4E50);
    let other = other_keywords();
    let schema = Schema::new("other keywords", &other, &Overlay::default()).unwrap();
    tally.run(&schema, &other, |_, _| shelves(), mutations / 8, 0x5EED);
    println!(
        "{} frames, {} accepted, {} wrongly; asked: {:?}; needed: {:?}",
        tally.frames,
        tally.accepted,
        tally.wrong.len(),
        tally.asked,
        tally.caught
    );
    assert!(tally.wrong.is_empty(), "accepted wrongly:\n{}", tally.wrong[..tally.wrong.len().min(10)].join("\n"));
    assert!(tally.accepted * 5 > tally.frames, "too few frames are accepted for the comparison to mean much");
    let idle: Vec<Why> = NEEDED
        .into_iter()
        .filter(|why| tally.caught.get(&format!("{why:?}")).is_none_or(|count| *count == 0))
        .collect();
    assert!(idle.is_empty(), "a lane that ignored these would go unnoticed: {idle:?}");
}

#[test]
fn the_judge_says_what_the_library_says() {
    let turns = if std::env::var_os("FULL").is_some() { 20_000 } else { 2_000 };
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let schema = Library::new(Surface::Experimental).unwrap().newest().unwrap();
    let bundle: Value = serde_json::from_str(msp_schema::published::text(Surface::Experimental)).unwrap();
    let mut reference = Reference::new(&bundle);
    let mut dice = Dice(0x00D1_FFE7);
    let mut samples = recorded(&here.join("../recordings"));
    samples.extend(made(&reference, 1, &mut dice));
    let (mut fine, mut compared) = (0, 0);
    for turn in 0..turns {
        let sample = &samples[dice.below(samples.len())];
        let bytes =
            if turn % 8 == 0 { sample.frame.to_string().into_bytes() } else { mutate(&sample.frame, &mut dice) };
        if std::str::from_utf8(&bytes).is_err() || !is_one_line(&bytes) {
            continue;
        }
        compared += 1;
        let expected = reference.accepts(sample.side, sample.answers.as_deref(), &bytes);
        fine += usize::from(expected);
        assert_eq!(is_fine(&schema, sample, &bytes), expected, "{}", String::from_utf8_lossy(&bytes));
    }
    println!("{compared} frames compared, {fine} of them good");
    assert!(fine * 4 > compared);
}

#[test]
fn the_fast_lane_accepts_nothing_that_the_library_refuses() {
    // A lane that ignores how deep a frame nests follows it to the end, so the stack is large.
    std::thread::Builder::new().stack_size(1 << 28).spawn(compare).unwrap().join().unwrap();
}
