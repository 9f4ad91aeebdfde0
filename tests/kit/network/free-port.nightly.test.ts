/** Tests that `freePort` returns a port only once, across processes. */
import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { expect, onTestFinished, test, vi } from "vitest";

vi.mock("node:crypto", { spy: true });

test("does not return a port that another running process received", async () => {
  // A file before this one may have loaded it without the spy.
  vi.resetModules();
  const { freePort } = await import("./free-port.ts");
  const file = JSON.stringify(join(import.meta.dirname, "free-port.ts"));
  const script = `console.log(await (await import(${file})).freePort()); setInterval(() => {}, 1000);`;
  const other = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(other, "exit");
  onTestFinished(() => void other.kill("SIGKILL"));
  const [line] = (await once(createInterface({ input: other.stdout }), "line")) as [string];
  const taken = Number(line);
  const drawn = vi.mocked(randomInt as (min: number, max: number) => number);
  drawn.mockReturnValueOnce(taken);
  expect(await freePort()).not.toBe(taken);
  other.kill("SIGKILL");
  await ended;
  drawn.mockReturnValueOnce(taken);
  expect(await freePort()).toBe(taken);
});
