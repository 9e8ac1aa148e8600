//! Recaps and uploads: commands whose outcome is no view event (MISC-3, MISC-7).

use msp_reference_server::Config;
use serde_json::{Value, json};

use crate::peer::Peer;

async fn completed(peer: &mut Peer) -> Value {
    let frames = peer.until("recap/completed").await;
    frames.last().unwrap()["params"].clone()
}

#[tokio::test(start_paused = true)]
async fn a_recap_is_settled_once_as_planned() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    let ask = json!({ "sessionId": session });
    let ack = peer.command("recap/request", ask.clone()).await.unwrap();
    let told = completed(&mut peer).await;
    assert_eq!((&told["commandId"], &told["outcome"]), (&ack["commandId"], &json!("completed")));
    assert!(told["text"].is_string() && told.get("reason").is_none());
    for (plan, outcome, members) in [
        ("{\"text\":\"Done.\",\"title\":\"T\"}", "completed", vec!["text", "title"]),
        ("{\"outcome\":\"failed\"}", "failed", vec!["reason"]),
        ("{\"delayMs\":60000}", "timedOut", vec![]),
    ] {
        peer.prompt(&session, &format!("@script\nrecap {plan}")).await.unwrap();
        peer.until("turn/completed").await;
        peer.command("recap/request", ask.clone()).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_secs(46)).await;
        let told = completed(&mut peer).await;
        assert_eq!(told["outcome"], outcome);
        let told: Vec<_> = ["text", "title", "reason"].into_iter().filter(|name| told.get(*name).is_some()).collect();
        assert_eq!(told, members, "{plan}");
    }
    assert!(peer.quiet().await.iter().all(|frame| frame["method"] != "recap/completed"));
    peer.finish().await;
}

#[tokio::test(start_paused = true)]
async fn one_recap_at_a_time_and_a_cancel_settles_it() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    let ask = json!({ "sessionId": session });
    for method in ["recap/request", "recap/cancel"] {
        let error = peer.command(method, json!({ "sessionId": session, "zzz": 1 })).await.unwrap_err();
        assert_eq!(error["code"], -32602);
    }
    peer.command("recap/cancel", ask.clone()).await.unwrap();
    peer.prompt(&session, "@script\nrecap {\"delayMs\":30000}").await.unwrap();
    peer.until("turn/completed").await;
    let ack = peer.command("recap/request", ask.clone()).await.unwrap();
    assert_eq!(peer.command("recap/request", ask.clone()).await.unwrap_err()["code"], -32030);
    peer.command("recap/cancel", ask.clone()).await.unwrap();
    let told = completed(&mut peer).await;
    assert_eq!(told, json!({ "sessionId": session, "commandId": ack["commandId"], "outcome": "cancelled" }));
    let ack = peer.command("recap/request", ask).await.unwrap();
    let left = peer.finish().await;
    let told: Vec<_> = left.iter().filter(|frame| frame["method"] == "recap/completed").collect();
    assert_eq!((told.len(), &told[0]["params"]["commandId"]), (1, &ack["commandId"]));
}

#[tokio::test(start_paused = true)]
async fn uploads_arrive_in_chunks_that_agree() {
    let mut peer = Peer::open(Config::in_memory()).await;
    let session = peer.start().await;
    let upload_id = peer.command_id();
    let chunk = |index: i64, data: &str| {
        json!({
            "sessionId": session, "uploadId": upload_id, "chunkIndex": index, "chunkCount": 2, "totalBytes": 5,
            "mediaType": "video/mp4", "chunkBase64": data,
        })
    };
    let video = json!([{ "type": "text", "text": "look" }, { "type": "video", "uploadId": upload_id }]);
    let submit = json!({ "sessionId": session, "input": video });
    let error = peer.command("turn/start", submit.clone()).await.unwrap_err();
    assert_eq!((&error["code"], &error["data"]["uploadId"]), (&json!(-32038), &json!(upload_id)));
    assert_eq!(peer.command("media/upload", chunk(0, "YWJj")).await.unwrap(), json!({ "uploadId": upload_id }));
    assert_eq!(peer.command("turn/start", submit.clone()).await.unwrap_err()["code"], -32038);
    let mut wrong = vec![chunk(1, "YWJj"), chunk(1, "!"), chunk(2, "ZGU="), chunk(0, "ZGU=")];
    for (member, value) in
        [("mediaType", json!("video/quicktime")), ("mediaType", json!("video/ogg")), ("totalBytes", json!(6))]
    {
        let mut params = chunk(1, "ZGU=");
        params[member] = value;
        wrong.push(params);
    }
    for params in wrong {
        let error = peer.command("media/upload", params.clone()).await.unwrap_err();
        assert_eq!(error["code"], -32602, "{params}");
    }
    peer.command("media/upload", chunk(1, "ZGU=")).await.unwrap();
    peer.command("media/upload", chunk(1, "ZGU=")).await.unwrap();
    peer.command("turn/start", submit).await.unwrap();
    let frames = peer.until("turn/completed").await;
    let message = frames.iter().find(|frame| frame["params"]["item"]["kind"] == "userMessage").unwrap();
    assert!(message["params"]["item"].get("attachments").is_none(), "attachments tell of images only: {message}");
    peer.finish().await;
}
