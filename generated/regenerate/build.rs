//! Makes the types of both protocols in `OUT_DIR`.

use std::error::Error;
use std::path::{Path, PathBuf};

use msp_codegen::build::Builder;
use msp_codegen::input;
use msp_codegen::options::{Layout, Options, When};
use msp_codegen::schemas::Kind;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed=MSP_SCHEMA");
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    let packaged = unpack(&out.join("packaged"))?;
    let msp = match std::env::var_os("MSP_SCHEMA") {
        Some(own) => bundle(PathBuf::from(own))?,
        None => packaged.join("msp"),
    };
    family(&Builder::new().schema(msp), &out.join("msp"), When::Feature)?;
    family(&Builder::new().schema(packaged.join("session")), &out.join("session"), When::Always)
}

/// A bundle of somebody's own: its path, where the crate can be made from it.
fn bundle(path: PathBuf) -> Result<PathBuf, String> {
    let named = format!("MSP_SCHEMA is `{}`", path.display());
    if path.is_relative() {
        return Err(format!("{named}; it has to be an absolute path, for a build script runs in a folder of its own"));
    }
    // What cannot be read is for the generator to say, with its place.
    let (schemas, _) = input::read_all(&[&path], &Options::default());
    match schemas.kind {
        Some(Kind::Plain | Kind::Session) => Err(format!(
            "{named}, which is no MSP bundle: a bundle has `$defs`, and `methods`, `notifications` or `requests` beside them"
        )),
        Some(Kind::Bundle) | None => Ok(path),
    }
}

/// The packaged schemas as files, which is what the generator reads.
fn unpack(folder: &Path) -> Result<PathBuf, Box<dyn Error>> {
    for (path, text) in msp_schema::published::files() {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().ok_or("a file has a folder")?)?;
        std::fs::write(path, text)?;
    }
    Ok(folder.to_owned())
}

fn family(input: &Builder, out: &Path, experimental: When) -> Result<(), Box<dyn Error>> {
    let options = Options {
        layout: Layout::Modules,
        experimental,
        schemars: When::Feature,
        strict: When::Feature,
        words: Some("../words.rs".to_owned()),
        ..Options::default()
    };
    input.clone().options(options).out(out).write()?;
    Ok(())
}
