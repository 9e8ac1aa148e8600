//! Cursors, pages, subscriptions, gaps.

use msp_reference_server::{Config, Host};
use serde_json::{Value, json};

use crate::peer::{Peer, name, names};

#[tokio::test(start_paused = true)]
async fn pages_of_any_size_and_direction_are_what_was_seen() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    for _ in 0..3 {
        peer.prompt(&session, "@script\nthink {\"summary\":[\"s\"]}\ntool {\"output\":\"o\"}\nsay {\"text\":\"a b\"}")
            .await
            .unwrap();
        peer.until("turn/completed").await;
    }
    let all = peer.pages(&session).await;
    assert_eq!(all.len(), 3 * 7);
    for (limit, backward) in [(1, false), (2, false), (1, true), (4, true), (1000, true)] {
        let mut events = Vec::new();
        let mut params =
            json!({ "sessionId": session, "limit": limit, "direction": if backward { "backward" } else { "forward" } });
        loop {
            let page = peer.call("view/page", params.clone()).await.unwrap();
            let page_events = page["events"].as_array().unwrap().clone();
            if backward {
                events = page_events.into_iter().chain(events).collect();
            } else {
                events.extend(page_events);
            }
            if page["nextCursor"].is_null() {
                break;
            }
            params["cursor"] = page["nextCursor"].clone();
        }
        assert_eq!(events, all, "limit {limit}, backward {backward}");
    }
    let stranger = peer.start().await;
    let foreign = json!({ "sessionId": stranger, "limit": 1, "cursor": all[0]["params"]["viewCursor"] });
    let error = peer.call("view/page", foreign).await.unwrap_err();
    assert_eq!((&error["code"], &error["data"]["reason"]), (&json!(-32011), &json!("missingAnchor")));
    for (params, code) in [
        (json!({ "limit": 0 }), -32602),
        (json!({ "limit": 1001 }), -32602),
        (json!({}), -32602),
        (json!({ "limit": 1, "direction": "up" }), -32602),
        (json!({ "limit": 1, "anchor": "bogus" }), -32602),
        (json!({ "limit": 1, "anchor": "latestCompaction" }), -32042),
        (json!({ "limit": 1, "cursor": "bogus" }), -32011),
        (json!({ "limit": 1, "cursor": null }), -32602),
    ] {
        let mut params = params;
        params["sessionId"] = session.as_str().into();
        assert_eq!(peer.call("view/page", params.clone()).await.unwrap_err()["code"], code, "{params}");
    }
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn subscriptions_end_and_begin_where_they_are_told() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    let ask = json!({ "sessionId": session });
    assert_eq!(peer.call("view/unsubscribe", ask.clone()).await.unwrap(), json!({}));
    assert_eq!(peer.call("view/unsubscribe", json!({ "sessionId": "none" })).await.unwrap(), json!({}));
    peer.prompt(&session, "unseen").await.unwrap();
    assert_eq!(names(&peer.quiet().await), Vec::<String>::new());
    let pages = peer.pages(&session).await;
    let after = json!({ "sessionId": session, "after": pages[0]["params"]["viewCursor"] });
    let head = peer.call("view/subscribe", after).await.unwrap();
    assert_eq!(head["viewCursor"], pages.last().unwrap()["params"]["viewCursor"]);
    let replayed: Vec<Value> = peer
        .quiet()
        .await
        .into_iter()
        .map(|frame| json!({ "method": frame["method"], "params": frame["params"] }))
        .collect();
    assert_eq!(replayed, pages[1..]);
    assert_eq!(
        peer.call("view/subscribe", json!({ "sessionId": session, "after": "x" })).await.unwrap_err()["data"]["reason"],
        "missingAnchor"
    );
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_gets_gaps_that_pages_fill() {
    let config = Config { outbox_frames: 8, ..Config::in_memory() };
    let mut peer = Peer::over(Host::new(config), 2048).shake(json!({})).await;
    let session = peer.start().await;
    let many = "tool {\"output\":\"o\"}\n".repeat(60);
    let id = peer
        .ask(
            "turn/start",
            json!({
                "commandId": "0198f0ab-0000-7000-8000-00000000beef", "sessionId": session,
                "input": [{ "type": "text", "text": format!("@script\n{many}") }],
            }),
        )
        .await;
    tokio::time::sleep(std::time::Duration::from_secs(5)).await; // reads nothing
    peer.answer(id).await.unwrap();
    let mut frames = peer.quiet().await;
    peer.prompt(&session, "after the flood").await.unwrap();
    frames.extend(peer.until("turn/completed").await);
    frames.extend(peer.quiet().await);
    let pages = peer.pages(&session).await;
    let mut seen: Vec<String> = Vec::new();
    let mut gaps = Vec::new();
    for frame in &frames {
        let params = &frame["params"];
        if frame["method"] == "view/gap" {
            gaps.push((params["after"].clone(), params["next"].clone()));
        } else if params["viewCursor"].is_string() && params["sourceRange"].is_object() {
            seen.push(params["viewCursor"].as_str().unwrap().to_owned());
        }
    }
    assert!(!gaps.is_empty(), "the flood did not overflow");
    let cursors: Vec<String> =
        pages.iter().map(|event| event["params"]["viewCursor"].as_str().unwrap().to_owned()).collect();
    let missing: Vec<_> = cursors.iter().filter(|cursor| !seen.contains(cursor)).collect();
    assert!(!missing.is_empty());
    for (after, next) in &gaps {
        assert!(
            frames.iter().any(|frame| frame["params"]["viewCursor"] == *after)
                || *after == frames[0]["params"]["viewCursor"],
            "{after}"
        );
        assert!(frames.iter().any(|frame| frame["params"]["viewCursor"] == *next), "{next}");
    }
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_stalls_hears_of_its_gap_when_it_reads_again() {
    let config = Config { outbox_frames: 8, ..Config::in_memory() };
    let mut peer = Peer::over(Host::new(config), 2048).shake(json!({})).await;
    let session = peer.start().await;
    let params = json!({
        "commandId": peer.command_id(), "sessionId": session,
        "input": [{ "type": "text", "text": format!("@script\n{}", "tool {\"output\":\"o\"}\n".repeat(60)) }],
    });
    let id = peer.ask("turn/start", params).await;
    tokio::time::sleep(std::time::Duration::from_secs(5)).await; // reads nothing until the turn is over
    peer.answer(id).await.unwrap();
    let frames = peer.quiet().await; // and nothing happens after it
    let last = frames
        .iter()
        .rposition(|frame| frame["params"]["viewCursor"].is_string() && frame["params"]["sourceRange"].is_object());
    assert_eq!(name(&frames[last.unwrap()]), "turn/completed completed");
    let gaps: Vec<_> = frames.iter().filter(|frame| frame["method"] == "view/gap").map(|gap| &gap["params"]).collect();
    assert_eq!(gaps.len(), 1, "what is dropped in a row is one hole");
    let cursors = |frames: &[Value]| -> Vec<Value> {
        let durable = frames.iter().filter(|frame| frame["params"]["sourceRange"].is_object());
        durable.map(|frame| frame["params"]["viewCursor"].clone()).collect()
    };
    let (seen, all) = (cursors(&frames), cursors(&peer.pages(&session).await));
    let at = |cursor: &Value| seen.iter().position(|seen| seen == cursor);
    assert_eq!(at(&gaps[0]["next"]), Some(seen.len() - 1));
    let page = json!({ "sessionId": session, "cursor": gaps[0]["after"], "limit": 1000 });
    let rest = cursors(peer.call("view/page", page).await.unwrap()["events"].as_array().unwrap());
    let mut mended = seen[..seen.len() - 1].to_vec();
    mended.extend(rest);
    assert_eq!(mended, all, "what was seen and what the gap names is all there is");
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_long_suffix_comes_whole_and_in_order_whatever_the_room() {
    let config = Config { outbox_frames: 8, ..Config::in_memory() };
    let mut peer = Peer::over(Host::new(config), 2048).shake(json!({})).await;
    let session = peer.start().await;
    let empty = peer.call("view/subscribe", json!({ "sessionId": session })).await.unwrap()["viewCursor"].clone();
    peer.prompt(&session, &format!("@script\n{}", "tool {\"output\":\"o\"}\n".repeat(300))).await.unwrap();
    peer.until("turn/completed").await;
    peer.quiet().await;
    let pages = peer.pages(&session).await;
    assert!(pages.len() > 600);
    let after = json!({ "sessionId": session, "after": empty });
    peer.call("view/subscribe", after).await.unwrap();
    let frames = peer.quiet().await;
    let replayed: Vec<Value> =
        frames.iter().map(|frame| json!({ "method": frame["method"], "params": frame["params"] })).collect();
    assert!(replayed == pages, "{} events of {}", replayed.len(), pages.len());
    peer.prompt(&session, "live again").await.unwrap();
    assert!(names(&peer.until("turn/completed").await).contains(&"item/delta".to_owned()));
    peer.finish().await;
}
