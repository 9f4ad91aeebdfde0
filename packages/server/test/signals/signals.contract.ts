/** The contract of signals. A listener's first signal may be lost, so the tests send until one arrives. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Signals } from "../../src/signals/signals.ts";

/** Sends until a signal arrives. From then on, no signal has to be repeated. */
export async function connect(from: Signals, to: Signals, channel: string, ms = 40_000): Promise<void> {
  const received: string[] = [];
  const stop = to.listen(channel, (text) => received.push(text));
  const deadline = performance.now() + ms;
  while (received.length === 0) {
    if (performance.now() > deadline) throw new Error(`no signal arrived on ${channel}`);
    from.send(channel, "connect");
    await sleep(20);
  }
  stop();
}

/** @param make returns two ends: each receives what the other sends */
export function signalsContract(name: string, make: () => Promise<readonly [Signals, Signals]>): void {
  describe(`Signals: ${name}`, () => {
    test("reach every listener of the channel in order, and no other listener", async () => {
      const [here, there] = await make();
      const received: string[] = [];
      const listeners = [
        there.listen("a", (text) => received.push(`there ${text}`)),
        here.listen("a", (text) => received.push(`here ${text}`)),
        there.listen("b", (text) => received.push(`b ${text}`)),
      ];
      await connect(here, there, "a");
      await connect(here, here, "a");
      await connect(here, there, "b");
      await sleep(50);
      received.length = 0;
      const texts = Array.from({ length: 100 }, (_, n) => `${n} "\u2028\n漢`);
      for (const text of texts) here.send("a", text);
      here.send("b", "end");
      const of = (whom: string) => received.filter((line) => line.startsWith(whom));
      await expect
        .poll(() => [of("here").length, of("there").length, of("b")])
        .toEqual([100, 100, ["b end"]]);
      expect(of("there")).toEqual(texts.map((text) => `there ${text}`));
      for (const stop of listeners) stop();
      await Promise.all([here.close(), there.close()]);
    });

    test("never arrive within the call that sends them", async () => {
      const [here, there] = await make();
      let received = 0;
      here.listen("a", () => received++);
      await connect(here, here, "a");
      await sleep(50);
      received = 0;
      here.send("a", "x");
      expect(received).toBe(0);
      await expect.poll(() => received).toBeGreaterThan(0);
      await Promise.all([here.close(), there.close()]);
    });

    test("don't reach a stopped listener, and reach a listener that is added again", async () => {
      const [here, there] = await make();
      let [one, two] = [0, 0];
      // Texts with which the test connected may arrive late.
      const stop = there.listen("a", (text) => void (text === "x" && one++));
      const listener = (text: string) => void (text === "x" && two++);
      const stopTwo = there.listen("a", listener);
      // The same function can listen more than once, and each stop ends one of them.
      there.listen("a", listener)();
      await connect(here, there, "a");
      await sleep(50);
      stop();
      stop();
      here.send("a", "x");
      await expect.poll(() => two).toBe(1);
      expect(one).toBe(0);
      stopTwo();
      for (let n = 0; n < 20; n++) there.listen("a", () => undefined)();
      await connect(here, there, "a");
      await Promise.all([here.close(), there.close()]);
    });

    test("reach the other listeners when one throws", async () => {
      const [here, there] = await make();
      let received = 0;
      const warned: unknown[] = [];
      const warn = (warning: Error) => warned.push(warning.message);
      process.on("warning", warn);
      const stop = there.listen("a", () => {
        throw new Error("a bug in a listener");
      });
      there.listen("a", () => received++);
      await connect(here, there, "a");
      stop();
      await expect.poll(() => received).toBeGreaterThan(0);
      await expect.poll(() => warned).toContain("a bug in a listener");
      process.off("warning", warn);
      await Promise.all([here.close(), there.close()]);
    });

    test("a hint reaches one of the processes that offer its topic, and those with less load first", async () => {
      const [here, there] = await make();
      const received: string[] = [];
      for (const channel of ["w1", "w2", "w3"]) {
        there.listen(channel, (text) => text !== "connect" && received.push(`${channel} ${text}`));
        await connect(here, there, channel);
      }
      await sleep(50);
      received.length = 0;
      there.offer("w1", { topics: ["a"], load: 0 });
      there.offer("w2", { topics: ["a", "b"], load: 1_000 });
      there.offer("w3", { topics: ["c"], load: 0 });
      await expect.poll(() => here.leastLoad("b", "")).toBe(1_000);
      await expect.poll(() => here.leastLoad("a", "w2")).toBe(0);
      expect([here.leastLoad("a", "w1"), here.leastLoad("d", "")]).toEqual([1_000, null]);
      for (let n = 0; n < 10; n++) here.hint("a");
      here.hint("b");
      await expect.poll(() => received.length).toBe(11);
      await sleep(50);
      expect(received.filter((text) => text === "w1 a")).toHaveLength(10);
      expect(received).toContain("w2 b");
      there.offer("w1", null);
      await expect.poll(() => here.leastLoad("a", "w2")).toBeNull();
      here.hint("a");
      await expect.poll(() => received.at(-1)).toBe("w2 a");
      await Promise.all([here.close(), there.close()]);
    });

    test("a hint that no process offers reaches the next one that does, and a broken offer has no effect", async () => {
      const [here, there] = await make();
      const received: string[] = [];
      there.listen("w1", (text) => received.push(text));
      await connect(here, there, "w1");
      await connect(there, here, "offers");
      await sleep(50);
      received.length = 0;
      for (const text of ["", "null", "[]", '{"channel":1}', '{"channel":"w1","offer":{"topics":"a"}}'])
        there.send("offers", text);
      here.hint("a");
      await sleep(50);
      expect(received).toEqual([]);
      // A hint waits for one second, which a busy machine may exceed.
      here.hint("a");
      there.offer("w1", { topics: ["a"], load: 3 });
      await expect.poll(() => received).toContain("a");
      await Promise.all([here.close(), there.close()]);
    });

    test("close without errors", async () => {
      const [here, there] = await make();
      await connect(here, there, "a");
      let received = 0;
      there.listen("a", () => received++);
      await there.close();
      await there.close();
      here.send("a", "x");
      there.send("a", "x");
      there.listen("a", () => undefined)();
      await sleep(50);
      expect(received).toBe(0);
      await here.close();
    });
  });
}
