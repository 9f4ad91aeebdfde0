/** Tests reload and handoff: what a client finds at any moment of a turn, and how it continues from there. */
import {
  listBlocks,
  emptyState,
  foldAll,
  restore,
  type SessionState,
  snapshot,
  toolItem,
  viewTurn,
} from "@turnstream/protocol";
import {
  coalesce,
  foldWithHandoffPoint,
  isHandoffPoint,
  trackHandoffPoint,
} from "@turnstream/protocol/writer";
import { blocks, toHistory } from "@turnstream/protocol/blocks";
import { responses } from "@turnstream/protocol/responses";
import { tasks } from "@turnstream/protocol/tasks";
import { describe, expect, test } from "vitest";
import { BlocksClient } from "../clients/blocks-client.ts";
import { LogWriter } from "../support/log-writer.ts";
import { framesFrom, statesOf } from "../support/replay.ts";
import { pick, turnOf } from "./frames.ts";
import { everyEvent } from "./every-event.ts";

/** The state at the latest handoff point of a log, from which history is built. */
function foldHandoff(log: LogWriter, upTo = log.events.length): SessionState {
  let track = trackHandoffPoint(emptyState);
  for (const event of log.events.slice(0, upTo)) track = foldWithHandoffPoint(track, event);
  return track.handoff ?? emptyState;
}

/** Payments in their requested state: this plain client does not apply their updates. */
function asRequested(items: unknown): unknown {
  const text = JSON.stringify(items, (key, value: unknown) =>
    key === "payment" ? { ...(value as object), status: "pending" } : value,
  );
  return JSON.parse(text);
}

describe("the status beside history", () => {
  test("H02 is idle before the first turn and after the last, running in between, and the cursor is the position", () => {
    const log = new LogWriter().session();
    expect(toHistory(log.state)).toEqual({
      title: null,
      messages: [],
      agent_status: "idle",
      running_message_id: null,
      pending_approval: null,
      pending: [],
      last_event_id: "1-1",
    });
    log.begin("x").text(["One."], { part: true });
    expect(toHistory(log.state)).toMatchObject({
      agent_status: "running",
      running_message_id: log.turn,
      last_event_id: `1-${log.events.length}`,
    });
    log.text(["Two."], { final: true }).end();
    expect(toHistory(log.state)).toMatchObject({
      agent_status: "idle",
      running_message_id: null,
      last_event_id: `1-${log.events.length}`,
    });
  });

  test("H02 is running while a message waits, which is the last one of history", () => {
    const log = new LogWriter().session().begin("x").text(["One."], { final: true }).end();
    const files = [{ url: "https://f.example/a" }];
    log.add({ type: "message.add", message: "m1", text: "And then?", files });
    const history = toHistory(log.state);
    expect(history).toMatchObject({ agent_status: "running", running_message_id: null });
    expect(history.messages.slice(2)).toEqual([
      {
        role: "user",
        message_id: null,
        user_message_id: "m1",
        content: [
          { type: "text", text: "And then?" },
          { type: "file", url: "https://f.example/a" },
        ],
        display_type: "content",
      },
    ]);
    log.add({ type: "message.remove", message: "m1" });
    expect(toHistory(log.state)).toMatchObject({ agent_status: "idle", messages: [{}, {}] });
  });

  test("H02 H04 messages that wait behind a turn precede its answer, whose open group continues in the stream", () => {
    const log = new LogWriter().session().begin("x").openGroup();
    const call = log.call("get_tide", []);
    for (const text of ["second", "third"]) log.add({ type: "message.add", message: text, text });
    const handoff = foldHandoff(log);
    const from = log.events.length;
    log.result(call, "get_tide", "high").closeGroup("Tides").text(["High."], { final: true }).end();
    const reloaded = client(toHistory(handoff), framesFrom(blocks, handoff, log.events.slice(from)));
    expect(pick(toHistory(handoff).messages, "message_id", "display_type")).toEqual([
      { message_id: log.turn, display_type: "content" },
      { message_id: null, display_type: "content" },
      { message_id: null, display_type: "content" },
      { message_id: log.turn, display_type: "group_start" },
    ]);
    expect(reloaded[log.turn]).toMatchObject({
      items: [
        { type: "user" },
        { type: "group", isOpen: false, blocks: [{ toolResult: "high" }] },
        { text: "High." },
      ],
      streaming: false,
    });
  });
});

function waiting(): LogWriter {
  const log = new LogWriter().session("ses_rail").begin("Buy it").openGroup();
  const call = log.call("buy_ticket", ['{"seats":2}'], { call: "tc-1", label: "Buying" });
  const actions = [{ name: "buy_ticket", input: { seats: 2 } }];
  const due = { timeout_seconds: 300, deadline: 1_800_000_300_000 };
  log.add({
    type: "approval.request",
    ...log.place(),
    key: "ses_rail_1",
    call,
    actions,
    editable: true,
    ...due,
  });
  return log;
}

describe("a reload while an approval is pending", () => {
  test("H02 H04 the agent is running, and the approval has everything that an answer needs", () => {
    const log = waiting();
    expect(isHandoffPoint(log.state)).toBe(true);
    const history = toHistory(foldHandoff(log));
    expect(history.agent_status).toBe("running");
    expect(history.pending_approval).toEqual({
      type: "approval_request",
      approval_key: "ses_rail_1",
      action_requests: [{ name: "buy_ticket", args: { seats: 2 } }],
      review_configs: [{ require_approval: true, allow_edit: true }],
      timeout_seconds: 300,
      deadline: 1_800_000_300_000,
      tool_use_id: "tc-1",
      status: "pending",
      version: 0,
    });
  });

  test("H04 its group is open, and the call in it is pending", () => {
    const log = waiting();
    const { messages } = toHistory(foldHandoff(log));
    expect(pick(messages, "display_type", "summary", "group_closed").slice(1)).toEqual([
      { display_type: "group_start" },
      { display_type: "group_item" },
    ]);
    expect(viewTurn(turnOf(restore(snapshot(log.state))))).toMatchObject([
      {
        type: "group",
        open: true,
        header: "Buying",
        items: [{ status: "pending", approvals: [{ status: "pending" }] }],
      },
    ]);
  });

  test("H04 after the answer, the stream continues: approval_result, tool_result, group_end", () => {
    const log = waiting();
    const from = log.events.length;
    const handoff = foldHandoff(log);
    const approval = listBlocks(turnOf(log.state)).find((block) => block.kind === "approval");
    const on = { turn: log.turn, run: log.main, block: approval?.id ?? "", index: approval?.index ?? 0 };
    log.add({ type: "approval.update", ...on, version: 1, status: "approved" });
    log.result("tc-1", "buy_ticket", "bought").closeGroup("Bought");
    const frames = framesFrom(blocks, handoff, log.events.slice(from));
    const types = frames.map((f) => (f.type === "content_block_start" ? f.content_block.type : f.type));
    expect(types).toEqual(["approval_result", "tool_result", "content_block_stop", "group_end"]);
    expect(toHistory(log.state).pending_approval).toBeNull();
  });
});

describe("the handoff point", () => {
  test("H03 inside a text block, history ends before the text, and the stream sends all of it", () => {
    const log = new LogWriter().session().begin("x").text(["First."], { part: true });
    const before = log.events.length;
    const on = log.place();
    log.add({ type: "text.start", ...on, part: false });
    for (const text of ["one ", "two ", "three"]) log.add({ type: "text.delta", ...on, text });
    const handoff = foldHandoff(log);
    expect(toHistory(handoff).last_event_id).toBe(`1-${before}`);
    const frames = framesFrom(blocks, handoff, coalesce(log.events.slice(before)));
    expect(frames.map((frame) => (frame.type === "content_block_delta" ? frame.delta : frame.type))).toEqual([
      "content_block_start",
      { type: "text_delta", text: "one two three" },
    ]);
  });

  test("H03 a running call or result does not move it, because it is shown only after its end", () => {
    const log = new LogWriter().session().begin("x").openGroup().think(["Hm."]);
    log.startResult(log.call("get_tide", []), "get_tide");
    expect(isHandoffPoint(log.state)).toBe(true);
    expect(toHistory(log.state).messages.map((message) => message.role)).toEqual([
      "user",
      "assistant",
      "assistant",
    ]);
  });

  test("H03 is before a group that has no message yet", () => {
    const log = new LogWriter().session().begin("x").openGroup();
    expect(isHandoffPoint(log.state)).toBe(false);
    log.think(["Hm."]);
    expect(isHandoffPoint(log.state)).toBe(true);
  });
});

const client = (history: ReturnType<typeof toHistory> | null, frames: readonly object[]) => {
  const it = new BlocksClient();
  if (history !== null) it.load(history);
  for (const frame of frames) it.handle(frame as Record<string, unknown>);
  expect(it.problems).toEqual([]);
  return it.display();
};

describe("the handoff at every position of a log with every type of event", () => {
  const { events } = everyEvent();
  const states = statesOf(events);
  const whole = states.at(-1);
  const cuts = states.map((_, k) => k);

  test("H03 native: the snapshot as JSON and the events after it fold to the complete state", () => {
    for (const k of cuts) {
      const from = restore(
        JSON.parse(JSON.stringify(snapshot(states[k] ?? emptyState))) as ReturnType<typeof snapshot>,
      );
      expect(foldAll(events.slice(k), from)).toEqual(whole);
    }
  });

  test("H03 native: an event folded twice, or again after the snapshot, changes nothing", () => {
    for (const k of cuts) expect(foldAll(events.slice(0, k), states[k])).toBe(states[k]);
  });

  test.each([blocks, tasks, responses])(
    "H03 $name: an encoder attached at any position continues like the uncut one",
    (dialect) => {
      const after = (k: number) =>
        JSON.stringify(framesFrom(dialect as typeof blocks, states[k] ?? emptyState, events.slice(k)));
      const uncut = events.map((event, k) =>
        JSON.stringify(framesFrom(dialect as typeof blocks, states[k] ?? emptyState, [event])),
      );
      for (const k of cuts) {
        const rest = uncut.slice(k).flatMap((frames) => JSON.parse(frames) as unknown[]);
        expect(after(k)).toBe(JSON.stringify(rest));
      }
    },
  );

  test("H03 H04 blocks: history at the handoff point and the frames after it show the same as the complete stream", () => {
    const uncut = client(null, framesFrom(blocks, emptyState, events));
    let track = trackHandoffPoint(emptyState);
    for (const k of cuts) {
      const handoff = track.handoff ?? emptyState;
      const shown = client(toHistory(handoff), framesFrom(blocks, handoff, events.slice(handoff.seq)));
      for (const [turn, message] of Object.entries(uncut)) {
        const items = shown[turn]?.items.filter((item) => (item as { type: string }).type !== "user");
        expect({ turn, k, items: asRequested(items) }).toEqual({
          turn,
          k,
          items: asRequested(message.items),
        });
      }
      const event = events[k];
      if (event !== undefined) track = foldWithHandoffPoint(track, event);
    }
  });
});

describe("a reload after the turn", () => {
  test("H04 finds every group closed and the agent idle", () => {
    const history = toHistory(everyEvent().state);
    expect(history.agent_status).toBe("idle");
    const opened = history.messages.filter((message) => message.display_type === "group_start");
    const closed = history.messages.filter((m) => m.display_type === "group_end" || m.group_closed === true);
    expect(opened.length).toBeGreaterThan(0);
    expect(closed).toHaveLength(opened.length);
  });
});

const calling = () => {
  const log = new LogWriter({ check: false }).session().begin("x");
  log.call("get_tide", []);
  return log;
};

const dots = (state: SessionState) =>
  listBlocks(turnOf(state)).flatMap((b) =>
    b.kind === "tool_call" ? [toolItem(turnOf(state), b).status] : [],
  );

describe("a call without a result", () => {
  test("H05 U02 is pending while its turn is running, also after a reload", () => {
    expect(dots(calling().state)).toEqual(["pending"]);
    expect(dots(restore(snapshot(calling().state)))).toEqual(["pending"]);
  });

  test.each(["end_turn", "user_stopped", "error"] as const)(
    "H05 U02 is stopped after its turn has ended (%s), also after a reload",
    (reason) => {
      const { state } = calling().end(reason);
      expect(dots(state)).toEqual(["stopped"]);
      expect(dots(restore(snapshot(state)))).toEqual(["stopped"]);
    },
  );

  test("H05 has no result in history either, so that a plain client shows it as stopped", () => {
    const log = new LogWriter({ check: false }).session().begin("x");
    log.startResult(log.call("get_tide", []), "get_tide");
    log.end("error");
    expect(dots(log.state)).toEqual(["stopped"]);
    expect(toHistory(log.state).messages.map((message) => message.role)).toEqual(["user", "assistant"]);
  });
});
