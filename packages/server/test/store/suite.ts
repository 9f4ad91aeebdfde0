/** `suite` defines a contract suite with one store for all of its tests, which is closed at the end. */
import { afterAll, beforeAll, describe } from "vitest";

import type { ClosableStore } from "../../src/store/store.ts";
import type { Harness, MakeStore } from "./harness.ts";

/**
 * @param of the subject of the suite
 * @param tests defines the tests synchronously; its arguments may only be called inside a test. `advance` moves the clock
 *   of the store
 */
export function suite(
  name: string,
  of: string,
  makeStore: MakeStore,
  tests: (store: () => ClosableStore, advance: (ms: number) => Promise<void>) => void,
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
