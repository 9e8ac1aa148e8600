//! Makes the types of both protocols in `OUT_DIR`.

use std::error::Error;
use std::path::{Path, PathBuf};

use msp_codegen::diagnostic::{Diagnostic, Severity};
use msp_codegen::options::{Layout, Options, When};
use msp_codegen::{generate, input, output};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed=MSP_SCHEMA");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    let packaged = out.join("packaged");
    for (path, text) in msp_schema::published::files() {
        let path = packaged.join(path);
        std::fs::create_dir_all(path.parent().ok_or("a file has a folder")?)?;
        std::fs::write(path, text)?;
    }
    let own = std::env::var_os("MSP_SCHEMA").map(PathBuf::from);
    if let Some(own) = &own {
        println!("cargo::rerun-if-changed={}", own.display());
    }
    family(&own.unwrap_or_else(|| packaged.join("msp")), &out.join("msp"), When::Feature)?;
    family(&packaged.join("session"), &out.join("session"), When::Always)
}

fn family(schema: &Path, out: &Path, experimental: When) -> Result<(), Box<dyn Error>> {
    let options = Options {
        layout: Layout::Modules,
        experimental,
        schemars: When::Feature,
        strict: When::Feature,
        words: Some("../words.rs".to_owned()),
        ..Options::default()
    };
    let (schemas, mut diagnostics) = input::read_all(&[schema], &options);
    if !has_errors(&diagnostics) {
        let (files, more) = generate::generate(&schemas, &options);
        diagnostics.extend(more);
        if !has_errors(&diagnostics) {
            output::write(out, &files).map_err(|diagnostic| diagnostic.to_string())?;
            return Ok(());
        }
    }
    let texts: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
    Err(texts.join("\n").into())
}

fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|one| one.severity == Severity::Error)
}
