//! What the committed files must hold.

mod counts;
