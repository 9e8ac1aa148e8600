"""Drives the reference server with the published SDK, unmodified: `real_client.py SERVER FOLDER CHECK`.

One check a run; it says nothing and exits with 0 when all holds. Where the SDK has no verb of its own (interrupt, cancel,
unqueue, list), its connection's `command` sends the method.
"""

import asyncio
import json
import os
import pathlib
import signal
import sys
import time

from muse_code import (
    EXPECTED_SCHEMA_FINGERPRINT,
    ApprovalDecisionInput,
    MuseClient,
    MuseClientSpawnOptions,
    MuseHostDiedError,
    ResumeSessionOptions,
    SendUserTurnOptions,
    StartSessionOptions,
)

LIMIT = 40  # seconds until a check that hangs is called hung
SERVER, FOLDER = sys.argv[1], sys.argv[2]
ENVIRONMENT = {**os.environ, "XDG_DATA_HOME": FOLDER, "HOME": FOLDER, "LOCALAPPDATA": FOLDER}
HOLD = '@script\nsay {"text":"working on it"}\nhold {}'
WRITE = (
    '@script\ntool {"tool":"write_file","args":{"path":"a"},"output":"done",'
    '"approval":{"subject":{"kind":"fileAccess","path":"/w/a","access":"write"}}}'
)
STAGED = (
    '@script\ntool {"tool":"shell","output":"ok","approval":{"subject":{"kind":"shell",'
    '"command":"git add . && rm x","stages":[["git","add","."],["rm","x"]]}}}'
)
ASK = (
    '@script\nask {"questions":[{"id":"db","header":"Database","question":"Which?",'
    '"selection":{"mode":"single"},"options":[{"label":"A"},{"label":"B"}]}]}'
)


async def spawn():
    """A client of a fresh server process with the SDK's own arguments."""
    return await MuseClient.spawn(
        MuseClientSpawnOptions(
            muse_bin=SERVER,
            client_info={"name": "real_client", "version": "1"},
            args=["serve"],
            env=ENVIRONMENT,
        )
    )


async def opened():
    client = await spawn()
    session = await client.start_session(StartSessionOptions(workspace_root=FOLDER))
    return client, session


def prompt(text, **options):
    return SendUserTurnOptions(input=[{"type": "text", "text": text}], **options)


async def command(client, session, method, **params):
    return await client._connection.command(method, {"sessionId": session.session_id, **params})


async def until(what, condition):
    """Lets frames come until something holds."""
    while not condition():
        await asyncio.sleep(0.005)
    return what


def equal(found, expected, what):
    if found != expected:
        raise AssertionError(f"{what}: found {found!r}, expected {expected!r}")


def terminal(outcome):
    return outcome.params["terminal"] if outcome.kind == "completed" else outcome.kind


def items(session, kind):
    return [item for item in session.fold.items.list() if item["kind"] == kind]


async def closed(client):
    await client.close()
    equal((await client.exit).kind, "cleanShutdown", "exit")


async def handshake():
    client = await spawn()
    equal(client.initialize_result["schema"]["fingerprint"], EXPECTED_SCHEMA_FINGERPRINT, "fingerprint")
    equal(client.durability.kind, "durable", "durability")
    await closed(client)


async def streamed_turn():
    client, session = await opened()
    turn = await session.send_user_turn(prompt('@script\nhold {"steers":1}\nsay {"text":"three little words"}'))
    seen, deltas = [], []

    async def gather(stream, into):
        async for value in stream:
            into.append(value)

    readers = [gather(turn.items(), seen), gather(turn.deltas(), deltas)]  # deltas come live only, so the turn waits for us
    await session.send_user_turn(prompt("go on", if_busy="steer"))
    outcome, *_ = await asyncio.gather(turn.completed, *readers)
    equal(terminal(outcome), "completed", "terminal")
    message = items(session, "agentMessage")[0]
    equal("".join(delta["delta"] for delta in deltas), message["text"], "deltas")
    equal([item["kind"] for item in seen][:1] + [seen[-1]["text"]], ["userMessage", message["text"]], "streamed items")
    equal(len(items(session, "userMessage")), 2, "user messages")
    equal(session.pending.size, 0, "pending commands")
    equal(session.fold.active_turn_id, None, "active turn")
    await closed(client)


async def queue_and_unqueue():
    client, session = await opened()
    running = await session.send_user_turn(prompt(HOLD))
    second = await session.send_user_turn(prompt("second"))
    third = await session.send_user_turn(prompt("third"))
    await command(client, session, "turn/unqueue", turnId=second.turn_id)
    equal(terminal(await second.completed), "unqueued", "second")
    await command(client, session, "turn/cancel")
    equal(terminal(await running.completed), "cancelled", "running")
    equal(terminal(await third.completed), "completed", "third")
    texts = [item["text"] for item in items(session, "agentMessage")]
    equal([text for text in texts if "third" in text] != [], True, "third was answered")
    equal([text for text in texts if "second" in text], [], "second was not answered")
    equal(session.pending.size, 0, "pending commands")
    await closed(client)


async def steer():
    client, session = await opened()
    running = await session.send_user_turn(prompt('@script\nhold {"steers":1}\nsay {"text":"steered"}'))
    await until("started", lambda: session.fold.active_turn_id == running.turn_id)
    steered = await session.send_user_turn(prompt("also this", if_busy="steer"))
    equal(steered.turn_id, running.turn_id, "the turn steered into")
    equal(terminal(await running.completed), "completed", "terminal")
    equal(len(items(session, "userMessage")), 2, "user messages")
    equal(session.pending.size, 0, "pending commands")
    await closed(client)


async def cancel():
    for method in ("turn/cancel", "turn/interrupt"):
        client, session = await opened()
        turn = await session.send_user_turn(prompt(HOLD))
        await until("message", lambda: any(item.get("text") for item in items(session, "agentMessage")))
        await command(client, session, method)
        equal(terminal(await turn.completed), "cancelled", method)
        equal(session.fold.active_turn_id, None, "active turn")
        await closed(client)


async def killed_and_resumed():
    client, session = await opened()
    done = await session.send_user_turn(prompt("remember this"))
    equal(terminal(await done.completed), "completed", "first turn")
    turn = await session.send_user_turn(prompt(HOLD))
    await until("message", lambda: any("working" in item.get("text", "") for item in items(session, "agentMessage")))
    before = {item["itemId"]: item for item in session.fold.items.list()}
    os.kill(process_of(client), signal.SIGKILL)
    try:
        await turn.completed
        raise AssertionError("a turn of a killed host came to an end")
    except MuseHostDiedError:
        pass
    again = await spawn()
    resumed = await again.resume_session(ResumeSessionOptions(session_id=session.session_id))
    history = resumed.opening.result
    equal(history["session"]["status"], "idle", "status after the crash")
    page = await all_events(again, resumed)
    ended = [event["params"] for event in page if event["method"] == "turn/completed"]
    equal([event["turnId"] for event in ended], [done.turn_id, turn.turn_id], "ended turns")
    equal(ended[1]["terminal"] != "completed", True, "the cut off turn did not complete")
    shown = {}
    for event in page:
        if event["method"].startswith("item/") and "item" in event["params"]:
            shown[event["params"]["item"]["itemId"]] = event["params"]["item"]
    for item_id, item in before.items():
        if item["status"] == "completed":
            equal(shown.get(item_id), item, "an item shown before the crash")
    more = await resumed.send_user_turn(prompt("go on"))
    equal(terminal(await more.completed), "completed", "turn after the crash")
    await closed(again)


def process_of(client):
    """The server's process id, wherever this SDK keeps its child."""
    seen, todo = set(), [client._child, client._connection]
    while todo:
        thing = todo.pop(0)
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, asyncio.subprocess.Process):
            return thing.pid
        todo.extend(value for name, value in vars(thing).items() if hasattr(value, "__dict__"))
    raise AssertionError("the SDK's child process was not found")


async def all_events(client, session, limit=3):
    """Every event of a session, page by page."""
    events, cursor = [], None
    while True:
        params = {"cursor": cursor} if cursor else {}
        page = await command(client, session, "view/page", direction="forward", limit=limit, **params)
        equal(len(page["events"]) <= limit, True, "a page keeps its limit")
        events += page["events"]
        if page["nextCursor"] is None or not page["events"]:
            return events
        cursor = page["nextCursor"]


async def paging():
    client = await spawn()
    ids = []
    for number in range(5):
        session = await client.start_session(StartSessionOptions(workspace_root=FOLDER))
        turn = await session.send_user_turn(prompt(f"session {number}"))
        await turn.completed
        ids.append(session.session_id)
    listed, cursor, pages = [], None, 0
    while True:
        page = await client._connection.command("session/list", {"limit": 2, **({"cursor": cursor} if cursor else {})})
        listed += [entry["sessionId"] for entry in page["sessions"]]
        pages, cursor = pages + 1, page["nextCursor"]
        if cursor is None:
            break
    equal((sorted(listed), pages), (sorted(ids), 3), "session/list")
    events = await all_events(client, session)
    cursors = [event["params"]["viewCursor"] for event in events if "viewCursor" in event["params"]]
    equal(len(set(cursors)), len(cursors), "cursors are unique")
    equal(events[-1]["method"] in ("turn/completed", "session/statusChanged"), True, "last event")
    await closed(client)


async def approval(script, answers, status, stages=1, said=()):
    """Answers an approval with the choices named by their decision, one a stage."""
    client, session = await opened()
    asked, failures = [], []

    def answer(request):
        wanted, feedback = answers[len(asked)]
        asked.append(request)
        choice = next(
            choice
            for choice in request["availableChoices"]
            if choice["decision"] == wanted and (feedback is None or choice.get("acceptsFeedback"))
        )
        return ApprovalDecisionInput(choice_id=choice["choiceId"], feedback=feedback)

    session.on_approval(answer)
    session.on_approval_error(failures.append)
    turn = await session.send_user_turn(prompt(script))
    outcome = await turn.completed
    equal(failures, [], "failures")
    equal(len(asked), stages, "questions")
    equal(items(session, "toolCall")[0]["status"], status, "the call")
    equal((len(session.fold.resolved_approvals()), session.fold.pending_approvals()), (1, []), "approvals")
    equal(outcome.kind, "completed", "outcome")
    equal([item["text"] for item in items(session, "agentMessage")], list(said), "what the model heard")
    await closed(client)


async def approval_allowed():
    await approval(WRITE, [("approved", None)], "completed")


async def approval_denied():
    await approval(WRITE + "\nheard", [("abort", "not that file, please")], "rejected", said=["not that file, please"])


async def approval_staged():
    await approval(STAGED, [("approved", None)] * 2, "completed", stages=2)


async def asking():
    client, session = await opened()
    turn = await session.send_user_turn(prompt(ASK))
    await until("question", lambda: session.fold.pending_user_inputs())
    return client, session, turn, session.fold.pending_user_inputs()[0]["userInputId"]


async def user_input_answered():
    client, session, turn, question = await asking()
    ack = await session.answer_user_input(question, [{"questionId": "db", "selectedLabel": "B"}])
    equal(ack["userInputId"], question, "acknowledged question")
    equal(terminal(await turn.completed), "completed", "terminal")
    settled = session.fold.settled_user_inputs()
    equal([entry["outcome"] for entry in settled], ["answered"], "settled")
    equal(session.fold.pending_user_inputs(), [], "pending")
    await closed(client)


async def user_input_cancelled():
    client, session, turn, question = await asking()
    await command(client, session, "userInput/cancel", userInputId=question)
    await turn.completed
    equal([entry["outcome"] for entry in session.fold.settled_user_inputs()], ["cancelled"], "settled")
    await closed(client)


def log():
    """What the host wrote down of the only session of this check."""
    return "".join(path.read_text() for path in pathlib.Path(FOLDER).rglob("session.jsonl"))


async def gap_filled():
    client, session = await opened()
    gaps = []
    session.on_gap_error(gaps.append)
    seen = []
    route = client._route

    def spy(frame):
        seen.append(frame["method"])
        route(frame)

    client._connection.on_notification(spy)
    words = json.dumps("word " * 8_000)
    script = f'@script\nsay {{"text":"begun"}}\nsay {{"text":{words}}}\nsay {{"text":"flooded","stream":false}}\nhold {{"steers":1}}\nsay {{"text":"end"}}'
    turn = await session.send_user_turn(prompt(script))
    while '"text":"flooded"' not in log():  # nobody reads meanwhile: the loop stands still
        time.sleep(0.01)
    await command(client, session, "session/read")  # its answer comes after all that is queued
    await session.send_user_turn(prompt("go on", if_busy="steer"))  # a hole is told with the next event that is delivered
    equal(terminal(await turn.completed), "completed", "terminal")
    equal("view/gap" in seen, True, "a hole was told")
    await until("current", lambda: session.fold.pending_gap is None)
    equal(gaps, [], "failures of filling")
    equal([item["text"][:5] for item in items(session, "agentMessage")], ["begun", "word ", "flood", "end"], "messages")
    await closed(client)


async def main():
    check = globals()[sys.argv[3]]
    await asyncio.wait_for(check(), LIMIT)


asyncio.run(main())
