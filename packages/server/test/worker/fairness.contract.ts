/**
 * The contract of fairness inside a worker: one user who occupies every slot does not keep others from getting an
 * answer. The slow work of that user never ends by itself, so a test doesn't measure how long it takes.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { Readable } from "node:stream";
import { listBlocks, type Turn } from "@turnstream/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Model } from "../../src/models/model.ts";
import { script } from "../../src/models/script-parts.ts";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { defineAgent } from "../../src/agent/define/agent.ts";
import { tool } from "../../src/agent/define/tool.ts";
import { uploadFile } from "../../src/session/blobs/upload.ts";
import { sendMessage } from "../../src/session/messages/send.ts";
import { listen, type Listener } from "../safe-fetch/listeners.ts";
import { type HarnessBackend, TurnHarness } from "../engine/turn-harness.ts";

/** Far longer than an answer takes on a busy machine. Without fairness it never comes. */
const ANSWER_MS = 20_000;
const FLOOD = 64;
const WIDTH = 8;
/** Three quarters of the width. */
const SHARE = 6;

/** Lets callers wait until `open`, and counts those who wait. */
function createGate() {
  const opened = new AbortController();
  let waiting = 0;
  return {
    open: () => opened.abort(),
    waiting: () => waiting,
    wait: async (signal?: AbortSignal): Promise<void> => {
      waiting++;
      const ended = AbortSignal.any([opened.signal, ...(signal === undefined ? [] : [signal])]);
      if (!ended.aborted) await once(ended, "abort");
      waiting--;
    },
  };
}

async function answer(user: TurnHarness, text: string): Promise<Turn> {
  const ref = await user.session();
  const message = await user.send(ref, text);
  return user.ended(ref, (turn) => turn.message?.id === message, ANSWER_MS);
}

export function fairnessContract(makeBackend: () => Promise<HarnessBackend>): void {
  let harness: TurnHarness;
  let gate: ReturnType<typeof createGate>;
  /** A user of another tenant, and another user of the flooding user's tenant. */
  let others: TurnHarness[];

  beforeEach(async () => {
    harness = await TurnHarness.open(await makeBackend());
    const tenant = `tenant-${randomUUID()}`;
    await harness.backend.store.tenants.create({ id: tenant, name: "Other" });
    others = [
      harness.as({ tenant, user: "an" }),
      harness.as({ tenant: harness.actor.tenant, user: "another user" }),
    ];
    gate = createGate();
  });
  afterEach(async () => {
    gate.open();
    await harness.close();
  });

  /** Sends a message in each of many sessions, and waits until the slots are occupied. */
  async function flood(text: string): Promise<void> {
    for (const user of others) await answer(user, "hello");
    await Promise.all(Array.from({ length: FLOOD }, async () => harness.send(await harness.session(), text)));
    await expect.poll(gate.waiting, { timeout: ANSWER_MS }).toBeGreaterThan(0);
  }

  describe("fairness", () => {
    it("64 sessions of one user before 8 model slots: others get an answer", async () => {
      const inner = scriptedModel(() => [script.text("done")]);
      const model: Model = {
        specificationVersion: inner.specificationVersion,
        provider: inner.provider,
        modelId: inner.modelId,
        supportedUrls: inner.supportedUrls,
        doGenerate: (options) => inner.doGenerate(options),
        doStream: async (options) => {
          if (JSON.stringify(options.prompt.at(-1)).includes("slow")) await gate.wait(options.abortSignal);
          return inner.doStream(options);
        },
      };
      await harness.worker([defineAgent({ name: "a", model, title: false })], {
        maxConcurrentModelCalls: WIDTH,
      });
      await flood("slow");
      for (const user of others) expect((await answer(user, "hello")).status).toBe("end_turn");
      expect(gate.waiting()).toBeLessThanOrEqual(SHARE);
    });

    it("64 tool calls of one user before 8 tool slots: others' tools run", async () => {
      const work = tool({ idempotent: true, run: (_, { signal }) => gate.wait(signal) });
      const quick = tool({ idempotent: true, run: () => "done" });
      const model = scriptedModel(({ text, step }) =>
        step > 0 ? [script.text("done")] : [script.toolCall(text === "slow" ? "work" : "quick")],
      );
      await harness.worker([defineAgent({ name: "a", model, title: false, tools: { work, quick } })], {
        maxConcurrentToolCalls: WIDTH,
      });
      await flood("slow");
      for (const user of others) expect((await answer(user, "hello")).status).toBe("end_turn");
      expect(gate.waiting()).toBeLessThanOrEqual(SHARE);
    });

    describe("files", () => {
      let slow: Listener;
      beforeEach(async () => {
        // A server that sends nothing would be given up earlier.
        slow = await listen("127.0.0.1", (_, response) => {
          const timer = setInterval(() => response.write("x"), 500);
          response.on("close", () => clearInterval(timer));
          void gate.wait().then(() => response.end());
        });
      });
      afterEach(async () => {
        await slow.close();
      });

      it("three messages of one user with 20 slow addresses each: others' files are read", async () => {
        const model = scriptedModel(() => [script.text("done")]);
        await harness.worker([defineAgent({ name: "a", model, title: false })], {
          fetchPolicy: { allow: [slow.name] },
        });
        for (const user of others) await answer(user, "hello");
        const files = Array.from({ length: 20 }, (_, n) => ({ url: `${slow.url}/${n}` }));
        for (let n = 0; n < 3; n++) {
          const message = { id: randomUUID(), text: "read", userId: harness.actor.user, files };
          await sendMessage(harness.backend, await harness.session(), message);
        }
        await expect.poll(gate.waiting, { timeout: ANSWER_MS }).toBeGreaterThanOrEqual(SHARE);
        for (const user of others) {
          const ref = await user.session();
          const body = Readable.from([Buffer.from("hello")]);
          const upload = { id: randomUUID(), name: "a.txt", body, userId: user.actor.user };
          const { url } = await uploadFile(harness.backend, ref, upload);
          const message = { id: randomUUID(), text: "read", userId: user.actor.user, files: [{ url }] };
          await sendMessage(harness.backend, ref, message);
          const turn = await user.ended(ref, ({ message: sent }) => sent?.id === message.id, ANSWER_MS);
          const block = listBlocks(turn).find(({ kind }) => kind === "files");
          expect(block).toMatchObject({ status: "completed" });
        }
      });
    });
  });
}
