/** Measures that a queue of any length takes constant time for each task. */
import { expect, it } from "vitest";
import { FairQueue } from "../../src/util/fair-queue.ts";

it("cancels and starts any of 50,000 waiting tasks in constant time", () => {
  const queue = new FairQueue<number>(1);
  const tasks = Array.from({ length: 50_000 }, (_, n) =>
    queue.add({ tenant: `t${n % 1_000}`, user: `u${n % 7}` }, n, 0),
  );
  const before = process.threadCpuUsage();
  // From the end, where a queue in an array is slowest to find a task.
  for (const task of tasks.toReversed()) if (task.item % 2 === 0) queue.end(task, 0);
  for (let task = queue.take(0); task !== null; task = queue.take(0)) queue.end(task, 0);
  const { user } = process.threadCpuUsage(before);
  expect(queue).toMatchObject({ running: 0, waiting: 0, tenants: 0 });
  expect(user / 1_000).toBeLessThan(2_000);
});
