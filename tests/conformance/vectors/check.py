#!/usr/bin/env python3
"""Checks the vectors without any of Turnstream's own code. Needs Python 3.9 or later and no packages.

    python3 check.py [folder of the vectors]

Use it as a first draft of your own client. It contains a plain client of the `blocks` dialect with reload and resume,
a parser of server-sent events, cursors, places, and JSON Patch. It checks `handoff` for `blocks`, the patches of
`fold`, `sse.json`, `cursors.json` and `places.json`, and exits with 1 on a difference. It does not implement the fold,
the rules of a valid log, `tasks` or tool tags.
"""
import copy
import json
import re
import sys
from pathlib import Path


# ---- values

def same(a, b):
    """Compares as JSON: keys in any order, 1 equals 1.0; but true differs from 1, and a missing key from null."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    return a == b


def apply_patch(document, operations):
    """Applies a JSON Patch (RFC 6902) in place. Supports the operations that the vectors use."""
    for operation in operations:
        at = document
        steps = [step.replace("~1", "/").replace("~0", "~") for step in operation["path"].split("/")[1:]]
        for step in steps[:-1]:
            at = at[int(step) if isinstance(at, list) else step]
        key = int(steps[-1]) if isinstance(at, list) else steps[-1]
        if operation["op"] == "remove":
            del at[key]
        elif operation["op"] == "add" and isinstance(at, list):
            at.insert(key, copy.deepcopy(operation["value"]))
        elif operation["op"] == "add" or (operation["op"] == "replace" and at[key] is not at):
            at[key] = copy.deepcopy(operation["value"])  # at[key] fails if there is no value to replace
        else:
            raise ValueError("unknown operation " + operation["op"])


# ---- cursors: <epoch>-<seq>, compared as numbers

# [0-9], because \d matches the digits of every script; \Z, because $ matches before a line feed at the end.
CURSOR = re.compile(r"(0|[1-9][0-9]{0,14})-(0|[1-9][0-9]{0,14})\Z")


def parse_cursor(value):
    """Returns (epoch, seq), or None if the value is not exactly a cursor."""
    found = CURSOR.match(value) if isinstance(value, str) else None
    return (int(found[1]), int(found[2])) if found else None


def compare_cursors(a, b):
    x, y = parse_cursor(a) or (-1, -1), parse_cursor(b) or (-1, -1)
    return (x > y) - (x < y)


CLAIMS = ("session.start", "turn.start", "turn.takeover")


def place_of(last, event):
    """Classifies an event against the last position (epoch, seq). Only `next` can be handled without a check."""
    position = parse_cursor(event["id"])
    if position is None:
        return "unreadable"
    (epoch, seq), (last_epoch, last_seq) = position, last
    first = event.get("first", seq)
    if seq <= last_seq:  # the position is used; in a higher epoch it has another event
        return "diverged" if epoch > last_epoch else "known"
    if epoch < last_epoch:  # its writer did not notice a takeover
        return "stale"
    if first <= last_seq:
        return "diverged"
    if first > last_seq + 1:
        return "gap"
    return "diverged" if epoch > last_epoch and event["type"] not in CLAIMS else "next"


# ---- server-sent events

class SseParser:
    """Accepts decoded text in pieces of any size and collects complete messages."""

    def __init__(self):
        self.messages, self.comments, self.retries = [], [], []
        self._line, self._data, self._event, self._id = [], [], None, None
        self._first, self._after_cr = True, False

    def push(self, text):
        for char in text:
            if self._first and char == "\ufeff":
                self._first = False
                continue
            self._first = False
            if char == "\n" and self._after_cr:  # the second half of CRLF
                self._after_cr = False
                continue
            self._after_cr = char == "\r"
            if char in "\r\n":
                self._end_line("".join(self._line))
                self._line = []
            else:
                self._line.append(char)

    def _end_line(self, line):
        if line == "":
            if self._data:
                message = {"data": "\n".join(self._data)}
                if self._event:
                    message["event"] = self._event
                if self._id is not None:
                    message["id"] = self._id
                self.messages.append(message)
            self._data, self._event, self._id = [], None, None
            return
        field, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field == "":
            self.comments.append(value)
        elif field == "data":
            self._data.append(value)
        elif field == "event":
            self._event = value
        elif field == "id" and "\0" not in value:
            self._id = value
        elif field == "retry" and re.match(r"[0-9]+\Z", value):
            self.retries.append(int(value))


def format_sse(frame):
    lines = [name + ": " + str(frame[name]) for name in ("event", "id", "retry") if name in frame]
    lines += ["data: " + line for line in re.split("\r\n|\r|\n", frame["data"])]
    return "\n".join(lines) + "\n\n"


# ---- a plain client of the `blocks` dialect

class BlocksClient:
    """Has one list of blocks per message. History fills it after a reload, then frames do."""

    def __init__(self):
        self.messages, self.cursor, self.problems = {}, None, []

    def message(self, message_id):
        fresh = {"blocks": [], "open": {}, "streaming": True}
        return self.messages.setdefault(message_id, fresh)

    def handle(self, frame):
        kind, message_id, index = frame["type"], frame.get("message_id"), frame.get("index")
        if kind in ("approval_result", "interaction_update"):  # possibly long after the turn
            for block in self.message(message_id)["blocks"]:
                apply_update(block, frame)
        elif message_id is not None:
            if kind == "message_start":  # also after a takeover or a resync: discard the message
                self.messages.pop(message_id, None)
            message = self.message(message_id)
            if not message["streaming"]:
                self.problems.append(kind + " after the end of " + message_id)
            if kind == "content_block_start":
                message["open"][index] = dict(frame["content_block"])
            elif kind == "content_block_delta":
                apply_delta(message["open"][index], frame["delta"])
            elif kind == "content_block_stop":
                block = message["open"].pop(index)
                if block["type"] == "text":
                    block["is_final"] = frame["is_final"]
                if block["type"] in ("approval_request", "form_request", "payment_request"):
                    block.update({"status": "pending", "version": 0})
                add_block(message["blocks"], block)
            elif kind in ("group_start", "group_end"):
                message["blocks"].append({"type": kind, "summary": frame.get("summary", "")})
            elif kind == "message_stop":
                message["streaming"] = False
        self.cursor = frame.get("event_id", self.cursor)

    def load(self, history):
        """Loads history. The frames after its `last_event_id` then continue in the same lists."""
        for entry in history["messages"]:
            if entry["message_id"] is None:  # a user message that waits for its turn
                continue
            message = self.message(entry["message_id"])
            message["streaming"] = False
            load_entry(message["blocks"], entry)
        if history["running_message_id"] is not None:
            self.message(history["running_message_id"])["streaming"] = True
        self.cursor = history["last_event_id"]

    def display(self):
        """Returns what the user sees, independent of how it arrived. User messages are only in history."""
        shown = {}
        for message_id, message in self.messages.items():
            items = build_groups(message["blocks"], message["streaming"])
            half = [visible(block) for _, block in sorted(message["open"].items())]
            if items or half:
                shown[message_id] = {"items": items, "half": half, "streaming": message["streaming"]}
        return shown


def apply_delta(block, delta):
    if delta.get("type") == "text_delta":
        block["text"] += delta["text"]
        apply_extras(block, delta.get("extras"))
    elif delta.get("type") == "thinking_delta":
        block["thinking"] += delta["thinking"]
    else:  # files and approvals: copy all fields of the delta
        block.update({key: value for key, value in delta.items() if value not in ("", None)})


def apply_extras(block, extras):
    """Turns a text with extras into a terminal block: the turn was stopped, or failed."""
    if extras and extras["block_subtype"] == "user_stopped":
        block["type"] = "terminal_user_stopped"
    elif extras:
        block.update({"type": "terminal_error", "extras": extras})


def apply_update(block, frame):
    """Applies a change of an approval, question, form or payment. Ignores a version that is not higher."""
    names = {"approval_request": block.get("approval_key"), "form_request": block.get("form_request_id"),
             "payment_request": block.get("payment", {}).get("payment_request_id")}
    name = frame.get("approval_key", frame.get("interaction_id"))
    if names.get(block["type"]) != name or frame["version"] <= block["version"]:
        return
    for key in ("status", "version", "reason", "answers", "values"):
        block[key] = frame.get(key)
    block["edited_requests"] = frame.get("action_requests")
    if "payment" in block:
        block["payment"] = {**block["payment"], "status": frame["status"]}


def add_block(blocks, block):
    """Stores a result in its call, and adds every other block."""
    calls = [b for b in blocks if b["type"] == "tool_use" and b["id"] == block.get("tool_use_id")]
    if block["type"] != "tool_result" or not calls:
        blocks.append(block)
        return
    calls[0]["toolResult"] = block["content"]
    calls[0]["toolResultError"] = block["status"] != "success"
    calls[0]["artifact"] = block["artifact"]


def load_entry(blocks, entry):
    """Converts one flat message of history: one kind of content, possibly with the marker of a group."""
    summary = entry.get("summary", "")
    if entry["display_type"] == "group_start":
        blocks.append({"type": "group_start", "summary": summary})
    author = {key: entry.get(key) for key in ("subagent", "parent_tool_use_id")}
    if entry["role"] == "tool":
        result = {**author, **entry, "type": "tool_result", "tool_use_id": entry["tool_call_id"]}
        add_block(blocks, {**result, "content": "".join(part["text"] for part in entry["content"])})
    elif entry["role"] == "assistant":
        for part in entry["content"]:
            block = {**author, **part}
            apply_extras(block, block.pop("extras", None))
            blocks.append(block)
        for call in entry.get("tool_calls", []):
            blocks.append({**author, **call, "type": "tool_use"})
    if entry["display_type"] == "group_end" or entry.get("group_closed"):
        blocks.append({"type": "group_end", "summary": summary})


def build_groups(blocks, streaming):
    items, group = [], None
    for block in blocks:
        if block["type"] == "group_start":
            group = {"type": "group", "summary": block["summary"], "open": True, "blocks": []}
            items.append(group)
        elif block["type"] == "group_end":
            if group is not None:
                group.update({"summary": block["summary"] or group["summary"], "open": False})
            group = None
        else:
            if block["type"] == "text" and not block["is_part"]:
                group = None
            (items if group is None else group["blocks"]).append(visible(block))
    for item in items:
        if item["type"] == "group":
            item["open"] = item["open"] and streaming
    return [item for item in items if item["type"] != "group" or item["blocks"]]


SHOWN = """
    type text thinking is_part is_final subagent parent_tool_use_id files message extras
    id name tool_content_message input toolResult toolResultError artifact content
    approval_key action_requests review_configs timeout_seconds deadline edited_requests answers
    form_request_id form_schema values payment status version reason
""".split()


def visible(block):
    return {key: block[key] for key in SHOWN if block.get(key) is not None}


# ---- the checks

class Checks:
    def __init__(self, folder):
        self.folder, self.count, self.failures = folder, 0, []

    def read(self, path):
        return json.loads((self.folder / path).read_text(encoding="utf-8"))

    def same(self, what, actual, expected):
        self.count += 1
        if not same(actual, expected):
            self.failures.append("%s\n  is  %.400s\n  not %.400s" % (what, ascii(actual), ascii(expected)))

    def fold(self, name):
        vector = self.read("fold/" + name)
        state, states = copy.deepcopy(vector["empty"]), [vector["empty"]]
        for event, patch in zip(vector["events"], vector["patches"]):
            before = (state["epoch"], state["seq"])
            place = place_of(before, event)
            if name != "odd-events.json":
                self.same("fold/%s place of %s" % (name, event["id"]), place, "next")
            apply_patch(state, patch)
            states.append(copy.deepcopy(state))
            after = parse_cursor(event["id"]) if place in ("next", "gap") else before
            what = "fold/%s after %s, %s" % (name, event["id"], place)
            self.same(what, [state["epoch"], state["seq"]], list(after))
            if after == before:
                self.same(what + ", changes nothing", patch, [])
        self.same("fold/%s at the end" % name, state, vector["state"])
        return states

    def handoff(self, name, states):
        vector = self.read("handoff/" + name)
        for cut in vector["native"]:
            self.same("handoff/%s snapshot %d" % (name, cut["k"]), cut["snapshot"], states[cut["k"]])
        frames = [frame for made in self.read("dialects/blocks/" + name)["frames"] for frame in made]
        replay = vector["replay"]["blocks"]
        uncut = self.shown(name, [], frames)
        self.same("handoff/%s replayed" % name, self.shown(name, [], replay), uncut)
        for point in vector["reload"]:
            rest = point["rest"] + replay[point["replay_from"]:]
            shown = self.shown(name, [point["history"]], rest)
            self.same("handoff/%s reload at %s" % (name, point["last_event_id"]), shown, uncut)
        for point in vector["resync"]:
            rest = point["frames"] + point["rest"] + replay[point["replay_from"]:]
            shown = self.shown(name, [], self.before(name, point["since"]) + rest)
            self.same("handoff/%s resync at %d" % (name, point["k"]), shown, uncut)
        for point in vector["resume"]["blocks"]:
            rest = point["rest"] + replay[point["replay_from"]:]
            cursors = [frame.get("event_id") for frame in frames]
            seen = cursors.index(point["cursor"]) + 1 if point["cursor"] in cursors else 0
            # A client can be cut off between the frames of one event. It then receives all of them again.
            while True:
                shown = self.shown(name, [], frames[:seen] + rest)
                self.same("handoff/%s resume after %s" % (name, point["cursor"]), shown, uncut)
                if seen >= len(frames) or cursors[seen] is not None:
                    break
                seen += 1

    def odd_frames(self):
        """Checks that the end of a turn closes everything for the client that the writer left open."""
        client = BlocksClient()
        for frames in self.read("dialects/blocks/odd-events.json")["frames"]:
            for frame in frames:
                client.handle(frame)
        self.same("odd events: problems", client.problems, [])
        for message_id, message in client.messages.items():
            if not message["streaming"]:
                self.same("odd events: open in " + message_id, message["open"], {})

    def before(self, name, since):
        """Returns the frames that a slow client has handled before a resync: those of the first events."""
        made = self.read("dialects/blocks/" + name)["frames"][:since]
        return [frame for frames in made for frame in frames]

    def shown(self, name, histories, frames):
        client = BlocksClient()
        for history in histories:
            client.load(history)
        for frame in copy.deepcopy(frames):
            client.handle(frame)
        self.same("handoff/%s problems" % name, client.problems, [])
        return client.display()

    def sse(self):
        vector = self.read("sse.json")
        for example in vector["format"]:
            self.same("sse.json format: " + example["name"], format_sse(example["frame"]), example["text"])
        for example in vector["parse"]:
            text = example["text"]
            for cut in range(len(text) + 1):
                parser = SseParser()
                parser.push(text[:cut])
                parser.push(text[cut:])
                read = {"messages": parser.messages, "comments": parser.comments, "retries": parser.retries}
                expected = {key: example[key] for key in read}
                self.same("sse.json parse: %s, cut at %d" % (example["name"], cut), read, expected)

    def places(self):
        for case in self.read("places.json")["cases"]:
            last = (case["last"]["epoch"], case["last"]["seq"])
            self.same("places.json: " + case["name"], place_of(last, case["event"]), case["place"])

    def cursors(self):
        vector = self.read("cursors.json")
        for good in vector["good"]:
            self.same(good["cursor"], list(parse_cursor(good["cursor"]) or ()), [good["epoch"], good["seq"]])
        for bad in vector["bad"]:
            self.same("bad cursor " + ascii(bad), parse_cursor(bad), None)
        for pair in vector["order"]:
            self.same(pair["a"] + " and " + pair["b"], compare_cursors(pair["a"], pair["b"]), pair["sign"])


def main():
    checks = Checks(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
    states = {path.name: checks.fold(path.name) for path in sorted(checks.folder.glob("fold/*.json"))}
    for path in sorted(checks.folder.glob("handoff/*.json")):
        checks.handoff(path.name, states[path.name])
    checks.sse()
    checks.cursors()
    checks.places()
    checks.odd_frames()
    for failure in checks.failures[:20]:
        print(failure)
    if checks.failures:
        print("%d of %d checks failed" % (len(checks.failures), checks.count))
        sys.exit(1)
    print("%d checks passed" % checks.count)


main()
