/**
 * Tests turns whose events can't be committed at once or for a while: the turn continues, and model calls stay bounded.
 * In memory.
 */
import { afterEach, describe, expect, it } from "vitest";
import { parseCursor } from "@turnstream/protocol";
import { createMemoryLog } from "../../src/log/memory.ts";
import { script } from "../../src/models/script-parts.ts";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { defineAgent } from "../../src/agent/define/agent.ts";
import { createMemorySignals } from "../../src/signals/memory.ts";
import type { SessionRef } from "../../src/util/refs.ts";
import { createMemoryStore } from "@turnstream/testing";
import type { ClosableStore, Store } from "../../src/store/store.ts";
import { outline, TurnHarness } from "../engine/turn-harness.ts";

let harness: TurnHarness;
const open = async (): Promise<TurnHarness> =>
  (harness = await TurnHarness.open({
    log: createMemoryLog(),
    store: createMemoryStore(),
    signals: createMemorySignals(),
  }));
afterEach(() => harness.close());

/** Long, because writing so many events takes longer than a short lease. */
const PATIENT = { leaseTtlMs: 60_000 };
const WITHIN = { timeout: 60_000, interval: 50 };
const isIdle = async (ref: SessionRef): Promise<boolean> =>
  (await harness.backend.store.running.get(ref)) === null;

/** More events than one page of the log. Only deltas are merged, so the number doesn't depend on timing. */
const LONG = Array.from({ length: 400 }, (_, n) => [
  script.reasoning(`thought ${n}`),
  script.text(`word ${n}`),
]).flat();

describe("step of more than 2,000 events", () => {
  it("breaks off, and the turn continues", async () => {
    await open();
    let asked = 0;
    const model = scriptedModel(() =>
      ++asked === 1 ? [...LONG, script.disconnect()] : [script.text("done")],
    );
    await harness.worker([defineAgent({ name: "a", model, retry: { initialDelayMs: 1 } })], PATIENT);
    const ref = await harness.session();
    await harness.send(ref, "go");
    await expect.poll(() => isIdle(ref), WITHIN).toBe(true);
    const turn = await harness.ended(ref, () => true);
    expect((await harness.events(ref)).length).toBeGreaterThan(2_000);
    expect(turn.status).toBe("end_turn");
    expect(outline(turn).at(-1)).toBe("text final done");
    expect(asked).toBe(2);
    expect((await harness.ask(ref, "again")).status).toBe("end_turn");
  });

  it("is handed over, and the turn continues", async () => {
    await open();
    let asked = 0;
    const model = scriptedModel(() =>
      ++asked === 1 ? [...LONG, script.text("slow", { paceMs: 60_000 })] : [script.text("done")],
    );
    const agents = [defineAgent({ name: "a", model })];
    const first = await harness.worker(agents, PATIENT);
    const ref = await harness.session();
    await harness.send(ref, "go");
    const length = async () => parseCursor((await harness.backend.log.head(ref))?.last)?.seq ?? 0;
    await expect.poll(length, WITHIN).toBeGreaterThan(2_000);
    await harness.worker(agents, PATIENT);
    await first.shutdown();
    await expect.poll(() => isIdle(ref), WITHIN).toBe(true);
    const turn = await harness.ended(ref, () => true);
    expect(turn.status).toBe("end_turn");
    expect(asked).toBe(2);
  });
});

/** A store whose archive refuses writes until the test opens it. */
function closedArchive(store: ClosableStore): {
  readonly store: ClosableStore;
  refused: number;
  open: boolean;
} {
  const wrap = <S extends Store>(inner: S): S => ({
    ...inner,
    archive: {
      ...inner.archive,
      write: async (ref, batch) => {
        if (gate.open) return inner.archive.write(ref, batch);
        gate.refused++;
        return { behind: batch.epoch + 1 };
      },
    },
    transaction: (work) => inner.transaction((tx) => work(wrap(tx))),
  });
  const gate = { store: wrap(store), refused: 0, open: false };
  return gate;
}

describe("archive that refuses writes", () => {
  it("asks the model once, and the turn ends once it can commit", async () => {
    await open();
    let asked = 0;
    const model = scriptedModel(() => {
      asked++;
      return [script.text("an answer")];
    });
    const gate = closedArchive(harness.backend.store);
    await harness.worker([defineAgent({ name: "a", model, retry: { maxAttempts: 3, initialDelayMs: 1 } })], {
      store: gate.store,
    });
    const ref = await harness.session();
    await harness.send(ref, "go");
    // The worker keeps trying to commit the step with backoff, and keeps the answer meanwhile.
    await expect.poll(() => gate.refused, WITHIN).toBeGreaterThan(5);
    expect(asked).toBe(1);
    gate.open = true;
    const turn = await harness.ended(ref, () => true);
    expect(turn).toMatchObject({ status: "end_turn" });
    expect(outline(turn)).toEqual(["text final an answer"]);
    expect(asked).toBe(1);
    expect((await harness.ask(ref, "again")).status).toBe("end_turn");
    expect(asked).toBe(2);
  });
});
