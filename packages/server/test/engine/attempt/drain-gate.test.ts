/** Tests which work a draining attempt still does, and when it is handed over. */
import { expect, test, vi } from "vitest";
import { DrainGate } from "../../../src/engine/attempt/drain-gate.ts";

function setUp() {
  const over = new AbortController();
  const onIdle = vi.fn<() => void>(() => over.abort(new Error("handed over")));
  return { gate: new DrainGate(onIdle), onIdle, signal: over.signal };
}

function deferred(): { readonly promise: Promise<void>; resolve(): void } {
  const done = new AbortController();
  const promise = new Promise<void>((resolve) => done.signal.addEventListener("abort", () => resolve()));
  return { promise, resolve: () => done.abort() };
}

test("running work ends, and the next work is not started but handed over", async () => {
  const { gate, onIdle, signal } = setUp();
  const step = deferred();
  const running = gate.run(signal, () => step.promise.then(() => "answer"));
  gate.drain();
  expect(onIdle).not.toHaveBeenCalled();
  step.resolve();
  expect(await running).toBe("answer");
  // Without further work, the turn ends here.
  expect(onIdle).not.toHaveBeenCalled();
  const work = vi.fn<() => Promise<void>>();
  await expect(gate.run(signal, work)).rejects.toThrow("handed over");
  expect(work).not.toHaveBeenCalled();
  expect(onIdle).toHaveBeenCalledTimes(1);
});

test("a branch that wants to go on waits until the work of its siblings has ended", async () => {
  const { gate, onIdle, signal } = setUp();
  const [tool, step] = [deferred(), deferred()];
  const siblings = [gate.run(signal, () => tool.promise), gate.run(signal, () => step.promise)];
  gate.drain();
  step.resolve();
  await siblings[1];
  const next = gate.run(signal, async () => {}).catch((error: Error) => error.message);
  expect(onIdle).not.toHaveBeenCalled();
  tool.resolve();
  expect(await next).toBe("handed over");
});

test("a turn that waits for a user is handed over at once, also if a tool waits", async () => {
  const inTool = setUp();
  const waits = deferred();
  void inTool.gate.run(inTool.signal, () => inTool.gate.waitInside(() => waits.promise));
  inTool.gate.drain();
  expect(inTool.onIdle).toHaveBeenCalledTimes(1);
  const besides = setUp();
  const tool = deferred();
  void besides.gate.wait(() => waits.promise);
  const running = besides.gate.run(besides.signal, () => tool.promise);
  besides.gate.drain();
  expect(besides.onIdle).not.toHaveBeenCalled();
  tool.resolve();
  await running;
  expect(besides.onIdle).toHaveBeenCalledTimes(1);
});

test("work starts as usual before the shutdown", async () => {
  const { gate, onIdle, signal } = setUp();
  expect(await gate.run(signal, async () => 1)).toBe(1);
  expect(await gate.wait(async () => 2)).toBe(2);
  expect(onIdle).not.toHaveBeenCalled();
});
