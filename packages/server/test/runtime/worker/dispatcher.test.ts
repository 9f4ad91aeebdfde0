/** Tests that a closed `TurnDispatcher` no longer uses its dependencies. */
import { expect, test } from "vitest";
import { TurnDispatcher } from "../../../src/runtime/worker/dispatcher.ts";
import { systemEnv } from "../../../src/util/env.ts";
import { createMemoryStore } from "../../../src/store/memory/store.ts";

const ref = { tenant: "acme", session: "s" };

function slowStore() {
  const looks: (() => void)[] = [];
  const { running, ...store } = createMemoryStore();
  const begin = () => new Promise<null>((resolve) => looks.push(() => resolve(null)));
  return { looks, store: { ...store, running: { ...running, begin, get: async () => null } } };
}

test("close waits for a turn that is being started, and starts none after it", async () => {
  const { looks, store } = slowStore();
  const errors: unknown[] = [];
  const dispatch = new TurnDispatcher(
    { store, env: systemEnv, onError: (error) => errors.push(error) },
    { start: async () => true },
  );
  dispatch.startNextInBackground(ref);
  let isClosed = false;
  const closed = dispatch.close().then(() => (isClosed = true));
  await new Promise(setImmediate);
  expect(isClosed).toBe(false);
  dispatch.startNextInBackground(ref);
  expect(looks).toHaveLength(1);
  looks[0]?.();
  await closed;
  expect(errors).toEqual([]);
});
