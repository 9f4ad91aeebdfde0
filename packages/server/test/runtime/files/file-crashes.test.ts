/**
 * A worker dies at every point of a turn that reads files: another one goes on, fetches no file again that was read, and
 * every event is legal.
 */
import { listBlocks } from "@turnstream/protocol";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createMemoryLog } from "../../../src/log/memory.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/runtime/define/agent.ts";
import { sendMessage } from "../../../src/session/messages/send.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { createMemoryStore } from "../../../src/store/memory/store.ts";
import { listen, type Listener } from "../../safe-fetch/listeners.ts";
import { Mortality, mortalParts } from "../crash-injection.ts";
import { outline, Stage } from "../turn-harness.ts";

let server: Listener;
let asked: string[] = [];

beforeAll(async () => {
  server = await listen("127.0.0.1", (request, response) => {
    asked.push(request.url ?? "");
    if (request.url === "/gone") response.writeHead(404);
    response.end(`the text of ${request.url}`);
  });
});
afterAll(() => server.close());

async function play(death: { after: number; isDone: boolean }) {
  asked = [];
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
  const stage = await Stage.open(parts);
  const ref = await stage.session();
  const died: string[] = [];
  // What was committed when it died must not be fetched again.
  let readBefore: string[] = [];
  const mortality = new Mortality(death, (name) => {
    died.push(name);
    void (async () => {
      readBefore = (await parts.store.attachments.list(ref, { limit: 10 })).map(({ url }) => url);
    })();
  });
  const { log, store, signals } = mortalParts(parts, mortality);
  const reading = {
    fetchPolicy: { allow: [server.name] },
    fileLimits: { maxParallel: 1 },
    pollIntervalMs: 20,
  };
  await stage.doomed([agent], { ...reading, log, store, signals, onError: () => {} });
  const files = ["/one", "/gone", "/two"].map((path) => ({ url: `${server.url}${path}` }));
  await sendMessage(parts, ref, { id: "m", text: "go", files });
  await stage.worker([agent], reading);
  const turn = await stage.ended(ref, () => true, 30_000);
  const attachments = await parts.store.attachments.list(ref, { limit: 10 });
  return { turn, died, readBefore, prompts, calls: mortality.calls, stage, attachments };
}

it("W12: goes on where the dead worker was", async () => {
  const whole = await play({ after: Infinity, isDone: false });
  await whole.stage.close();
  expect(asked).toEqual(["/one", "/gone", "/two"]);
  expect(whole.calls).toBeGreaterThan(12);
  let wentOn = 0;
  for (let after = 2; after < whole.calls; after++) {
    const one = await play({ after, isDone: after % 2 === 0 });
    const what = `death after ${after} calls at ${one.died.join()}`;
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
        asked.filter((path) => path === new URL(url).pathname),
        what,
      ).toHaveLength(1);
    }
    const [prompt = ""] = one.prompts;
    for (const words of ["the text of /one", "the text of /two", "nothing was found"])
      expect(prompt, what).toContain(words);
    expect(one.stage.errors, what).toEqual([]);
    await one.stage.close();
  }
  expect(wentOn).toBeGreaterThan(5);
});
