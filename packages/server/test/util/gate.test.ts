/** Tests `Gate`: callers pass while it is open and wait while it is closed. */
import { expect, test } from "vitest";
import { Gate } from "../../src/util/gate.ts";

async function isOpen(gate: Gate): Promise<boolean> {
  const closed = new Promise<boolean>((resolve) => setImmediate(() => resolve(false)));
  return Promise.race([gate.wait().then(() => true), closed]);
}

test("is closed at first, opens, and can be closed again", async () => {
  const gate = new Gate();
  expect(await isOpen(gate)).toBe(false);
  gate.open();
  gate.open();
  expect(await isOpen(gate)).toBe(true);
  gate.close();
  expect(await isOpen(gate)).toBe(false);
});

test("opening releases every waiting caller", async () => {
  const gate = new Gate();
  const passed = Promise.all([gate.wait(), gate.wait()]);
  gate.close();
  gate.open();
  expect(await passed).toHaveLength(2);
});
