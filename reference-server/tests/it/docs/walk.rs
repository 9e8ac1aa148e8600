//! `docs/walk.md`: the frames that a client sends there cause the frames that stand behind them.

use msp_judge::transcript::Side;
use msp_reference_server::Config;

use super::page::{Page, Wanted};
use crate::peer::Peer;

#[tokio::test(start_paused = true)]
async fn frames_cause_what_the_page_shows() {
    let page = Page::open("walk.md");
    let mut peer = Peer::raw(Config { seed: Some(7), ..Config::in_memory() });
    let mut wanted = Vec::new();
    for block in page.blocks().iter().filter(|block| block.info == "json in") {
        let begin = peer.transcript.len();
        for line in block.text.lines() {
            peer.send(&serde_json::from_str(line).unwrap()).await;
        }
        peer.quiet().await;
        let sent = peer.transcript[begin..].iter().filter(|(side, _)| *side == Side::Server);
        let text = sent.map(|(_, text)| text.clone() + "\n").collect();
        wanted.push(Wanted { behind: block.line, info: "json out", text });
    }
    assert!(wanted.len() > 1, "the page has no frames");
    peer.finish().await;
    page.check(&wanted);
}
