/** Tests that `FairSemaphore` returns every slot: after errors, aborts and overlapping waits. */
import { expect, it } from "vitest";
import { FairSemaphore } from "../../src/util/fair-semaphore.ts";

const a = { tenant: "a", user: "u" };
const b = { tenant: "b", user: "u" };
const never = new AbortController().signal;
/** A promise, and the function that resolves it. */
function createGate(): { readonly opened: Promise<void>; readonly open: () => void } {
  const waiting: (() => void)[] = [];
  const opened = new Promise<void>((resolve) => waiting.push(resolve));
  return { opened, open: () => waiting[0]?.() };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

it("runs at most `width` tasks, and returns the slot of one that throws", async () => {
  const slots = new FairSemaphore(1);
  await expect(slots.run(a, never, () => Promise.reject(new Error("failed")))).rejects.toThrow("failed");
  const slot = slots.tryAcquire(a);
  expect(slot).not.toBeNull();
  expect(slots.tryAcquire(b)).toBeNull();
  slot?.release();
  slot?.release();
  expect([slots.tryAcquire(b) === null, slots.tryAcquire(a) === null]).toEqual([false, true]);
});

it("removes an aborted caller from the queue", async () => {
  const slots = new FairSemaphore(1);
  const slot = await slots.acquire(a, never);
  const aborted = new AbortController();
  const order: string[] = [];
  const leaving = slots.run(b, aborted.signal, async () => order.push("aborted"));
  const staying = slots.run(b, never, async () => order.push("stayed"));
  aborted.abort(new Error("stop"));
  await expect(leaving).rejects.toThrow("stop");
  slot.release();
  await staying;
  expect(order).toEqual(["stayed"]);
  await expect(slots.acquire(a, aborted.signal)).rejects.toThrow("stop");
});

it("frees the slot during a wait, and the caller continues when it has one again", async () => {
  const slots = new FairSemaphore(1);
  const order: string[] = [];
  const wait = createGate();
  const other = createGate();
  const waiting = slots.run(a, never, async (slot) => {
    await slot.releaseWhile(never, () => wait.opened);
    order.push("continues");
  });
  await settle();
  const running = slots.run(b, never, async () => {
    order.push("runs meanwhile");
    await other.opened;
  });
  await settle();
  wait.open();
  await settle();
  expect(order).toEqual(["runs meanwhile"]);
  other.open();
  await Promise.all([waiting, running]);
  expect(order).toEqual(["runs meanwhile", "continues"]);
  expect(slots.tryAcquire(a)).not.toBeNull();
});

it("returns the slot after overlapping waits, an abort, or an end during the wait", async () => {
  const slots = new FairSemaphore(1);
  const aborted = new AbortController();
  await slots.run(a, never, async (slot) => {
    const waits = [settle(), settle(), settle()].map((done) => slot.releaseWhile(never, () => done));
    await Promise.all(waits);
    expect(slots.tryAcquire(b)).toBeNull();
  });
  expect(slots.tryAcquire(b)?.release()).toBeUndefined();
  await slots.run(a, never, async (slot) => {
    const wait = slot.releaseWhile(aborted.signal, settle);
    const taken = slots.tryAcquire(b);
    await settle();
    aborted.abort();
    await wait;
    taken?.release();
  });
  const late = createGate();
  let wait = Promise.resolve<unknown>(null);
  await slots.run(a, never, async (slot) => {
    wait = slot.releaseWhile(never, () => late.opened);
  });
  late.open();
  await wait;
  expect(slots.tryAcquire(b)).not.toBeNull();
});
