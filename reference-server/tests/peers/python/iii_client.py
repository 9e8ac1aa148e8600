"""Drives the session functions with the published iii SDK, unmodified: every public function is called, every event type received.

Arguments: the address of the endpoint, and the name of a check. Exits with 0 when it holds.
"""

import os
import queue
import sys

os.environ["OTEL_ENABLED"] = "false"  # no second connection for telemetry

from iii import InitOptions, InvocationError, register_worker  # noqa: E402

WAIT = 20  # seconds that a delivery may take before it counts as lost
PUBLIC = [
    "session::created",
    "session::message-added",
    "session::message-updated",
    "session::status-changed",
    "session::meta-updated",
    "session::deleted",
]


def connect(address, name, **options):
    return register_worker(address, InitOptions(worker_name=name, enable_metrics_reporting=False, **options))


class Caller:
    def __init__(self, address, name):
        self.client = connect(address, name)

    def call(self, function, **payload):
        return self.client.trigger({"function_id": "session::" + function, "payload": payload})

    def refused(self, code, function, **payload):
        try:
            answer = self.call(function, **payload)
        except InvocationError as error:
            assert f"{code}: " in str(error), str(error)
            return
        raise AssertionError(f"{function} was to fail with {code}: {answer}")


def user(text):
    return {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1}


def every_function(address):
    caller = Caller(address, "every-function")
    call = caller.call
    made = call("create", title="T", metadata={"owner": "u"})
    session = made["session_id"]
    assert made["meta"]["status"] == "idle" and call("get", session_id=session)["meta"] == made["meta"]
    assert call("ensure", session_id=session)["created"] is False
    assert [row["session_id"] for row in call("list", metadata={"owner": "u"})["sessions"]] == [session]
    assert call("set-meta", session_id=session, title="U")["meta"]["title"] == "U"
    assert call("set-status", session_id=session, status="working", reason="r")["previous_status"] == "idle"
    first = call("append", session_id=session, message=user("one"))
    assert first["parent_id"] is None
    batch = call("append-many", session_id=session, messages=[user("two"), user("three")])
    update = {"content": [{"type": "text", "text": "new"}], "expected_revision": 0}
    assert call("update-message", session_id=session, entry_id=first["entry_id"], **update) == {"updated": True, "revision": 1}
    ids = [first["entry_id"], *batch["entry_ids"]]
    assert [row["entry_id"] for row in call("messages", session_id=session)["messages"]] == ids
    assert call("messages-tail", session_id=session, limit=1)["oldest_entry_id"] == ids[2]
    assert len(call("messages-range", session_id=session, entry_ids=ids[:2])["messages"]) == 2
    assert call("get-message", session_id=session, entry_id=ids[0])["entry"]["revision"] == 1
    assert call("get-message", session_id=session, entry_id="nope") is None
    put = call("put-attachment", session_id=session, name="n", mime="", data="AAEC")
    attachment = put["attachment"]["attachment_id"]
    assert put["block"]["mime"] == "application/octet-stream"
    assert call("get-attachment", session_id=session, attachment_id=attachment)["data"] == "AAEC"
    assert len(call("list-attachments", session_id=session)["attachments"]) == 1
    parked = call("set-draft", session_id=session, draft="d", attachment_ids=[attachment])
    assert parked["draft"] == "d" and len(parked["attachments"]) == 1
    assert call("delete-attachment", session_id=session, attachment_id=attachment) == {"deleted": True}
    assert call("set-active-leaf", session_id=session, entry_id=ids[0]) == {"active_leaf": ids[0]}
    fork = call("fork", session_id=session, entry_id=ids[0])
    assert fork["meta"]["forked_from"] == session and fork["meta"]["message_count"] == 1
    assert call("mention::search", query="U")["items"][0]["id"] in (session, fork["session_id"])
    assert call("mention::get", id=session)["label"] == "U"
    assert call("config-status")["last_outcome"] == "applied"
    assert call("on-config-change") == {"ok": True}
    assert call("delete", session_id=session) == {"deleted": True} and call("get", session_id=session) is None
    caller.client.shutdown()


def error_codes(address):
    caller = Caller(address, "error-codes")
    session = caller.call("create")["session_id"]
    entry = caller.call("append", session_id=session, custom={"custom_type": "x"})["entry_id"]
    file = {"type": "file", "attachment_id": "a", "name": "n", "mime": "m", "size": 1}
    message = {"role": "user", "content": [file], "timestamp": 1}
    told = caller.call("append", session_id=session, message=message)["entry_id"]
    refused = caller.refused
    refused("session/not_found", "messages", session_id="nope")
    refused("session/entry_not_found", "fork", session_id=session, entry_id="nope")
    refused("session/parent_not_found", "append", session_id=session, message=user("x"), parent_id="nope")
    refused("session/invalid_entry_kind", "update-message", session_id=session, entry_id=entry, content=[])
    refused("session/details_not_supported", "update-message", session_id=session, entry_id=told, content=[], details=1)
    refused("session/empty_batch", "append-many", session_id=session, messages=[])
    refused("session/invalid_cursor", "list", cursor="!!garbage!!")
    refused("session/invalid_request", "append", session_id=session)
    refused("session/attachment_in_use", "delete-attachment", session_id=session, attachment_id="a")
    caller.client.trigger({"function_id": "configuration::set", "payload": {"id": "session-manager", "value": {"max_attachment_bytes": 1}}})
    refused("session/attachment_too_large", "put-attachment", session_id=session, name="n", mime="m", data="AAEC")
    caller.client.trigger({"function_id": "session::store::set-active-leaf", "payload": {"session_id": session, "entry_id": "gone"}})
    refused("session/storage", "messages", session_id=session)
    for function, payload in (("create", {"title": 5}), ("no-such-function", {})):
        try:
            caller.call(function, **payload)
        except InvocationError as error:
            assert "session/" not in error.code, error.code
        else:
            raise AssertionError(f"{function} was to fail")
    caller.client.shutdown()


def every_event(address):
    """Binds as SDKs up to 0.25 do, and by function as 0.26 does; one subscriber answers with an error, which hinders nobody."""
    watcher, caller = connect(address, "watcher"), Caller(address, "actor")
    seen = queue.Queue()

    def subscribe(trigger, target, config):
        def deliver(payload):
            seen.put((target, payload))
            if target.startswith("failing"):
                raise RuntimeError("a subscriber that fails")

        watcher.register_function(target, deliver)
        return watcher.register_trigger({"type": trigger, "function_id": target, "config": config})

    for trigger in PUBLIC:
        subscribe(trigger, "on-" + trigger.split("::")[1], {})
    subscribe("session::message-added", "failing", {"roles": ["user"]})
    unbound = subscribe("session::message-added", "unbound", {})
    watcher.register_function("by-function", lambda payload: seen.put(("by-function", payload)))
    # The answer of a call over the same connection tells that everything before it has been read.
    bind = {"trigger_type": "session::created", "function_id": "by-function", "config": {"metadata": {"k": 1}}}
    bound = watcher.trigger({"function_id": "engine::register_trigger", "payload": bind})["id"]
    try:
        bad = {**bind, "config": {"roles": ["user"]}}
        watcher.trigger({"function_id": "engine::register_trigger", "payload": bad})
    except InvocationError as error:
        assert "session::created" in str(error), str(error)
    else:
        raise AssertionError("a config that does not fit was to be refused")
    unbound.unregister()
    watcher.trigger({"function_id": "session::config-status", "payload": {}})

    session = caller.call("create", metadata={"k": 1})["session_id"]
    entry = caller.call("append", session_id=session, message=user("x"))["entry_id"]
    caller.call("append", session_id=session, custom={"custom_type": "x"})
    caller.call("update-message", session_id=session, entry_id=entry, content=[])
    caller.call("set-status", session_id=session, status="done")
    caller.call("set-meta", session_id=session, title="t")
    caller.call("delete", session_id=session)
    expected = ["by-function", "failing", "on-created", "on-deleted", "on-message-added", "on-message-added"]
    expected += ["on-message-updated", "on-meta-updated", "on-status-changed"]
    came = [seen.get(timeout=WAIT) for _ in expected]
    assert sorted(target for target, _ in came) == expected, came
    assert all(payload["session_id"] == session for _, payload in came)
    assert watcher.trigger({"function_id": "engine::unregister_trigger", "payload": {"id": bound}}) == {"removed": True}
    caller.call("create", metadata={"k": 1})
    assert seen.get(timeout=WAIT)[0] == "on-created" and seen.empty()
    watcher.shutdown()
    caller.client.shutdown()


def function_of_another_client(address):
    host, caller = connect(address, "host"), connect(address, "caller")
    host.register_function("demo::double", lambda payload: {"twice": payload["n"] * 2})
    host.trigger({"function_id": "session::config-status", "payload": {}})
    assert caller.trigger({"function_id": "demo::double", "payload": {"n": 21}}) == {"twice": 42}
    listed = caller.trigger({"function_id": "engine::functions::list", "payload": {"prefix": "session::"}})["functions"]
    assert len(listed) == 43 and all(row["metadata"]["trace_hidden"] for row in listed)
    info = caller.trigger({"function_id": "engine::functions::info", "payload": {"function_id": "session::append"}})
    assert info["request_schema"]["properties"]["entry_id"]
    host.shutdown()
    caller.shutdown()


if __name__ == "__main__":
    globals()[sys.argv[2]](sys.argv[1])
