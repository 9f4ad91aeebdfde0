/** Tests `updateLayout`: the visible items of a turn, their order, and that they stay the same while text grows. */
import {
  emptyState,
  findTurn,
  fold,
  foldAll,
  Sequence,
  type SessionEvent,
  type SessionState,
  type Turn,
} from "@turnstream/protocol";
import { Story } from "@turnstream/conformance/scenarios/story.ts";
import { describe, expect, test } from "vitest";
import {
  type LayoutState,
  updateLayout,
  type LayoutGroup,
  type TurnLayout,
} from "../../src/view/turn-layout.ts";
import { eventsOf, LOGS } from "./vector-logs.ts";

function lastTurn(state: SessionState): Turn {
  const turn = state.turns.last();
  if (turn === undefined) throw new Error("there is no turn");
  return turn;
}

function mainOf(known: LayoutState): TurnLayout {
  return known.layouts.get(known.mainRunId ?? "") ?? [];
}

/** Returns for each call in the last turn's groups whether it counts as failed. */
function failures(events: readonly SessionEvent[]): boolean[] {
  return mainOf(updateLayout(lastTurn(foldAll(events)), null)).flatMap((entry) =>
    entry.type === "group"
      ? entry.blocks.flatMap(({ component, hasFailed: isFailed }) =>
          component === "ToolCall" ? [isFailed] : [],
        )
      : [],
  );
}

/** Yields the layout of the last turn after each event. */
function* digests(
  events: readonly SessionEvent[],
): Generator<{ event: SessionEvent; before: LayoutState | null; after: LayoutState }> {
  let before: LayoutState | null = null;
  for (let n = 1; n <= events.length; n++) {
    const event = events[n - 1];
    const state = foldAll(events.slice(0, n));
    if (event === undefined || state.turns.length === 0) continue;
    const turn = lastTurn(state);
    if (before !== null && before.turn.id !== turn.id) before = null;
    // Folding from the start each time shares no objects. So layouts stay the same only if equal content is detected.
    const after: LayoutState = updateLayout(turn, before);
    yield { event, before, after };
    before = after;
  }
}

/** Returns the open or ended group of a story. */
function toGroup(write: (log: Story) => void): LayoutGroup | undefined {
  const log = new Story({ check: false }).session("ses_groups", 1).begin("How is VNM?").openGroup();
  write(log);
  const found = mainOf(updateLayout(lastTurn(log.state), null)).find(({ type }) => type === "group");
  return found as LayoutGroup | undefined;
}

function call(log: Story, label: string): Story {
  log.endResult(log.startResult(log.call("look_up", ["{}"], { label }), "look_up"), "found");
  return log;
}

const GROWS = new Set([
  "text.delta",
  "thinking.delta",
  "tool_call.delta",
  "tool_result.delta",
  "files.delta",
]);

describe("updateLayout", () => {
  test("returns the same layouts while only text grows", () => {
    let grown = 0;
    for (const { events } of LOGS) {
      for (const { event, before, after } of digests(events)) {
        if (before === null || !GROWS.has(event.type)) continue;
        grown++;
        for (const [run, outline] of after.layouts) expect(outline).toBe(before.layouts.get(run));
      }
    }
    expect(grown).toBeGreaterThan(100);
  });

  test("continues a layout to what a new one contains, at every position", () => {
    for (const { events } of LOGS) {
      let state = emptyState;
      let before: LayoutState | null = null;
      for (const event of events) {
        state = fold(state, event);
        const turn = state.turns.last();
        if (turn === undefined) continue;
        before = updateLayout(turn, before?.turn.id === turn.id ? before : null);
        expect(before).toEqual(updateLayout(turn, null));
      }
    }
  });

  test("names the component of each block, and groups with their blocks", () => {
    const events = eventsOf("tools-in-group");
    const outline = mainOf(updateLayout(lastTurn(foldAll(events)), null));
    expect(
      outline.map((entry) =>
        entry.type === "group" ? entry.blocks.map(({ component }) => component) : entry.component,
      ),
    ).toEqual([["ThinkingBlock", "ToolCall", "ToolCall"], "TextBlock"]);
    const group = outline[0] as LayoutGroup;
    expect(group).toMatchObject({ blockIndex: 0, isRunning: false });
    expect(group.durationMs).toBeGreaterThan(0);
  });

  test("marks blocks that need the user until the interaction is decided", () => {
    const needed = [...digests(eventsOf("approved-and-edited"))].flatMap(({ event, after }) => {
      if (event.type !== "approval.request" && event.type !== "approval.update") return [];
      const steps = mainOf(after).flatMap((entry) => (entry.type === "group" ? entry.blocks : [entry]));
      return [steps.some(({ needsUser }) => needsUser)];
    });
    expect(needed).toEqual([true, false, true, false]);
  });

  test("leaves out everything that a takeover superseded", () => {
    const events = eventsOf("takeover");
    const state = foldAll(events);
    for (const { id } of state.turns) {
      const turn = findTurn(state, id) as Turn;
      const places = [...updateLayout(turn, null).layouts.values()].flatMap((outline) =>
        outline.flatMap((entry) =>
          entry.type === "group"
            ? [entry.blockIndex, ...entry.blocks.map(({ blockIndex }) => blockIndex)]
            : [entry.blockIndex],
        ),
      );
      for (const place of places) expect(turn.items.get(place)?.kind).not.toBe("superseded");
      expect(places).not.toContain(-1);
    }
  });

  test("U04 a group is done if it ended, but not if it was stopped", () => {
    const groupsOf = (name: string): (readonly [isRunning: boolean, isDone: boolean])[] =>
      mainOf(updateLayout(lastTurn(foldAll(eventsOf(name))), null)).flatMap((entry) =>
        entry.type === "group" ? [[entry.isRunning, entry.isDone] as const] : [],
      );
    expect(groupsOf("tools-in-group")).toEqual([[false, true]]);
    expect(groupsOf("stopped")).toEqual([[false, false]]);
    // The log ends before `group.end` was written.
    const events = eventsOf("tools-in-group");
    const cut = foldAll(
      events.slice(
        0,
        events.findIndex(({ type }) => type === "group.end"),
      ),
    );
    const over = { ...lastTurn(cut), status: "error" } as const;
    expect(mainOf(updateLayout(over, null))[0]).toMatchObject({ isRunning: false, isDone: false });
  });

  test("U04 a call that a stop canceled doesn't count as failed; one with an error does", () => {
    const stopped = eventsOf("stopped");
    expect(failures(stopped)).toEqual([false, false, false]);
    const failed = stopped.map((event) =>
      event.type === "tool_result.end" ? { ...event, status: "error" as const } : event,
    );
    expect(failures(failed)).toEqual([true, true, true]);
  });

  test("a group has a header, unless it would only repeat the label of its one call or name its one thought", () => {
    const rows: readonly [hasHeader: boolean, write: (log: Story) => void][] = [
      [true, () => {}],
      [false, (log) => log.think(["Hm."])],
      [false, (log) => log.think(["Hm."]).closeGroup("Thought")],
      [false, (log) => call(log, "A")],
      [false, (log) => call(log, "A").closeGroup("A")],
      [true, (log) => call(log, "A").closeGroup("Looked A up")],
      [false, (log) => call(log.think(["Hm."]), "A")],
      [true, (log) => call(log.think(["Hm."]), "A").closeGroup("A")],
      [true, (log) => call(call(log, "A"), "B")],
      [true, (log) => call(call(log, "A"), "A").closeGroup("A")],
    ];
    expect(rows.map(([, write]) => toGroup(write)?.hasHeader)).toEqual(rows.map(([hasHeader]) => hasHeader));
  });

  test("leaves out blocks of unknown kinds from a newer version", () => {
    const turn = lastTurn(foldAll(eventsOf("plain-answer")));
    const items = turn.items.toArray();
    const strange = { ...items.at(-1), kind: "hologram", index: items.length } as never;
    const known = mainOf(updateLayout(turn, null));
    expect(mainOf(updateLayout({ ...turn, items: Sequence.from([...items, strange]) }, null))).toEqual(known);
  });

  test("marks nothing as running in a turn that has ended", () => {
    for (const { events } of LOGS) {
      for (const turn of foldAll(events).turns) {
        if (turn.status === "running") continue;
        const { layouts, toolCalls } = updateLayout(turn, null);
        const entries = [...layouts.values()].flat();
        expect(entries.some((entry) => entry.type === "group" && entry.isRunning)).toBe(false);
        expect([...toolCalls.values()].some(({ status }) => status === "pending")).toBe(false);
      }
    }
  });
});
