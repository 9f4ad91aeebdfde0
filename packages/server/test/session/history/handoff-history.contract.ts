/** The contract of handoff points inside a session. It runs on memory and on real servers. */
import { legalLog } from "@turnstream/conformance/generator/legal-log.ts";
import { emptyState, formatCursor, type SessionState } from "@turnstream/protocol";
import { isHandoffPoint } from "@turnstream/protocol/writer";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { archiveSession } from "../../../src/session/archive/archive.ts";
import { trimLog } from "@turnstream/testkit/backend/trim-log.ts";
import { readCheckpoint } from "../../../src/session/history/archived-state.ts";
import { foldTo } from "../../../src/session/history/fold-to.ts";
import { readHandoffHistory } from "../../../src/session/history/handoff-history.ts";
import { prependOlderTurns } from "../../../src/session/history/turn-pages.ts";
import { type MakeBackend, plain, type SessionBackend, SessionHarness } from "../session-harness.ts";

/** The state at the latest handoff point of everything written. */
function handoffOf(harness: SessionHarness): SessionState {
  for (let seq = harness.events.length; seq > 0; seq--) {
    const state = harness.folded(seq);
    if (isHandoffPoint(state)) return state;
  }
  return emptyState;
}

export function handoffContract(name: string, makeBackend: MakeBackend, runs: number): void {
  describe(`handoff history on ${name}`, () => {
    let parts: SessionBackend;
    beforeAll(async () => {
      parts = await makeBackend();
    });
    afterAll(async () => {
      await Promise.all([parts.log.close(), parts.store.close()]);
    });

    test("H03 the handoff point and the newest turn are exact at every moment, also archived within a block and trimmed", async () => {
      await fc.assert(
        fc.asyncProperty(
          legalLog(70),
          fc.array(fc.nat(7), { minLength: 5, maxLength: 20 }),
          async (events, moves) => {
            const harness = await SessionHarness.make(parts);
            let n = 0;
            await harness.write(events, async () => {
              const move = moves[n++ % moves.length] ?? 0;
              if (move === 1) await archiveSession(parts, harness.ref, { step: 3 });
              if (move === 2) await trimLog(parts, harness.ref);
              if (move === 3) await archiveSession(parts, harness.ref);
              if (move < 4) return;
              const turns = move - 3;
              const { state: newest, cursor } = await readHandoffHistory(parts, harness.ref);
              const state = await prependOlderTurns(parts, harness.ref, newest, { turns });
              const handoff = handoffOf(harness);
              expect(cursor).toBe(formatCursor(handoff));
              expect(plain(state, turns)).toEqual(plain(handoff, turns));
              const now = await foldTo(parts, harness.ref, await readCheckpoint(parts, harness.ref));
              if (typeof now === "string") throw new Error(now);
              expect(lastTurn(now)).toEqual(lastTurn(harness.folded()));
            });
          },
        ),
        { numRuns: runs },
      );
    });

    test("the checkpoint is directly before the newest archived turn", async () => {
      const harness = await (await SessionHarness.make(parts)).start();
      expect(await readCheckpoint(parts, harness.ref)).toEqual(emptyState);
      const start = { number: 1, message_number: 1, agent: "a", mode: "agent", from_share: false } as const;
      await harness.append({ type: "turn.start", turn: "t1", ...start });
      await harness.append({ type: "turn.end", turn: "t1", reason: "end_turn", duration_ms: 1 });
      await harness.append({ type: "turn.start", turn: "t2", ...start });
      await harness.append({ type: "session.update", title: "in the middle" });
      await archiveSession(parts, harness.ref);
      const checkpoint = await readCheckpoint(parts, harness.ref);
      expect(formatCursor(checkpoint)).toBe(harness.events[2]?.id);
      expect(checkpoint.turns.toArray().map(({ id }) => id)).toEqual(["t1"]);
      await harness.append({ type: "turn.start", turn: "t3", ...start });
      expect(await readCheckpoint(parts, harness.ref)).toEqual(checkpoint);
    });
  });
}

function lastTurn(state: SessionState): unknown {
  return (plain(state, 1) as { turns: unknown[] }).turns.at(-1);
}
