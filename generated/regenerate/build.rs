//! Makes the types of both protocols in `OUT_DIR`.

use std::error::Error;
use std::path::{Path, PathBuf};

use msp_codegen::build::Builder;
use msp_codegen::options::{Layout, Options, When};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed=MSP_SCHEMA");
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    let packaged = unpack(&out.join("packaged"))?;
    match std::env::var_os("MSP_SCHEMA") {
        Some(own) => family(&Builder::new().schema(PathBuf::from(own)), &out.join("msp"), When::Feature)?,
        None => family(&Builder::new().schema(packaged.join("msp")), &out.join("msp"), When::Feature)?,
    }
    family(&Builder::new().schema(packaged.join("session")), &out.join("session"), When::Always)
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
