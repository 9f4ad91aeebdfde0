/**
 * Tests replays with the pure functions: from every position and over both wires, exactly the frames that the dialect
 * defines.
 */
import { legalLog } from "@turnstream/conformance/generator/legal-log.ts";
import {
  assertCases,
  type CaseCounts,
  leastSeen,
  totalCases,
} from "@turnstream/conformance/support/cases.ts";
import { expectSame, resumeFrames, statesOf } from "@turnstream/conformance/support/replay.ts";
import { emptyState, type SessionEvent, parseCursor, type SessionState } from "@turnstream/protocol";
import { blobUrl, coalesce, resolveBlobUrls } from "@turnstream/protocol/writer";
import { blocks } from "@turnstream/protocol/blocks";
import { responses } from "@turnstream/protocol/responses";
import { tasks } from "@turnstream/protocol/tasks";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { StreamFormat } from "../../../src/gateway/encoding/stream-format.ts";
import { needsFoldedState, createEncodingTarget } from "../../../src/gateway/encoding/encode.ts";
import { buildReplayPage, replayStateAt } from "../../../src/gateway/subscription/replay-page.ts";
import { LogEntry } from "../../../src/log/entry.ts";
import { trimState } from "../../../src/session/history/trim-state.ts";
import { visibleEvents } from "../exact-subscriber.ts";
import { streamFormat, type Frame, readFrames } from "../test-subscriber.ts";

const CASES: CaseCounts = { push: 10, full: 30 };
const LOGS = totalCases(CASES);
/** `TURNSTREAM_CASES=600` runs 600 logs with more than 1,000 turns within half an hour. */
const LONG_MS = Math.max(600_000, LOGS * 3_000);

function entryOf({ id, ...rest }: SessionEvent): LogEntry {
  const { epoch, seq } = parseCursor(id) ?? { epoch: 0, seq: 0 };
  return new LogEntry(epoch, seq, `w:0 ${JSON.stringify(rest)}`);
}

/** The state as a feed has it: folded from the position before the turn. */
function slimStates(states: readonly SessionState[], events: readonly SessionEvent[]): SessionState[] {
  let base = emptyState;
  return states.map((state, k) => {
    if (events[k]?.type === "turn.start") base = trimState(state);
    return base.seq === state.seq ? base : state;
  });
}

function frames(of: StreamFormat, state: SessionState, events: readonly SessionEvent[]): Frame[] {
  if (events.length === 0) return [];
  const target = createEncodingTarget(of, "s", blobUrl);
  const from = needsFoldedState(of) ? replayStateAt(target, state) : null;
  const page = buildReplayPage(target, from, events.map(entryOf), () => false);
  return page.chunks.flatMap((bytes) => readFrames(of, bytes));
}

/** The additions of the wire. */
function bare({ session_id, ...frame }: Frame): Frame {
  const isOwn = ["message_start", "session_title", "task.created"].includes(frame["type"] as string);
  return isOwn && session_id !== "s" ? { ...frame, session_id } : frame;
}

function expectedFrames(
  format: StreamFormat,
  states: readonly SessionState[],
  events: readonly SessionEvent[],
  k: number,
): readonly object[] {
  switch (format.dialect) {
    case "native":
      return visibleEvents(format, states[k] ?? emptyState, coalesce(events.slice(k)));
    case "blocks":
      return resumeFrames(blocks, states, events, k);
    case "tasks":
      return resumeFrames(tasks, states, events, k);
    case "responses":
      return resumeFrames(responses, states, events, k);
  }
}

test(
  `a replay from every position of ${LOGS} logs equals the frames of each dialect and wire`,
  async () => {
    let turns = 0;
    await assertCases(
      fc.property(legalLog(100), (events) => {
        turns += events.filter(({ type }) => type === "turn.start").length;
        const states = statesOf(events);
        const slim = slimStates(states, events);
        for (let k = 0; k <= events.length; k++)
          for (const dialect of ["native", "blocks", "tasks", "responses"] as const) {
            const wire = dialect === "responses" || k % 3 === 0 ? "sse" : "socket";
            const of = streamFormat(dialect, wire, k % 2 === 0);
            const got = frames(of, slim[k] ?? emptyState, events.slice(k));
            const expected = resolveBlobUrls(expectedFrames(of, states, events, k), blobUrl).map((frame) =>
              withoutSession(frame as Frame),
            );
            expect(got.map(bare).map(sorted)).toHaveLength(expected.length);
            expectSame(got.map(bare).map(withoutSession).map(sorted), expected.map(sorted));
          }
      }),
      CASES,
    );
    console.log(`${LOGS} logs, ${turns} turns`);
    expect(turns).toBeGreaterThan(leastSeen(1, CASES));
  },
  LONG_MS,
);

function withoutSession({ session_id: _, ...frame }: Frame): Frame {
  return frame;
}

function sorted(frame: Frame): Frame {
  // A native event over SSE also has its cursor as its id.
  const { event_id, ...rest } = frame;
  const all = rest["id"] === event_id || event_id === undefined ? rest : frame;
  return Object.fromEntries(Object.entries(all).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
