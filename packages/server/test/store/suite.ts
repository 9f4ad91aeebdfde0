/** A contract suite as most of them are: one store for all of its tests, closed at the end. */
import { afterAll, beforeAll, describe } from "vitest";

import type { ClosableStore } from "../../src/store/store.ts";
import type { Harness, MakeStore } from "./harness.ts";

/**
 * @param of what the suite is about
 * @param tests is called at once; what it is given may only be called inside a test
 */
export function suite(
  name: string,
  of: string,
  makeStore: MakeStore,
  tests: (store: () => ClosableStore, wait: (ms: number) => Promise<void>) => void,
): void {
  describe(`${name}: ${of}`, () => {
    let harness: Harness;
    beforeAll(async () => {
      harness = await makeStore();
    });
    afterAll(() => harness.store.close());
    tests(
      () => harness.store,
      (ms) => harness.wait(ms),
    );
  });
}
