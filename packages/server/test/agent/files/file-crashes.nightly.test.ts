/**
 * Kills a worker at every point of a turn that reads files. Another worker continues and fetches no file again that was
 * read, and every event is legal.
 */
import { listBlocks } from "@turnstream/protocol";
import { runInParallel } from "@turnstream/testkit/util/run-in-parallel.ts";
import { expect, it } from "vitest";
import { createMemoryLog } from "../../../src/log/memory.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { sendMessage } from "../../../src/session/messages/send.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { listen } from "../../safe-fetch/listeners.ts";
import { CrashPoint, crashPoints, withCrashPoint } from "../../engine/crash-injection.ts";
import { outline, TurnHarness } from "../../engine/turn-harness.ts";

async function play(crash: { afterCalls: number; isExecuted: boolean }) {
  const asked: string[] = [];
  const server = await listen("127.0.0.1", (request, response) => {
    asked.push(request.url ?? "");
    if (request.url === "/missing") response.writeHead(404);
    response.end(`the text of ${request.url}`);
  });
  const prompts: string[] = [];
  const agent = defineAgent({
    name: "a",
    title: false,
    model: scriptedModel(({ text }) => {
      prompts.push(text);
      return [script.text("done")];
    }),
  });
  const parts = { log: createMemoryLog(), store: createMemoryStore(), signals: createMemorySignals() };
  const harness = await TurnHarness.open(parts);
  const ref = await harness.session();
  const died: string[] = [];
  // Results that were committed before the crash must not be fetched again.
  let readBefore: string[] = [];
  const crashPoint = new CrashPoint(crash, (name) => {
    died.push(name);
    void (async () => {
      readBefore = (await parts.store.attachments.list(ref, { limit: 10 })).map(({ url }) => url);
    })();
  });
  const { log, store, signals } = withCrashPoint(parts, crashPoint);
  const reading = {
    fetchPolicy: { allow: [server.name] },
    fileLimits: { maxParallel: 1 },
    pollIntervalMs: 20,
  };
  await harness.crashingWorker([agent], { ...reading, log, store, signals, onError: () => {} });
  const files = ["/one", "/missing", "/two"].map((path) => ({ url: `${server.url}${path}` }));
  await sendMessage(parts, ref, { id: "m", text: "go", files });
  await harness.worker([agent], reading);
  const turn = await harness.ended(ref, () => true, 30_000);
  const attachments = await parts.store.attachments.list(ref, { limit: 10 });
  await server.close();
  return { turn, died, asked, readBefore, prompts, calls: crashPoint.calls, harness, attachments };
}

it("W12: continues where the dead worker stopped", async () => {
  const whole = await play({ afterCalls: Infinity, isExecuted: false });
  await whole.harness.close();
  expect(whole.asked).toEqual(["/one", "/missing", "/two"]);
  expect(whole.calls).toBeGreaterThan(12);
  let wentOn = 0;
  await runInParallel(crashPoints(2, whole.calls), async (afterCalls) => {
    const one = await play({ afterCalls, isExecuted: afterCalls % 2 === 0 });
    const what = `death after ${afterCalls} calls at ${one.died.join()}`;
    expect(one.turn.status, what).toBe("end_turn");
    expect(outline(one.turn), what).toEqual(["files", "text final done"]);
    const block = listBlocks(one.turn).find(({ kind }) => kind === "files");
    expect(block, what).toMatchObject({ status: "completed", message: "Read 2 of 3 files" });
    expect(
      one.attachments.map(({ url }) => new URL(url).pathname),
      what,
    ).toEqual(["/two", "/one"]);
    for (const url of one.readBefore) {
      wentOn++;
      expect(
        one.asked.filter((path) => path === new URL(url).pathname),
        what,
      ).toHaveLength(1);
    }
    const [prompt = ""] = one.prompts;
    for (const expected of ["the text of /one", "the text of /two", "nothing was found"])
      expect(prompt, what).toContain(expected);
    expect(one.harness.errors, what).toEqual([]);
    await one.harness.close();
  });
  expect(wentOn).toBeGreaterThan(0);
});
