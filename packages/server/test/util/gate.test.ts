/** A gate lets those pass who wait while it is closed, and those who come while it is open. */
import { expect, test } from "vitest";
import { Gate } from "../../src/util/gate.ts";

async function isOpen(gate: Gate): Promise<boolean> {
  const closed = new Promise<boolean>((resolve) => setImmediate(() => resolve(false)));
  return Promise.race([gate.wait().then(() => true), closed]);
}

test("is closed at first, open after open, and can be closed again", async () => {
  const gate = new Gate();
  expect(await isOpen(gate)).toBe(false);
  gate.open();
  gate.open();
  expect(await isOpen(gate)).toBe(true);
  gate.close();
  expect(await isOpen(gate)).toBe(false);
});

test("everybody who waited passes at once", async () => {
  const gate = new Gate();
  const passed = Promise.all([gate.wait(), gate.wait()]);
  gate.close();
  gate.open();
  expect(await passed).toHaveLength(2);
});
