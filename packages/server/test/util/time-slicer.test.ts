/** Tests the order of the tasks of a time slicer. */
import { expect, it } from "vitest";
import { createTimeSlicer } from "../../src/util/time-slicer.ts";
import { runAs } from "../../src/util/work-owner.ts";

it("lets tenants take turns, and runs the tasks of one user in their order", async () => {
  const { run } = createTimeSlicer();
  const order: string[] = [];
  const add = (tenant: string, name: string) =>
    runAs({ tenant, user: "u" }, () => run(() => void order.push(name)));
  const tasks = [add("a", "a1"), add("a", "a2"), add("a", "a3"), add("b", "b1"), add("b", "b2")];
  expect(order).toEqual([]);
  await Promise.all(tasks);
  expect(order).toEqual(["a1", "b1", "a2", "b2", "a3"]);
});

it("yields to the event loop after a slice, and rejects only the task that throws", async () => {
  let now = 0;
  const { run } = createTimeSlicer(() => now);
  const order: string[] = [];
  const long = (name: string) =>
    run(() => {
      now += 10;
      order.push(name);
    });
  const failed = run(() => {
    throw new Error("failed");
  });
  const tasks = [long("first"), long("second")];
  setImmediate(() => order.push("event loop"));
  await expect(failed).rejects.toThrow("failed");
  await Promise.all(tasks);
  expect(order).toEqual(["first", "event loop", "second"]);
});
