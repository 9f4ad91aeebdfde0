/** Hand-offs from the middle of a session, as tests that run on memory and on real servers. */
import { legalLog } from "@turnstream/conformance/generator/legal-log.ts";
import { emptyState, formatCursor, isHandoffPoint, type SessionState } from "@turnstream/protocol";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { archiveSession, trimLog } from "../../../src/session/archive/archive.ts";
import { readCheckpoint } from "../../../src/session/history/archived-state.ts";
import { foldTo } from "../../../src/session/history/fold-to.ts";
import { readHandoffHistory } from "../../../src/session/history/handoff-history.ts";
import { type MakeParts, plain, type TestParts, World } from "../session-harness.ts";

/** The state at the latest quiet point of everything written. */
function quietOf(world: World): SessionState {
  for (let seq = world.events.length; seq > 0; seq--) {
    const state = world.folded(seq);
    if (isHandoffPoint(state)) return state;
  }
  return emptyState;
}

export function handoffContract(name: string, makeParts: MakeParts, runs: number): void {
  describe(`hand-offs on ${name}`, () => {
    let parts: TestParts;
    beforeAll(async () => {
      parts = await makeParts();
    });
    afterAll(async () => {
      await Promise.all([parts.log.close(), parts.store.close()]);
    });

    test("H03 the quiet point and the newest turn are exact at every moment, archived in mid-block and trimmed", async () => {
      await fc.assert(
        fc.asyncProperty(
          legalLog(70),
          fc.array(fc.nat(7), { minLength: 5, maxLength: 20 }),
          async (events, moves) => {
            const world = await World.make(parts);
            let n = 0;
            await world.write(events, async () => {
              const move = moves[n++ % moves.length] ?? 0;
              if (move === 1) await archiveSession(parts, world.ref, { step: 3 });
              if (move === 2) await trimLog(parts, world.ref);
              if (move === 3) await archiveSession(parts, world.ref);
              if (move < 4) return;
              const turns = move - 3;
              const { state, cursor } = await readHandoffHistory(parts, world.ref, { turns });
              const quiet = quietOf(world);
              expect(cursor).toBe(formatCursor(quiet));
              expect(plain(state, turns)).toEqual(plain(quiet, turns));
              const now = await foldTo(parts, world.ref, await readCheckpoint(parts, world.ref));
              if (typeof now === "string") throw new Error(now);
              expect(lastTurn(now)).toEqual(lastTurn(world.folded()));
            });
          },
        ),
        { numRuns: runs },
      );
    });

    test("the checkpoint is right before the newest turn that is archived", async () => {
      const world = await (await World.make(parts)).start();
      expect(await readCheckpoint(parts, world.ref)).toEqual(emptyState);
      const start = { number: 1, message_number: 1, agent: "a", mode: "agent", from_share: false } as const;
      await world.append({ type: "turn.start", turn: "t1", ...start });
      await world.append({ type: "turn.end", turn: "t1", reason: "end_turn", duration_ms: 1 });
      await world.append({ type: "turn.start", turn: "t2", ...start });
      await world.append({ type: "session.update", title: "in the middle" });
      await archiveSession(parts, world.ref);
      const checkpoint = await readCheckpoint(parts, world.ref);
      expect(formatCursor(checkpoint)).toBe(world.events[2]?.id);
      expect(checkpoint.turns.toArray().map(({ id }) => id)).toEqual(["t1"]);
      await world.append({ type: "turn.start", turn: "t3", ...start });
      expect(await readCheckpoint(parts, world.ref)).toEqual(checkpoint);
    });
  });
}

function lastTurn(state: SessionState): unknown {
  return (plain(state, 1) as { turns: unknown[] }).turns.at(-1);
}
