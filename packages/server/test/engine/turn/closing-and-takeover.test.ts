/**
 * Tests the pure functions for ending and taking over a turn on generated logs. Closing a turn at any position writes
 * legal events. Superseding what was not journaled is a legal takeover that leaves nothing half-written.
 */
import { legalLog } from "@turnstream/conformance/generator/legal-log.ts";
import { assertCases, type CaseCounts, leastSeen } from "@turnstream/conformance/support/cases.ts";
import {
  listBlocks,
  type SessionEvent,
  fold,
  foldAll,
  mainRun,
  SCHEMA_VERSION,
  type SessionState,
  type Turn,
} from "@turnstream/protocol";
import { checkEvent } from "@turnstream/protocol/writer";
import fc from "fast-check";
import { expect, it } from "vitest";
import { type TurnOutcome, nextClosingEvents } from "../../../src/engine/events/closing-events.ts";
import { findSuperseded } from "../../../src/engine/turn/supersede.ts";
import { NO_USAGE } from "../../../src/util/usage.ts";

const CASES: CaseCounts = { push: 150, full: 2_000 };

const FACTS = {
  usage: NO_USAGE,
  durationMs: 5,
  runUsage: new Map(),
  stoppedText: "Stopped.",
  thinkingLabel: "Thinking",
};
const ENDS: readonly TurnOutcome[] = [
  { reason: "user_stopped", by: "linh" },
  { reason: "user_stopped", by: null },
  { reason: "error", code: "LLM_ERROR", text: "No.", canRetry: true },
];

function write(state: SessionState, draft: object, epoch = state.epoch): SessionState {
  const event = { v: SCHEMA_VERSION, at: 1, ...draft, id: `${epoch}-${state.seq + 1}` } as SessionEvent;
  const wrong = checkEvent(state, event);
  if (wrong !== null) throw new Error(`${wrong.rule} ${wrong.message}: ${JSON.stringify(event)}`);
  return fold(state, event);
}

/** A log that is cut at a position where a turn runs, has its main run, and has no notice yet. */
function runningAt(log: readonly SessionEvent[], cut: number): { state: SessionState; turn: Turn } | null {
  const state = foldAll(log.slice(0, cut % (log.length + 1)));
  const turn = state.turns.last();
  if (turn?.status !== "running" || mainRun(turn)?.status !== "running") return null;
  return listBlocks(turn).at(-1)?.kind === "notice" ? null : { state, turn };
}

it("closing a turn at any position is legal, and writes its reason once", async () => {
  let [tried, withRuns, withCalls, withGroups] = [0, 0, 0, 0];
  await assertCases(
    fc.property(legalLog(120), fc.nat(), fc.nat(ENDS.length - 1), (log, cut, n) => {
      const end = ENDS[n] as TurnOutcome;
      const at = runningAt(log, cut);
      if (at === null) return;
      tried++;
      if (at.turn.runs.some((run) => run.parent !== null && run.status === "running")) withRuns++;
      if (at.turn.open > 0) withCalls++;
      if (at.turn.group !== null) withGroups++;
      let { state } = at;
      for (let round = 0; round < 1_000; round++) {
        const turn = state.turns.last() as Turn;
        const drafts = nextClosingEvents(turn, end, FACTS);
        if (drafts.length === 0) break;
        for (const draft of drafts) state = write(state, { ...draft, turn: turn.id });
      }
      const turn = state.turns.last() as Turn;
      expect(turn.status).toBe(end.reason);
      expect(listBlocks(turn).filter(({ kind }) => kind === "notice")).toHaveLength(1);
      expect(turn.runs.every((run) => run.status !== "running")).toBe(true);
    }),
    CASES,
  );
  for (const count of [tried, withRuns, withCalls, withGroups])
    expect(count).toBeGreaterThan(leastSeen(0.01, CASES));
});

it("a takeover of unjournaled events is legal, keeps journaled ones, and can be closed", async () => {
  let [tried, voids, runsVoid, groupsVoid] = [0, 0, 0, 0];
  await assertCases(
    fc.property(legalLog(120), fc.nat(), fc.nat(), (log, cut, from) => {
      const at = runningAt(log, cut);
      if (at === null) return;
      const { state, turn } = at;
      const { journaledBlocks, journaledCalls } = journaledAt(turn, from % (turn.items.length + 1));
      const superseded = findSuperseded(turn, journaledBlocks, journaledCalls, new Set());
      tried++;
      voids += superseded.blocks.length;
      runsVoid += superseded.runs.length;
      groupsVoid += superseded.groups.length;
      let next = write(state, { type: "turn.takeover", turn: turn.id, ...superseded }, state.epoch + 1);
      const left = listBlocks(next.turns.last() as Turn);
      for (const id of journaledBlocks) expect(left.some((block) => block.id === id)).toBe(true);
      expect(left.filter((block) => block.end === null).every(({ kind }) => kind === "tool_result")).toBe(
        true,
      );
      for (let round = 0; round < 1_000; round++) {
        const now = next.turns.last() as Turn;
        const drafts = nextClosingEvents(now, ENDS[0] as TurnOutcome, FACTS);
        if (drafts.length === 0) break;
        for (const draft of drafts) next = write(next, { ...draft, turn: turn.id });
      }
      expect(next.turns.last()?.status).toBe("user_stopped");
    }),
    CASES,
  );
  for (const count of [tried, voids, runsVoid, groupsVoid])
    expect(count).toBeGreaterThan(leastSeen(0.01, CASES));
});

/**
 * What a journal can contain of a turn: everything up to a position, as far as it has ended. An interaction is
 * committed with its call, and a run that has ended was journaled to its end.
 */
function journaledAt(
  turn: Turn,
  from: number,
): { journaledBlocks: Set<string>; journaledCalls: Set<string> } {
  const all = listBlocks(turn);
  const over = new Set(turn.runs.filter(({ status }) => status !== "running").map(({ id }) => id));
  const last = Math.max(
    from,
    ...all.filter((block) => "version" in block || over.has(block.run)).map(({ index }) => index + 1),
  );
  const before = all.filter((block) => block.index < last && block.end !== null);
  const calls = new Set(before.flatMap((block) => (block.kind === "tool_call" ? [block.call] : [])));
  const journaledCalls = new Set(
    all.flatMap((block) => (block.kind === "tool_result" && block.index < last ? [block.call] : [])),
  );
  const hangs = (block: (typeof all)[number]): boolean =>
    "call" in block && block.call !== null && block.kind !== "tool_call" && !calls.has(block.call);
  return {
    journaledBlocks: new Set(before.filter((block) => !hangs(block)).map(({ id }) => id)),
    journaledCalls,
  };
}
