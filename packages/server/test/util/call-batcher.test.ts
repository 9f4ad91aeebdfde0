/** Tests `CallBatcher`: calls of one turn of the event loop are executed together, per group and in their order. */
import { expect, test } from "vitest";
import { CallBatcher } from "../../src/util/call-batcher.ts";

function recording(maxSize = 100) {
  const batches: number[][] = [];
  const batcher = new CallBatcher<number, number>(async (items) => {
    batches.push([...items]);
    return items.map((item) => item * 2);
  }, maxSize);
  return { batches, batcher };
}

test("executes the calls of one turn of the event loop together", async () => {
  const { batches, batcher } = recording();
  expect(await Promise.all([1, 2, 3].map((n) => batcher.call("a", n)))).toEqual([2, 4, 6]);
  expect(await batcher.call("a", 4)).toBe(8);
  expect(batches).toEqual([[1, 2, 3], [4]]);
});

test("executes groups separately, and large groups in several batches", async () => {
  const { batches, batcher } = recording(2);
  const calls = [batcher.call("a", 1), batcher.call("b", 2), batcher.call("a", 3), batcher.call("a", 4)];
  expect(await Promise.all(calls)).toEqual([2, 4, 6, 8]);
  expect(batches).toEqual([[1, 3], [4], [2]]);
});

test("executes a call that comes while a batch runs in the next batch", async () => {
  const { batches, batcher } = recording();
  const first = batcher.call("a", 1);
  await new Promise((resolve) => setImmediate(resolve));
  const second = batcher.call("a", 2);
  expect(await Promise.all([first, second])).toEqual([2, 4]);
  expect(batches).toEqual([[1], [2]]);
});

test("rejects only the calls of the batch that fails", async () => {
  const batcher = new CallBatcher<number, number>(async (items) => {
    if (items.includes(0)) throw new Error("no zero");
    return items;
  }, 10);
  const results = await Promise.allSettled([
    batcher.call("a", 0),
    batcher.call("a", 1),
    batcher.call("b", 2),
  ]);
  expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled"]);
});
