"""A native fold of the Turnstream protocol, and its check against the fold vectors.

    python3 fold.py vectors/fold

`fold(state, event)` follows chapter 7 of PROTOCOL.md; the numbers in the comments are sections of that file. It changes
neither of its inputs and never fails: an event that can't be applied only moves the position. Every value that an event
changes is replaced in a copy of its turn; other turns stay the same objects.

A state has the form of a snapshot (6.4), so a tool call has `input` only if its end gave it. Reading unfinished
arguments (7.4) is not part of this file. Standard library only, Python 3.10 or newer.
"""
import copy, json, pathlib, re, sys

NUMBER = "(0|[1-9][0-9]{0,14})"
STREAMED = ("thinking", "text", "files")
STARTED = STREAMED + ("tool_call", "tool_result")
MARKERS = ("group_start", "group_end")
NOT_BLOCKS = MARKERS + ("superseded",)
INTERACTIONS = ("approval", "question", "form", "payment")
NEW_TURN = dict(end=None, status="running", duration_ms=None, usage=None, runs=[], items=[], group=None, open=0,
                half_shown=0, shown_count=0)
OWN_FIELDS = {  # the own fields of a block (6.2) when it starts: names for `take`, defaults
    "thinking": ("", dict(text="")),
    "text": ("part call?", dict(text="", final=False, annotations=[])),
    "tool_call": ("call name label hidden?", dict(hidden=False, args="", given=False, whole=None)),
    "tool_result": ("call name label hidden?", dict(hidden=False, parts=[], status="running", preview="", artifact=None,
                                                    whole=None, results=None, usage=None)),
    "files": ("files", dict(status="processing", message="")),
    "approval": ("key call actions editable timeout_seconds? deadline? digest?", dict(always=False, edited=None)),
    "question": ("key call questions timeout_seconds? deadline?", dict(answers=None, message=None)),
    "form": ("form call? schema waits? timeout_seconds? deadline?", dict(waits=False, values=None)),
    "payment": ("payment call? order_no amount currency description checkout_url deadline?", {}),
}

class NotApplicable(Exception):
    """The event only moves the position (7.1, step 3)."""

def empty_state():
    return dict(v=1, epoch=0, seq=0, session="", number=0, title=None, waiting=[], settled=[], earlier=0, turns=[])

# Positions (2.1, 2.3)

def parse_cursor(text):
    match = re.fullmatch(f"{NUMBER}-{NUMBER}", text) if isinstance(text, str) else None
    return (int(match[1]), int(match[2])) if match else None

def classify(last, event):
    position = parse_cursor(event.get("id")) if isinstance(event, dict) else None
    if position is None or type(event.get("first", 1)) is not int:
        return "unreadable"
    (last_epoch, last_seq), (epoch, seq) = last, position
    first = event.get("first", seq)
    if seq <= last_seq:
        return "diverged" if epoch > last_epoch else "known"
    if epoch < last_epoch:
        return "stale"
    if first <= last_seq:
        return "diverged"
    if first > last_seq + 1:
        return "gap"
    starts_epoch = event.get("type") in ("session.start", "turn.start", "turn.takeover")
    return "diverged" if epoch > last_epoch and not starts_epoch else "next"

# Reading an event

def require(condition):
    if not condition:
        raise NotApplicable

def count(event, name):
    require(type(event[name]) is int and event[name] >= 0)
    return event[name]

def take(event, names, **defaults):
    """These fields of the event and the defaults. An absent field with a question mark is its default, or null (6)."""
    optional = {name[:-1]: None for name in names.split() if name.endswith("?")}
    required = {name: event[name] for name in names.split() if not name.endswith("?")}
    return {**optional, **defaults, **required, **{name: event[name] for name in optional if name in event}}

def join(old, new):
    """Append text. Two halves of a surrogate pair that meet become one character."""
    return (old + new).encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")

# Definitions (7.2)

def find(things, id):
    return next((thing for thing in reversed(things) if thing["id"] == id), None)

def turn_of(state, id, running=True):
    """A copy of the turn, which takes its place in the state."""
    turn = find(state["turns"], id)
    require(turn and (turn["status"] == "running" or not running))
    runs, items = [dict(run) for run in turn["runs"]], [item and dict(item) for item in turn["items"]]
    writable = {**turn, "runs": runs, "items": items}
    state["turns"] = [writable if each is turn else each for each in state["turns"]]
    return writable

def run_of(turn, event):
    run = find(turn["runs"], event["run"])
    require(run and run["status"] == "running")
    return run

def block_of(turn, event, kind):
    index = count(event, "index")
    block = turn["items"][index] if index < len(turn["items"]) else None
    require(block and block["kind"] == kind and block["id"] == event["block"])
    return block

def blocks(turn):
    return [item for item in turn["items"] if item and item["kind"] not in NOT_BLOCKS]

def visible(turn, block):
    return not block.get("hidden") and not (block["kind"] == "thinking" and turn["mode"] == "chat")

def pending(block):
    return block["status"] == "pending" or block["kind"] == "payment" and block["status"] == "processing"

def outlives_its_turn(block):
    return block["kind"] == "payment" or block["kind"] == "form" and not block["waits"]

def place(turn, event, kind, **own):
    skipped = count(event, "index") - len(turn["items"])
    require(0 <= skipped <= 1024)
    item = dict(kind=kind, id=event["group" if kind in MARKERS else "block"], **take(event, "run index"),
                start=event["seq"], started_at=event["at"], shown=None, **own)
    turn["items"] += [None] * skipped + [item]
    return item

def show(turn, item):
    item["shown"] = turn["shown_count"]
    turn["shown_count"] += 1

def add_to_open(turn, block, number):
    turn["open"] += number
    turn["half_shown"] += number if visible(turn, block) and block["kind"] in STREAMED else 0

def start(turn, event, kind, end=None, ended_at=None, **own):
    run = run_of(turn, event)
    block = place(turn, event, kind, end=end, ended_at=ended_at, aborted=False, **own)
    if kind != "files":
        block["output"] = run["outputs"]
        run["outputs"] += 1 if visible(turn, block) else 0
    if kind in STREAMED + ("notice",) and visible(turn, block):
        show(turn, block)
    if kind != "notice":
        add_to_open(turn, block, 1)

def end(turn, event, block, **own):
    require(block["end"] is None)
    block.update(end=event["seq"], ended_at=event["at"], **own)
    add_to_open(turn, block, -1)
    if block["kind"] in ("tool_call", "tool_result") and visible(turn, block):
        show(turn, block)

def abort_open_blocks(turn, event):
    for block in blocks(turn):
        if block["end"] is None:
            block.update(end=event["seq"], ended_at=event["at"], aborted=True)
            add_to_open(turn, block, -1)
            block.update({"tool_result": {"status": "cancelled"}, "files": {"status": "failed"}}.get(block["kind"], {}))

def close(turn, event, status):
    abort_open_blocks(turn, event)
    for block in blocks(turn):
        if block["kind"] in ("approval", "question", "form") and pending(block) and not outlives_its_turn(block):
            block.update(status="cancelled", version=block["version"] + 1, changed=event["seq"], decided_at=event["at"])
    for run in turn["runs"]:
        run["status"] = "cancelled" if run["status"] == "running" else run["status"]
    turn.update(status=status, end=event["seq"], group=None, open=0, half_shown=0)

def stop_waiting(state, id):
    message = find(state["waiting"], id)
    state["waiting"] = [each for each in state["waiting"] if each is not message]
    return message

def settle(state, id):
    if stop_waiting(state, id):
        state["settled"] = (state["settled"] + [id])[-64:]

# Effect of each event (7.3)

def apply(state, event):
    """Change the state, a shallow copy of the last one. `seq` of the event is the one of its position."""
    kind, _, step = event["type"].partition(".")
    if kind == "session" and (step == "update" or step == "start" and state["session"] == ""):
        state.update(take(event, "title" if step == "update" else "session number title?"))
    elif kind == "message" and step == "add":
        answered = [turn["message"] for turn in state["turns"] if turn["message"]]
        require(event["message"] not in state["settled"] and not find(state["waiting"] + answered, event["message"]))
        message = take(event, "text files? whole? by? resumes? at", id=event["message"], files=[])
        state["waiting"] = state["waiting"] + [message]
    elif kind == "message" and step == "remove":
        settle(state, event["message"])
    elif kind == "turn" and step == "start":
        require(not find(state["turns"], event["turn"]))
        if state["turns"] and state["turns"][-1]["status"] == "running":
            close(turn_of(state, state["turns"][-1]["id"]), event, "error")
        message = stop_waiting(state, event.get("message"))
        own = take(event, "number message_number agent model? mode from_share resumes? retries? locale?", **NEW_TURN)
        turn = dict(own, id=event["turn"], message=message, start=event["seq"], started_at=event["at"])
        state["turns"] = state["turns"] + [turn]
    elif step == "update" and kind in INTERACTIONS:
        update_interaction(state, turn_of(state, event["turn"], running=False), event, kind)
    elif "turn" in event:
        apply_to_turn(turn_of(state, event["turn"]), event, kind, step)

def apply_to_turn(turn, event, kind, step):
    """The events that need a running turn."""
    if kind == "turn" and step == "end":
        close(turn, event, event["reason"])
        turn.update(take(event, "duration_ms usage?"))
    elif kind == "turn" and step == "takeover":
        supersede(turn, event)
    elif kind == "run" and step == "start":
        require(not find(turn["runs"], event["run"]))
        own = take(event, "parent? call? agent label?", status="running", usage=None, outputs=0)
        turn["runs"].append(dict(own, id=event["run"], started_at=event["at"]))
    elif kind == "run" and step == "end":
        run_of(turn, event).update(take(event, "status usage?"))
    elif kind == "group" and step in ("start", "end"):
        require(step == "start" or turn["group"] == event["group"])
        show(turn, place(turn, event, f"group_{step}", **take(event, "summary" if step == "end" else "")))
        turn["group"] = event["group"] if step == "start" else None
    elif kind == "notice" and step in ("stopped", "error"):
        own = take(event, "text by? template?", notice=step, error=None, end=event["seq"], ended_at=event["at"])
        if step == "error":
            details = take(event, "details") if "details" in event else {}
            own.update(by=None, error=take(event, "code can_retry error_type", **details))
        start(turn, event, kind, **own)
        abort_open_blocks(turn, event)
    elif kind in STARTED and step == "start":
        own = take(event, OWN_FIELDS[kind][0], **OWN_FIELDS[kind][1])
        if kind == "files":
            own["files"] = [{**file, "status": "processing"} for file in event["files"]]
        start(turn, event, kind, **own)
    elif kind in STARTED and step == "delta":
        block = block_of(turn, event, kind)
        require(block["end"] is None)
        block.update(changes_of_delta(block, event))
    elif kind in STARTED and step == "end":
        block = block_of(turn, event, kind)
        end(turn, event, block, **changes_of_end(block, event))
    elif kind in INTERACTIONS and step == "request":
        run_of(turn, event)
        own = take(event, OWN_FIELDS[kind][0], **OWN_FIELDS[kind][1])
        if kind == "approval":
            own["offers_always"] = event.get("always", False)
        show(turn, place(turn, event, kind, **own, status="pending", version=0, changed=event["seq"], end=event["seq"],
                         ended_at=event["at"], aborted=False, by=None, reason=None, decided_at=None))

def update_interaction(state, turn, event, kind):
    block = block_of(turn, event, kind)
    require(pending(block) and count(event, "version") > block["version"])
    require(turn["status"] == "running" or outlives_its_turn(block))
    block.update(take(event, "status version by? reason?"), changed=event["seq"], decided_at=event["at"])
    if kind == "approval":
        block.update(edited=event.get("actions"), always=event.get("always", False))
    elif kind == "question":
        block.update(take(event, "answers? message?"))
        settle(state, block["message"])
    elif kind == "form":
        block.update(take(event, "values?"))

def changes_of_delta(block, event):
    kind = block["kind"]
    if kind == "thinking":
        return dict(text=join(block["text"], event["text"]))
    if kind == "text":
        annotations = block["annotations"] + event.get("annotations", [])
        return dict(text=join(block["text"], event["text"]), annotations=annotations)
    if kind == "tool_call":
        return dict(args=join(block["args"], event["args"]))
    if kind == "tool_result":
        return dict(parts=changed_parts(block["parts"], event))
    message = event["message"] or block["message"]
    if "file" not in event:
        return dict(message=message, status=event["status"])
    number, files = count(event, "file"), list(block["files"])
    files[number] = {**files[number], "status": event["status"]}
    return dict(message=message, files=files)

def changed_parts(parts, event):
    number = count(event, "part")
    require(number <= len(parts) and event["media"] in ("text", "image"))
    new = dict(media=event["media"], data="", reference=None, done=False, pictures=0)
    old = parts[number] if number < len(parts) else new
    require(not old["done"] and old["media"] == event["media"])
    is_image = event["media"] == "image"
    part = dict(take(event, "media done"), data=event["data"] if is_image else join(old["data"], event["data"]),
                reference=event.get("reference", old["reference"]), pictures=old["pictures"] + 1 if is_image else 0)
    return parts[:number] + [part] + parts[number + 1:]

def changes_of_end(block, event):
    kind = block["kind"]
    if kind == "tool_call":
        given = "input" in event
        return take(event, "aborted? whole?" + " input" * given, aborted=False, given=given)
    if kind == "tool_result":
        parts = [{**part, "done": True} for part in block["parts"]]
        structured = " structured" * ("structured" in event)
        return take(event, "status preview artifact whole? results? usage?" + structured, parts=parts)
    if kind == "files":
        files = [{**file, "status": event["status"]} if file["status"] == "processing" else file for file in block["files"]]
        return dict(files=files, status=event["status"], message=event["message"] or block["message"])
    return take(event, "final" if kind == "text" else "")

def supersede(turn, event):
    require(all(isinstance(event[name], list) for name in ("blocks", "groups", "runs")))
    for index, item in enumerate(turn["items"]):
        if item and item["kind"] != "superseded" and item["id"] in event["groups" if item["kind"] in MARKERS else "blocks"]:
            if item["kind"] not in MARKERS and item["end"] is None:
                add_to_open(turn, item, -1)
            output = item.get("output") if visible(turn, item) else None
            turn["items"][index] = dict(take(item, "id run index start started_at call? name?"), kind="superseded",
                                        was=item["kind"], shown=None, output=output)
    for run in turn["runs"]:
        run["status"] = "superseded" if run["id"] in event["runs"] else run["status"]
    turn["group"] = None if turn["group"] in event["groups"] else turn["group"]

# The fold (7.1)

def fold(state, event):
    if classify((state["epoch"], state["seq"]), event) not in ("next", "gap"):
        return state
    epoch, seq = parse_cursor(event["id"])
    after = dict(state)
    try:
        apply(after, {**event, "seq": seq})
    except (NotApplicable, LookupError, TypeError, ValueError, AttributeError):
        after = state  # a condition doesn't hold, or a field is missing or malformed
    return {**after, "epoch": epoch, "seq": seq}

# The check (vectors/README.md)

def patch(document, steps):
    """JSON Patch with `add`, `replace` and `remove`; changes the document."""
    for step in steps:
        *parents, last = [key.replace("~1", "/").replace("~0", "~") for key in step["path"].split("/")[1:]]
        target, value = document, copy.deepcopy(step.get("value"))
        for key in parents:
            target = target[int(key)] if isinstance(target, list) else target[key]
        if isinstance(target, list):
            last = len(target) if last == "-" else int(last)
            target[last:last + (step["op"] != "add")] = [] if step["op"] == "remove" else [value]
        elif step["op"] == "remove":
            del target[last]
        else:
            target[last] = value

def difference(mine, expected, path=""):
    """The first difference of two JSON values, or None. `true` is not `1`, and an absent key is not null."""
    if isinstance(mine, dict) and isinstance(expected, dict):
        pairs = [(key, mine.get(key, ...), expected.get(key, ...)) for key in sorted(mine.keys() | expected.keys())]
    elif isinstance(mine, list) and isinstance(expected, list) and len(mine) == len(expected):
        pairs = [(number, *pair) for number, pair in enumerate(zip(mine, expected))]
    elif mine == expected and isinstance(mine, bool) == isinstance(expected, bool):
        return None
    else:
        return f"{path or '/'}: got {mine!r}, expected {expected!r} (Ellipsis: absent)"
    return next(filter(None, (difference(a, b, f"{path}/{key}") for key, a, b in pairs)), None)

def check(vector):
    mine, expected = empty_state(), copy.deepcopy(vector["empty"])
    found = difference(mine, expected, "empty")
    for event, steps in zip(vector["events"], vector["patches"], strict=True):
        mine = fold(mine, event)
        patch(expected, steps)
        found = found or difference(mine, expected, f"after {event['id']} {event['type']}: ")
    return found or difference(mine, vector["state"], "at the end: ")

def main(folder):
    vectors = {path.name: json.loads(path.read_text("utf-8")) for path in sorted(pathlib.Path(folder).glob("*.json"))}
    for name, vector in vectors.items():
        found = check(vector)
        if found:
            sys.exit(f"{name}: {found}")
    if not vectors:
        sys.exit(f"no vectors in {folder}")
    print(f"{len(vectors)} vectors passed")

if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "vectors/fold")
