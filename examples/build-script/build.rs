//! One call: the schema in, `OUT_DIR/schema.rs` out.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    msp_codegen::build("schema/lamp.schema.json")?;
    Ok(())
}
