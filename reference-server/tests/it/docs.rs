//! The pages of `docs/`: what they show is run, and what they name is there. `BLESS=1` writes what was run into them.

mod names;
mod page;
mod records;
mod scripts;
mod walk;
