//! What the types cost a user, beside what plain typify gives for the same bundle: checking and building them, the library
//! file, and decoding and encoding the largest value.
//!
//! `cargo bench -p msp-types` makes both as crates below `target/`, with their dependencies built before, and measures them
//! in turn. Compile times are processor seconds (user and system, of cargo and all it starts), read from `/proc`; without it
//! they are left out.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a program for people")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use msp_schema::instances::Maker;
use msp_schema::{Surface, published};
use serde_json::{Map, Value, json};
use typify::{TypeSpace, TypeSpaceSettings};

/// Times each side is checked and built.
const BUILDS: usize = 5;

/// Kernel clock ticks a second in `/proc/self/stat`; Linux shows this number to programs whatever its own is.
const TICKS: f64 = 100.0;

/// Both sides get the same ones, and all are built before anything is measured.
const DEPENDENCIES: &str = r#"[dependencies]
serde = { version = "1", features = ["derive"] }
serde_json = { version = "1", features = ["float_roundtrip"] }
regex-lite = "0.1"
regress = "*"
"#;

const WORKSPACE: &str = r#"[workspace]
resolver = "3"
members = ["ours", "plain", "run"]

[profile.release]
codegen-units = 1
lto = "fat"
"#;

fn main() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| package.join("../target"), PathBuf::from);
    let root = target.join("bench-types");
    fs::create_dir_all(&root).unwrap();
    let [ours, plain, run] = ["ours", "plain", "run"].map(|name| Package { name, root: root.clone() });
    ours.write(&our_files(package), &["strict", "experimental"], DEPENDENCIES);
    plain.write(
        &[("src/lib.rs".to_owned(), plainly(published::bundle(Surface::Experimental).value()))],
        &[],
        DEPENDENCIES,
    );
    let both = "[dependencies]\nours = { path = \"../ours\" }\nplain = { path = \"../plain\" }\nserde_json = \"1\"\n";
    run.write(&[("src/main.rs".to_owned(), include_str!("types/run.rs.txt").to_owned())], &[], both);
    fs::copy(package.join("../Cargo.lock"), root.join("Cargo.lock")).unwrap();
    fs::write(root.join("Cargo.toml"), WORKSPACE).unwrap();
    compile_times(&ours, &plain);
    decode_and_encode(&run);
}

/// One crate of the workspace that is measured.
struct Package {
    name: &'static str,
    root: PathBuf,
}

impl Package {
    fn write(&self, files: &[(String, String)], defaults: &[&str], dependencies: &str) {
        let folder = self.root.join(self.name);
        let _ = fs::remove_dir_all(&folder);
        for (path, text) in files {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let features = format!("default = {defaults:?}\nstrict = []\nexperimental = []\nschemars = []\n");
        let manifest = format!(
            "[package]\nname = \"{}\"\nedition = \"2024\"\n\n[features]\n{features}\n{dependencies}",
            self.name
        );
        fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    }

    fn cargo(&self, arguments: &[&str]) {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap());
        command.args(arguments).args(["--quiet", "--package", self.name]).current_dir(&self.root);
        command.env("CARGO_TARGET_DIR", self.root.join("target")).env("CARGO_INCREMENTAL", "0");
        command.env("CARGO_NET_OFFLINE", "true").env("RUSTFLAGS", "--cap-lints=allow");
        assert!(command.status().unwrap().success(), "cargo {arguments:?} for {}", self.name);
    }

    /// Processor seconds of one run, with only this crate to compile.
    fn seconds(&self, arguments: &[&str]) -> Option<f64> {
        let library = self.root.join(self.name).join("src/lib.rs");
        fs::write(&library, fs::read_to_string(&library).unwrap()).unwrap();
        let before = children()?;
        self.cargo(arguments);
        Some((children()? - before) / TICKS)
    }

    fn library_bytes(&self) -> u64 {
        fs::metadata(self.root.join("target/debug").join(format!("lib{}.rlib", self.name))).unwrap().len()
    }
}

/// Ticks that ended children took, with theirs: fields 16 and 17 of `/proc/self/stat`.
fn children() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some(fields.get(13)?.parse::<f64>().ok()? + fields.get(14)?.parse::<f64>().ok()?)
}

/// The family of MSP out of the committed output, and the words.
fn our_files(package: &Path) -> Vec<(String, String)> {
    let mut files = vec![("src/words.rs".to_owned(), fs::read_to_string(package.join("src/words.rs")).unwrap())];
    for entry in fs::read_dir(package.join("src/gen/msp")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        files.push((format!("src/msp/{name}"), fs::read_to_string(path).unwrap()));
    }
    let root = "#[macro_use]\npub mod words;\npub mod msp;\npub use msp::*;\n";
    files.push(("src/lib.rs".to_owned(), root.to_owned()));
    files
}

/// What typify makes of the bundle, printed as its own tools print it.
fn plainly(bundle: &Value) -> String {
    let text = bundle["$defs"].to_string().replace("#/$defs/", "#/definitions/");
    let definitions: Value = serde_json::from_str(&text).unwrap();
    let root: schemars08::schema::RootSchema = serde_json::from_value(json!({ "definitions": definitions })).unwrap();
    let mut space = TypeSpace::new(&TypeSpaceSettings::default());
    space.add_ref_types(root.definitions).unwrap();
    prettyplease::unparse(&syn::parse2(space.to_stream()).unwrap())
}

fn compile_times(ours: &Package, plain: &Package) {
    println!("compiling, {BUILDS} rounds in turn, medians of processor seconds, dependencies built");
    for (what, arguments) in [("check", ["check"]), ("debug build", ["build"])] {
        ours.cargo(&arguments);
        plain.cargo(&arguments);
        let (mut our_times, mut plain_times) = (Vec::new(), Vec::new());
        for _ in 0..BUILDS {
            let (Some(one), Some(other)) = (ours.seconds(&arguments), plain.seconds(&arguments)) else { break };
            our_times.push(one);
            plain_times.push(other);
        }
        if our_times.is_empty() {
            println!("  {what}: no /proc/self/stat, not measured");
        } else {
            report(what, median(&mut our_times), median(&mut plain_times), "s");
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "sizes of files")]
    let megabytes = |side: &Package| side.library_bytes() as f64 / 1e6;
    report("library file, debug", megabytes(ours), megabytes(plain), "MB");
}

fn report(what: &str, ours: f64, plain: f64, unit: &str) {
    println!("  {what:<20} ours {ours:>6.2} {unit}, plain {plain:>6.2} {unit}, ratio {:.2}", ours / plain);
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn decode_and_encode(run: &Package) {
    let file = run.root.join("values.json");
    fs::write(&file, serde_json::to_string(&values()).unwrap()).unwrap();
    run.cargo(&["build", "--release"]);
    let status = Command::new(run.root.join("target/release/run")).arg(file).status().unwrap();
    assert!(status.success(), "the measuring program ended with {status}");
}

/// Candidates for a value of `Item` with all members, with seven, and with seven and five that the schema does not know.
fn values() -> [(&'static str, Vec<String>); 3] {
    let bundle = published::bundle(Surface::Experimental);
    let item = bundle.definition("Item").unwrap();
    let members = item["properties"].as_object().unwrap();
    let pool = Maker::new(bundle.value()).valid("/$defs/Item", 400, 5).unwrap().values;
    // Plain types know no words but those that are listed, so every member is one that the schema takes as it stands.
    let validators = jsonschema::options().build_map(bundle.value()).unwrap();
    let whole = |turn: usize| {
        let member = |name: &String| {
            let at = msp_schema::pointer::of(&["$defs", "Item", "properties", name]);
            let validator = validators.get(&format!("#{at}")).unwrap();
            let known = pool.iter().filter_map(|value| value.get(name)).filter(|value| validator.is_valid(value));
            let known: Vec<&Value> = known.filter(|value| !value.is_null()).collect();
            (name.clone(), known[turn % known.len()].clone())
        };
        Value::Object(members.keys().map(member).collect())
    };
    let made: Vec<Value> = (0..20).map(whole).collect();
    let few = |value: &Value, unknown: usize| Value::Object(few(value, item, unknown)).to_string();
    [
        ("all members", made.iter().map(Value::to_string).collect()),
        ("7 members", made.iter().map(|value| few(value, 0)).collect()),
        ("7 and 5 unknown", made.iter().map(|value| few(value, 5)).collect()),
    ]
}

/// The required members and strings up to seven, and some that are new.
fn few(value: &Value, item: &Value, unknown: usize) -> Map<String, Value> {
    let mut object = value.as_object().unwrap().clone();
    let required = item["required"].as_array().unwrap();
    let mut spare = 7_usize.saturating_sub(required.len());
    object.retain(|name, value| {
        if required.iter().any(|one| one == name) {
            return true;
        }
        let taken = spare > 0 && item["properties"][name]["type"] == "string" && value.is_string();
        spare -= usize::from(taken);
        taken
    });
    object.extend((0..unknown).map(|at| (format!("xNew{at}"), json!(at))));
    object
}
