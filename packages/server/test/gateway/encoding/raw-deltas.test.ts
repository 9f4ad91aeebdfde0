/** Tests that frames made from the raw text of log entries equal frames made from parsed entries. */
import { emptyState, fold, foldAll, type SessionState } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  encodeEvent,
  createEncodingTarget,
  frameText,
  rawDeltaFrame,
  toWireBytes,
} from "../../../src/gateway/encoding/encode.ts";
import { type FoldFunction, LiveState } from "../../../src/gateway/feed/live-state.ts";
import { extractRawText, matchDeltaRun, mergedDelta, mergeRuns } from "../../../src/log/raw-deltas.ts";
import { formatLine, LogEntry } from "../../../src/log/entry.ts";
import { readFrames, streamFormat } from "../test-subscriber.ts";

const PLACE = { turn: "t,1", run: 'r"{', block: "b\\", index: 3 };
const NOTE = [{ type: "citation", url: "https://example.com" }];

function entryOf(draft: object, seq = 7): LogEntry {
  return new LogEntry(2, seq, formatLine("worker.2:9", draft as EventDraft, 1_800_000_000_000));
}

function delta(text: string, more: object = {}): object {
  return { type: "text.delta", ...PLACE, text, ...more };
}

describe("raw deltas of an open block", () => {
  test("have the JSON of the text, whatever the text is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (first, next) => {
        const run = matchDeltaRun(entryOf(delta(first)));
        expect(run).not.toBeNull();
        expect(run && extractRawText(run, entryOf(delta(next)))).toBe(JSON.stringify(next).slice(1, -1));
      }),
    );
  });

  test.for<[string, object]>([
    ["another block", { ...delta("x"), block: "b2" }],
    ["another turn", { ...delta("x"), turn: "t2" }],
    ["thinking", { ...delta("x"), type: "thinking.delta" }],
    ["its end", { type: "text.end", ...PLACE, final: true }],
    ["annotations after the text", delta("x", { annotations: NOTE })],
    ["annotations that look like text", delta('x","y":"', { annotations: [] })],
    ["annotations before the text", { type: "text.delta", ...PLACE, annotations: NOTE, text: "x" }],
    ["another order of fields", { text: "x", type: "text.delta", ...PLACE }],
    ["a text that is not a string", { type: "text.delta", ...PLACE, text: 7 }],
  ])("exclude %s", ([, draft]) => {
    const run = matchDeltaRun(entryOf(delta("Hello")));
    expect(run && extractRawText(run, entryOf(draft))).toBeNull();
  });

  test.for<[string, object]>([
    ["a delta with annotations", delta("x", { annotations: NOTE })],
    ["a text that is not the last field", { text: "x", type: "text.delta", ...PLACE }],
    ["the end of a block", { type: "text.end", ...PLACE, final: true }],
    ["arguments of a call", { type: "tool_call.delta", ...PLACE, args: "x" }],
  ])("don't start with %s", ([, draft]) => {
    expect(matchDeltaRun(entryOf(draft))).toBeNull();
  });

  test("fold to the same state in runs of any size, also with other events between them", () => {
    const event = fc.constantFrom("text", "text", "text", "cited", "thought");
    fc.assert(
      fc.property(fc.array(event), fc.integer({ min: 1, max: 5 }), (kinds, maxEvents) => {
        const thought = { type: "thinking.delta", turn: "t", run: "r", block: "b1", index: 1 };
        const drafts = kinds.map((kind, n) => {
          if (kind === "thought") return { ...thought, text: `${n}` };
          return {
            type: "text.delta",
            ...BLOCK,
            text: `${n}"`,
            ...(kind === "cited" ? { annotations: NOTE } : {}),
          };
        });
        const entries = drafts.map((draft, n) => entryOf(draft, n + 5));
        const events = mergeRuns(entries, { maxLength: Infinity, maxEvents });
        expect(foldAll(events, openedState())).toEqual(
          entries.reduce((state, entry) => fold(state, entry.event), openedState()),
        );
      }),
    );
  });

  test("fold to the same state merged as one by one", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" }), { minLength: 1 }), (texts) => {
        const entries = createDeltas(texts);
        const [first] = entries;
        const last = entries.at(-1);
        const run = first === undefined ? null : matchDeltaRun(first);
        if (run === null || last === undefined) throw new Error("it is a delta");
        const more = entries.map((entry) => extractRawText(run, entry) ?? "");
        expect(fold(openedState(), mergedDelta(run, more, last))).toEqual(
          entries.reduce((state, entry) => fold(state, entry.event), openedState()),
        );
      }),
    );
  });

  test.for([
    ["blocks", "socket"],
    ["blocks", "sse"],
    ["native", "socket"],
    ["native", "sse"],
  ] as const)("give the same frames of %s on a %s", ([dialect, wire]) => {
    const format = streamFormat(dialect, wire);
    const target = createEncodingTarget(format, "ses_1", (blob) => blob);
    const read = (frames: readonly string[]) =>
      frames.slice(1).flatMap((text) => readFrames(format, toWireBytes(target, text)));
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" }), { minLength: 1 }), (texts) => {
        const entries = createDeltas(texts);
        const changes = new LiveState(openedState(), foldEvent).apply(entries, true);
        expect(changes.slice(1).every((change) => "rawText" in change)).toBe(true);
        const rawFrames = changes.map((change, n) =>
          "rawText" in change ? rawDeltaFrame(target, change, entries[n] as LogEntry) : "",
        );
        let state = openedState();
        const plain = entries.flatMap(({ event }) => {
          const before = state;
          state = fold(before, event);
          const { frames } = encodeEvent(format, null, event, before, state);
          return frames.map((frame) => frameText(target, frame));
        });
        expect(read(rawFrames)).toEqual(read(plain));
      }),
    );
  });
});

describe("LiveState", () => {
  test("equals the fold of all events whenever it is read", () => {
    const looks = fc.array(fc.tuple(fc.string(), fc.boolean(), fc.boolean()), { minLength: 1 });
    fc.assert(
      fc.property(looks, (deltas) => {
        const head = new LiveState(openedState(), foldEvent);
        let plain = openedState();
        for (const [n, [text, isPlain, isLookedAt]] of deltas.entries()) {
          const entry = entryOf({ type: "text.delta", ...BLOCK, text }, n + 5);
          plain = fold(plain, entry.event);
          head.apply([entry], isPlain);
          if (isLookedAt) expect(head.state).toEqual(plain);
        }
        const ended = entryOf({ type: "text.end", ...BLOCK, final: true }, deltas.length + 5);
        head.apply([ended], true);
        expect(head.state).toEqual(fold(plain, ended.event));
      }),
    );
  });
});

const foldEvent: FoldFunction = (before, event) => ({ before, after: fold(before, event) });
const BLOCK = { turn: "t", run: "r", block: "b", index: 0 };

function createDeltas(texts: readonly string[]): LogEntry[] {
  return texts.map((text, n) => entryOf({ type: "text.delta", ...BLOCK, text }, n + 5));
}

/** A session in which a block has just started. */
function openedState(): SessionState {
  const turn = { turn: "t", number: 1, message_number: 1, agent: "a", mode: "agent", from_share: false };
  const drafts = [
    { type: "session.start", session: "s", number: 1 },
    { type: "turn.start", ...turn },
    { type: "run.start", turn: "t", run: "r", agent: "a" },
    { type: "text.start", ...BLOCK, part: false },
  ];
  return drafts.reduce((state, draft, n) => fold(state, entryOf(draft, n + 1).event), emptyState);
}
