/** The contract of signals. A listener's first signal may be lost, so the tests send until one arrives. */
import { describe, expect, test, vi } from "vitest";
import type { Signals } from "../../src/signals/signals.ts";

const CONNECT = "connect ";

/**
 * Sends until a signal arrives, and waits for the last one that it sent. From then on, no signal has to be repeated, and
 * none of these is on its way.
 */
export async function connect(from: Signals, to: Signals, channel: string): Promise<void> {
  let [sent, arrived] = [0, 0];
  const stop = to.listen(channel, (text) => {
    if (text.startsWith(CONNECT)) arrived = Number(text.slice(CONNECT.length));
  });
  const send = () => {
    if (arrived === 0) from.send(channel, `${CONNECT}${++sent}`);
    return arrived > 0 && arrived === sent;
  };
  // Hooks use this too, and `expect.poll` refuses to run in them.
  await vi.waitFor(() => expect(send()).toBe(true), { interval: 20, timeout: 60_000 });
  stop();
}

/** @param make returns two ends: each receives what the other sends */
export function signalsContract(name: string, make: () => Promise<readonly [Signals, Signals]>): void {
  describe(`Signals: ${name}`, () => {
    test("reach every listener of the channel in order, and no other listener", async () => {
      const [here, there] = await make();
      const received: string[] = [];
      const note = (whom: string) => (text: string) =>
        void (text.startsWith(CONNECT) || received.push(`${whom} ${text}`));
      const listeners = [
        there.listen("a", note("there")),
        here.listen("a", note("here")),
        there.listen("b", note("b")),
      ];
      await connect(here, there, "a");
      await connect(here, here, "a");
      await connect(here, there, "b");
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
      received = 0;
      here.send("a", "x");
      expect(received).toBe(0);
      await expect.poll(() => received).toBeGreaterThan(0);
      await Promise.all([here.close(), there.close()]);
    });

    test("don't reach a stopped listener, and reach a listener that is added again", async () => {
      const [here, there] = await make();
      let [one, two] = [0, 0];
      const stop = there.listen("a", (text) => void (text === "x" && one++));
      const listener = (text: string) => void (text === "x" && two++);
      const stopTwo = there.listen("a", listener);
      // The same function can listen more than once, and each stop ends one of them.
      there.listen("a", listener)();
      await connect(here, there, "a");
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
      await here.close();
      expect(received).toBe(0);
    });
  });
}
