/**
 * Tests with generated logs that hidden content reaches no caller without the scope `debug`: in no dialect, from no
 * cursor, in no snapshot, share or fork. What users see stays the same.
 */
import { legalLog } from "@turnstream/conformance/generator/legal-log.ts";
import { assertCases, type CaseCounts, totalCases } from "@turnstream/conformance/support/cases.ts";
import { expectSame, statesOf } from "@turnstream/conformance/support/replay.ts";
import {
  emptyState,
  fold,
  foldAll,
  restore,
  type SessionEvent,
  type SessionState,
  type Snapshot,
  snapshot,
  viewTurn,
} from "@turnstream/protocol";
import { parseEvent } from "@turnstream/conformance/support/parse-event.ts";
import { checkEvent, resolveBlobUrls } from "@turnstream/protocol/writer";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createEncodingTarget, needsFoldedState } from "../../src/gateway/encoding/encode.ts";
import { encodeSnapshotFrame } from "../../src/gateway/encoding/encode-snapshot.ts";
import { DIALECTS, type StreamFormat } from "../../src/gateway/encoding/stream-format.ts";
import { BroadcastGroup } from "../../src/gateway/feed/broadcast-group.ts";
import { LiveState } from "../../src/gateway/feed/live-state.ts";
import { buildReplayPage, replayStateAt } from "../../src/gateway/subscription/replay-page.ts";
import type { SubscriptionController } from "../../src/gateway/subscription/subscription-controller.ts";
import { LogEntry } from "../../src/log/entry.ts";
import { createMemoryLog } from "../../src/log/memory.ts";
import { archiveSession } from "../../src/session/archive/archive.ts";
import { readHistory } from "../../src/session/history/read-history.ts";
import { readSharedSession } from "../../src/session/history/shared-history.ts";
import { forkShare } from "../../src/store/fork/fork-share.ts";
import { createMemoryStore } from "@turnstream/testing";
import { omitHiddenEvent, omitHiddenTurn } from "@turnstream/protocol/writer";
import { formatShareToken } from "../../src/store/shares.ts";
import { createTimeSlicer } from "../../src/util/time-slicer.ts";
import { SessionHarness } from "../session/session-harness.ts";
import { visibleEvents } from "./exact-subscriber.ts";
import { findCanary, hideContent } from "./hidden-content.ts";
import { readFrames, streamFormat } from "./test-subscriber.ts";

const CASES: CaseCounts = { push: 30, full: 200 };
const FEW: CaseCounts = { push: 8, full: 40 };
const LONG_MS = Math.max(600_000, totalCases(CASES) * 3_000);

const hiddenLog = fc
  .tuple(legalLog(60), fc.integer({ min: 1, max: 3 }))
  .map(([events, share]) => hideContent(events, share));

function visibleSnapshot(state: SessionState): Snapshot {
  const whole = snapshot(state);
  return { ...whole, turns: whole.turns.map(omitHiddenTurn) };
}

function entryOf({ id, ...rest }: SessionEvent): LogEntry {
  const [epoch, seq] = id.split("-").map(Number);
  return new LogEntry(epoch ?? 0, seq ?? 0, `w:0 ${JSON.stringify(rest)}`);
}

/** The bytes that a subscriber receives which resumes at a position. */
function replay(format: StreamFormat, state: SessionState, events: readonly SessionEvent[]): Uint8Array[] {
  const target = createEncodingTarget(format, "s", (blob) => blob);
  const chunks: Uint8Array[] = [];
  let from = needsFoldedState(format) ? replayStateAt(target, state) : null;
  for (let entries = events.map(entryOf); entries.length > 0;) {
    const page = buildReplayPage(target, from, entries, () => false);
    chunks.push(...page.chunks);
    from = page.replayState;
    entries = entries.filter(({ seq }) => seq > page.position.seq);
  }
  return chunks;
}

/** The bytes that a live subscriber receives from a position on. */
function live(
  format: StreamFormat,
  state: SessionState,
  events: readonly SessionEvent[],
  batch: number,
  useRawDeltas: boolean,
): Uint8Array[] {
  const target = createEncodingTarget(format, "s", (blob) => blob);
  const chunks: Uint8Array[] = [];
  const group = new BroadcastGroup(target, replayStateAt(target, state).encoderState);
  const sendLive = (bytes: Uint8Array | null): void => void (bytes !== null && chunks.push(bytes));
  group.subscribers.add({ sendLive } as unknown as SubscriptionController);
  const liveState = new LiveState(state, (before, event) => ({ before, after: fold(before, event) }));
  for (let n = 0; n < events.length; n += batch) {
    const entries = events.slice(n, n + batch).map(entryOf);
    const changes = liveState.apply(entries, useRawDeltas && group.takesRawDeltas);
    group.broadcast(entries, changes, entries[0] as LogEntry, null);
  }
  return chunks;
}

function textOf(chunks: readonly Uint8Array[]): string {
  return chunks.map((bytes) => Buffer.from(bytes).toString()).join("\n");
}

/** The events of native frames, without what the wire adds. */
function eventsOf(format: StreamFormat, chunks: readonly Uint8Array[]): SessionEvent[] {
  const frames = chunks.flatMap((bytes) => readFrames(format, bytes));
  return frames.map(({ session_id: _, event_id: __, ...event }) => event as unknown as SessionEvent);
}

/** What a screen shows. */
function viewOf(state: SessionState): unknown {
  return state.turns.toArray().map((turn) => viewTurn(turn));
}

describe("W18 hidden content in generated logs", () => {
  test(
    "reduced events fold to the reduced state at every position, stay legal, and show the same view",
    async () => {
      let hidden = 0;
      await assertCases(
        fc.property(hiddenLog, (events) => {
          const states = statesOf(events);
          let state = emptyState;
          for (const [k, event] of events.entries()) {
            const reduced = omitHiddenEvent(states[k] ?? emptyState, event);
            expect(findCanary(reduced)).toBeNull();
            if (reduced !== event) hidden++;
            const parsed = parseEvent(reduced);
            if (!parsed.ok) throw new Error(parsed.message);
            expect(checkEvent(state, reduced)).toBeNull();
            state = fold(state, reduced);
            const expected = visibleSnapshot(states[k + 1] ?? emptyState);
            expectSame(snapshot(state), expected);
            expectSame(snapshot(restore(expected)), expected);
            expectSame(viewOf(state), viewOf(states[k + 1] ?? emptyState));
          }
        }),
        CASES,
      );
      expect(hidden).toBeGreaterThan(totalCases(CASES));
    },
    LONG_MS,
  );

  test(
    "no dialect sends it, from any cursor, replayed or live, and a native client folds to the reduced state",
    async () => {
      let seenByDebug = 0;
      await assertCases(
        fc.property(
          hiddenLog,
          fc.integer({ min: 1, max: 7 }),
          fc.boolean(),
          (events, batch, useRawDeltas) => {
            const states = statesOf(events);
            const last = states.at(-1) ?? emptyState;
            for (let k = 0; k <= events.length; k++)
              for (const dialect of DIALECTS) {
                const format = streamFormat(
                  dialect,
                  dialect === "responses" || k % 2 === 0 ? "sse" : "socket",
                );
                const state = states[k] ?? emptyState;
                const rest = events.slice(k);
                const chunks = [replay(format, state, rest), live(format, state, rest, batch, useRawDeltas)];
                for (const sent of chunks) {
                  expect(findCanary(textOf(sent))).toBeNull();
                  if (dialect !== "native") continue;
                  const folded = foldAll(
                    eventsOf(format, sent),
                    restore(resolveBlobUrls(visibleSnapshot(state), (blob) => blob)),
                  );
                  expectSame(
                    snapshot(folded),
                    resolveBlobUrls(visibleSnapshot(last), (blob) => blob),
                  );
                }
              }
            const debug = streamFormat("native", "sse", true);
            const sent = [
              ...replay(debug, emptyState, events),
              ...live(debug, emptyState, events, batch, true),
            ];
            if (findCanary(events) !== null) expect(findCanary(textOf(sent))).not.toBeNull();
            if (findCanary(events) !== null) seenByDebug++;
          },
        ),
        FEW,
      );
      expect(seenByDebug).toBeGreaterThan(0);
    },
    LONG_MS,
  );

  test(
    "no snapshot, share or fork shows it",
    async () => {
      const slices = createTimeSlicer();
      const frame = async (state: SessionState, includeHidden: boolean) => {
        const format = streamFormat("native", "sse", includeHidden);
        const target = createEncodingTarget(format, "s", (blob) => blob);
        return textOf([await encodeSnapshotFrame(slices, target, state, 20)]);
      };
      await assertCases(
        fc.asyncProperty(hiddenLog, async (events) => {
          const world = await SessionHarness.make({ log: createMemoryLog(), store: createMemoryStore() });
          const { backend, ref, actor } = world;
          await world.write(events);
          const whole = await frame(world.folded(), true);
          expect(findCanary(await frame(world.folded(), false))).toBeNull();
          expect(findCanary(whole) === null).toBe(findCanary(snapshot(world.folded(), 20)) === null);
          await archiveSession(backend, ref);
          const share = await backend.store.shares.create(actor, ref.session, { id: "share" });
          const shared = await readSharedSession(backend.store, formatShareToken(share), { turns: 50 });
          expect(findCanary(snapshot(shared?.state ?? emptyState))).toBeNull();
          const forked = await forkShare(backend.store, { ...actor, user: "reader" }, share.id, {
            id: "fork",
          });
          const { state } = await readHistory(backend, { tenant: ref.tenant, session: forked.id });
          expect(findCanary(await frame(state, false))).toBeNull();
          // The model of the fork continues from the whole content.
          expect(findCanary(snapshot(state, 20)) === null).toBe(
            findCanary(snapshot(foldAll(events), 20)) === null,
          );
        }),
        FEW,
      );
    },
    LONG_MS,
  );

  test("an event of an unknown block counts as hidden", () => {
    const on = { v: 1, id: "1-9", at: 0, turn: "t", run: "r", block: "b", index: 0 } as const;
    const unknown: SessionEvent[] = [
      { ...on, type: "thinking.delta", text: "x" },
      { ...on, type: "tool_call.delta", args: "x" },
      { ...on, type: "tool_call.end", input: "x" },
      { ...on, type: "tool_result.delta", part: 3, media: "text", data: "x", done: true },
      { ...on, type: "tool_result.end", status: "success", preview: "x", artifact: null },
    ];
    const format = streamFormat("native");
    expect(JSON.stringify(visibleEvents(format, emptyState, unknown))).not.toContain('"x"');
  });
});
