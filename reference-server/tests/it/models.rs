//! Models: the catalogue (MODEL-1), the choice (MODEL-2, MODEL-3), the disclosure (STATE-1).

use msp_reference_server::Config;
use serde_json::json;

use crate::peer::{Peer, names};

#[tokio::test(start_paused = true)]
async fn the_catalogue_is_newest_first_and_marks_what_is_in_effect() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let list = peer.call("model/list", json!({})).await.unwrap();
    let rows = list["models"].as_array().unwrap();
    let dates: Vec<_> = rows.iter().map(|row| row["releaseDate"].as_str().unwrap()).collect();
    assert!(dates.is_sorted_by(|a, b| a >= b), "{dates:?}");
    assert!(rows.iter().all(|row| row["isActive"] == false));
    assert_eq!(rows.iter().filter(|row| row["isDefault"] == true).count(), 1);
    assert_eq!((&list["source"], &list["profileId"]), (&json!("fakeCatalog"), &json!(null)));
    let session = peer.start().await;
    let choice = json!({ "sessionId": session, "model": { "modelId": "scripted-2", "providerId": "" } });
    peer.command("session/setModel", choice).await.unwrap();
    assert_eq!(names(&peer.quiet().await), ["session/modelChanged"]);
    let list = peer.call("model/list", json!({ "sessionId": session })).await.unwrap();
    let active: Vec<_> = list["models"].as_array().unwrap().iter().filter(|row| row["isActive"] == true).collect();
    assert_eq!((active.len(), &active[0]["modelId"]), (1, &json!("scripted-2")));
    let none = json!({ "sessionId": "0198f0ab-0000-7000-8000-00000000ffff" });
    assert_eq!(peer.call("model/list", none).await.unwrap_err()["code"], -32020);
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_served_is_refused_or_disclosed() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    for (model, reason) in [
        (json!({ "modelId": "" }), "invalid_target"),
        (json!({ "modelId": "scripted-1", "providerId": "nobody" }), "unsupported_route"),
        (json!({ "modelId": "no model" }), "invalid_model"),
    ] {
        let error =
            peer.command("session/setModel", json!({ "sessionId": session, "model": model })).await.unwrap_err();
        assert_eq!(error["data"]["reason"], reason);
    }
    let flat = json!({ "sessionId": session, "modelId": "scripted-2" });
    assert_eq!(peer.command("session/setModel", flat).await.unwrap_err()["code"], -32602);
    peer.prompt(&session, "@script\nrouteUnserved {\"provider\":\"other\"}").await.unwrap();
    let frames = peer.until("turn/completed").await;
    let told = frames.iter().find(|frame| frame["method"] == "session/modelRouteUnserved").unwrap();
    assert_eq!(told["params"]["installedProviderId"], "other");
    assert_eq!(told["params"]["modelId"], "scripted-1");
    assert!(!names(&frames).contains(&"session/modelChanged".to_owned()));
    peer.finish().await;
}
