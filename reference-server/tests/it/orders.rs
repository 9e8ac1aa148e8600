//! The wire orders of the rules, one or more files each in `orders/cases`: what a client sends, and every frame that leaves the host
//! for it, in order. `orders/case.rs` has the notation.
//!
//! What can fail is shown for all of them at once: each frame that a file names is dropped once, and changes places with the next
//! one once, on its way out of an otherwise honest host; each time the file must not hold any more.

mod case;
mod play;

use std::collections::BTreeSet;
use std::path::PathBuf;

use self::case::Case;
use self::play::{Fault, Play, play};

/// How many orders there are.
const ORDERS: usize = 21;

fn cases() -> Vec<Case> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/orders/cases");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| Case::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))).collect()
}

#[tokio::test(start_paused = true)]
async fn every_order_leaves_the_host_as_its_file_has_it() {
    let (mut numbers, mut wrong) = (BTreeSet::new(), Vec::new());
    for case in cases() {
        match play(&case, Fault::None).await {
            Ok(Play { peer, .. }) => drop(peer.finish().await),
            Err(error) => wrong.push(format!("{}: {error}", case.name)),
        }
        numbers.insert(case.number);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(numbers, (1..=ORDERS).collect(), "each order has a file");
}

#[tokio::test(start_paused = true)]
async fn no_order_holds_when_a_frame_is_missing_or_comes_too_early() {
    let mut survivors = Vec::new();
    for case in cases() {
        let named = play(&case, Fault::None).await.unwrap_or_else(|error| panic!("{}: {error}", case.name)).named;
        assert!(!named.is_empty(), "{}", case.name);
        for at in 0..named.len() {
            let (frame, next) = (&named[at], named.get(at + 1));
            let mut faults = Vec::new();
            if !frame.one_of_many {
                faults.push(("drop", Fault::Drop(frame.bytes.clone())));
            }
            if let Some(next) = next.filter(|next| next.line != frame.line || !frame.one_of_many) {
                faults.push(("swap", Fault::Swap(frame.bytes.clone(), next.bytes.clone())));
            }
            for (what, fault) in faults {
                if play(&case, fault).await.is_ok() {
                    survivors.push(format!("{}:{}: {what}", case.name, frame.line));
                }
            }
        }
    }
    assert!(survivors.is_empty(), "held all the same:\n{}", survivors.join("\n"));
}
