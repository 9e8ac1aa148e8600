//! `data`: the committed files; `reading`: the library.

mod data;
