/** Tests which images reach a model: of messages, of earlier turns and of tool results, within the limits. In memory. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createMemoryLog } from "../../../src/log/memory.ts";
import type { Prompt } from "../../../src/models/model.ts";
import { script, type ScriptedReply } from "../../../src/models/script-parts.ts";
import { type ScriptCall, scriptedModel } from "../../../src/models/scripted-model.ts";
import { type Agent, type AgentOptions, defineAgent } from "../../../src/agent/define/agent.ts";
import { defineStreamAgent } from "../../../src/agent/define/stream-agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { imagePart, limitImages, resultImages, withoutImages } from "../../../src/agent/prompt/images.ts";
import { estimatePrompt } from "../../../src/agent/prompt/trim-to-budget.ts";
import { uploadFile } from "../../../src/session/blobs/upload.ts";
import { sendMessage } from "../../../src/session/messages/send.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import type { SessionRef } from "../../../src/util/refs.ts";
import { listen, type Listener } from "../../safe-fetch/listeners.ts";
import { TurnHarness } from "../../engine/turn-harness.ts";

type Replies = (call: ScriptCall) => ScriptedReply;

/** Bytes that count as an image. */
function gif(size: number, fill = 7): Uint8Array {
  return Buffer.concat([Buffer.from("GIF89a"), Buffer.alloc(size - 6, fill)]);
}

/** Lists the files and the texts in brackets of a prompt. */
function seen(prompt: Prompt): string[] {
  return prompt.flatMap((message) =>
    message.role !== "user"
      ? []
      : message.content.flatMap((part) => {
          if (part.type === "text")
            return [...part.text.matchAll(/\[(?:File|The image|Image)[^\]]*\]/g)].map(String);
          const { data } = part;
          return [data.type === "data" ? `${part.mediaType} ${data.data.length}` : data.type];
        }),
  );
}

/** A prompt with one image per message. */
function createPrompt(...sizes: number[]): Prompt {
  return sizes.map((size, n) => ({
    role: "user",
    content: [imagePart({ url: `turnstream:blob/${n}`, mediaType: "image/gif", size }, `${n}.png`)],
  }));
}

function newer(n: number): string {
  return `[The image "${n}.png" can't be shown: it is left out in favour of newer images.]`;
}

const answer: Replies = () => [script.text("Seen.")];

describe("limits", () => {
  const limits = { maxImages: 2, maxImageBytes: 100, maxTotalBytes: 150 };
  const limited = (...sizes: number[]): string[] => seen(limitImages(createPrompt(...sizes), limits));

  test("T10 the newest images take precedence, and a text stands for each of the others", () => {
    expect(limited(10, 10)).toEqual(["reference", "reference"]);
    expect(limited(10, 10, 10)).toEqual([newer(0), "reference", "reference"]);
    expect(limited(60, 101, 60)).toEqual([
      "reference",
      `[The image "1.png" can't be shown: it is too large.]`,
      "reference",
    ]);
    expect(limited(10, 90, 90)).toEqual(["reference", newer(1), "reference"]);
    expect(limited()).toEqual([]);
  });

  test("images count as tokens, and a model without images gets texts", () => {
    const text: Prompt = withoutImages(createPrompt(10));
    expect(seen(text)).toEqual([`[The image "0.png" can't be shown: it is not part of this conversation.]`]);
    expect(estimatePrompt(createPrompt(10, 10)) - estimatePrompt(withoutImages(createPrompt(10, 10)))).toBe(
      3_000,
    );
    expect(resultImages([{ name: "look" }, { name: "see", images: [] }])).toEqual([]);
  });
});

function labelOf(n: number, cited = ""): string {
  return `[Image ${n} of 3 of the result of look${cited}. It is not a message of the user.]`;
}

describe("what a model gets", () => {
  let harness: TurnHarness;
  let site: Listener;
  let requests: string[];
  let prompts: Prompt[];
  beforeEach(async () => {
    harness = await TurnHarness.open({
      log: createMemoryLog(),
      store: createMemoryStore(),
      signals: createMemorySignals(),
    });
    [requests, prompts] = [[], []];
    site = await listen("127.0.0.1", ({ url = "" }, response) => {
      requests.push(url);
      response.end(url === "/note.txt" ? "a note" : gif(40, requests.length));
    });
  });
  afterEach(async () => {
    await harness.close();
    await site.close();
  });

  const agentWith = (replies: Replies, options: Partial<AgentOptions> = {}): Agent =>
    defineAgent({
      name: "eyes",
      images: true,
      title: false,
      ...options,
      model: scriptedModel((call) => {
        prompts.push(structuredClone(call.prompt));
        return replies(call);
      }),
    });
  const worker = (agent: Agent) => harness.worker([agent], { fetchPolicy: { allow: [site.name] } });

  async function upload(ref: SessionRef, bytes: Uint8Array, id = "u-1"): Promise<string> {
    const body = (async function* () {
      yield bytes;
    })();
    const options = { id, name: `${id}.png`, mediaType: "image/gif", body, userId: "an" };
    return (await uploadFile(harness.backend, ref, options)).url;
  }

  async function ask(ref: SessionRef, urls: readonly string[], id = "m-1") {
    const files = urls.map((url) => ({ url, name: url.split("/").at(-1) ?? "" }));
    await sendMessage(harness.backend, ref, { id, text: "What is this?", userId: "an", files });
    return harness.ended(ref, ({ message }) => message?.id === id);
  }

  test("T10 uploads and fetched images reach the model as bytes, also in later turns without another fetch", async () => {
    await worker(agentWith(answer));
    const ref = await harness.session();
    await ask(ref, [await upload(ref, gif(20)), `${site.url}/a.png`, `${site.url}/note.txt`]);
    const first = [
      '[File "u-1.png": image/gif, 20 bytes. The image follows.]',
      '[File "a.png": image/gif, 40 bytes. The image follows.]',
      expect.stringContaining('[File "note.txt": text/plain'),
      "image/gif 20",
      "image/gif 40",
    ];
    expect(seen(prompts[0] ?? [])).toEqual(first);
    await ask(ref, [], "m-2");
    expect(seen(prompts[1] ?? [])).toEqual(first);
    const [sent] = prompts.map((prompt) => prompt.find(({ role }) => role === "user"));
    expect(prompts[1]?.find(({ role }) => role === "user")).toEqual(sent);
    expect(requests.toSorted()).toEqual(["/a.png", "/note.txt"]);
    // No provider may see addresses of ours.
    expect(JSON.stringify(prompts)).not.toMatch(/turnstream:|\/blobs\//);
  });

  test("T10 a model that does not accept images gets the text form", async () => {
    await worker(agentWith(answer, { images: false }));
    const ref = await harness.session();
    await ask(ref, [await upload(ref, gif(20)), `${site.url}/a.png`]);
    expect(seen(prompts[0] ?? [])).toEqual([
      '[File "u-1.png": image/gif, 20 bytes, without text that could be read.]',
      '[File "a.png": image/gif, 40 bytes, without text that could be read.]',
    ]);
  });

  test("T10 images beyond the limits of the agent, and removed ones, are named", async () => {
    await worker(agentWith(answer, { images: { maxImageBytes: 30, maxImages: 1 } }));
    const ref = await harness.session();
    await ask(ref, [await upload(ref, gif(20), "a"), await upload(ref, gif(21), "b"), `${site.url}/c.png`]);
    expect(seen(prompts[0] ?? [])).toEqual([
      '[File "a.png": image/gif, 20 bytes. The image follows.]',
      '[File "b.png": image/gif, 21 bytes. The image follows.]',
      '[File "c.png": image/gif, 40 bytes, without text that could be read.]',
      `[The image "a.png" can't be shown: it is left out in favour of newer images.]`,
      "image/gif 21",
    ]);
    await harness.backend.store.uploads.remove(ref, "b");
    await ask(ref, [], "m-2");
    expect(seen(prompts[1] ?? []).at(-1)).toBe(`[The image "b.png" can't be shown: it is no longer stored.]`);
  });

  test("T10 pictures of tool results reach the model after the results, in this and later turns", async () => {
    const look = tool({
      run: (_, context) => {
        context.image({ data: gif(10), mediaType: "image/gif" });
        context.image({ data: gif(11), mediaType: "image/gif" });
        return {
          content: "two",
          blocks: [
            { type: "image", data: gif(30_000), mediaType: "image/jpeg" },
            { type: "image", data: new Uint8Array(50), mediaType: "image/gif" },
            { type: "image", url: "https://example.com/x.png" },
          ],
          references: [
            { content: "cited", blocks: [{ type: "image", data: gif(12), mediaType: "image/gif" }] },
          ],
        };
      },
    });
    const replies: Replies = ({ step }) =>
      step === 0 && prompts.length === 1 ? [script.toolCall("look", {})] : [script.text("Seen.")];
    await worker(agentWith(replies, { tools: { look } }));
    const ref = await harness.session();
    await ask(ref, []);
    const shown = [
      labelOf(1),
      "image/gif 11",
      labelOf(2),
      "image/gif 30000",
      labelOf(3, ", reference 1"),
      "image/gif 12",
    ];
    expect(prompts[1]?.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
    expect(seen(prompts[1] ?? [])).toEqual(shown);
    await ask(ref, [], "m-2");
    expect(prompts[2]?.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "user",
      "assistant",
      "user",
    ]);
    expect(seen(prompts[2] ?? [])).toEqual(shown);
  });

  test("T10 another worker sends the same images, without fetching or running anything again", async () => {
    let runs = 0;
    const look = tool({
      idempotent: true,
      run: () => {
        runs++;
        return {
          content: "one",
          blocks: [{ type: "image", data: gif(30_000, runs), mediaType: "image/gif" }],
        };
      },
    });
    let isStuck: (() => void) | undefined;
    const stuck = new Promise<void>((resolve) => (isStuck = resolve));
    const replies: Replies = ({ step }) => {
      if (step === 0) return [script.toolCall("look", {})];
      if (prompts.length > 2) return [script.text("Seen.")];
      isStuck?.();
      return [script.delay(600_000)];
    };
    const agent = agentWith(replies, { tools: { look } });
    const first = await worker(agent);
    const ref = await harness.session();
    const asked = ask(ref, [`${site.url}/a.png`]);
    await stuck;
    await worker(agent);
    await first.shutdown();
    expect((await asked).status).toBe("end_turn");
    expect(prompts).toHaveLength(3);
    expect(prompts[2]).toEqual(prompts[1]);
    expect(seen(prompts[2] ?? [])).toHaveLength(4);
    expect([requests, runs]).toEqual([["/a.png"], 1]);
  });

  test("T10 the body of a stream agent gets the images too", async () => {
    let given: Prompt = [];
    const agent = defineStreamAgent({
      name: "own",
      attachments: true,
      images: true,
      title: false,
      async *run(context) {
        given = context.prompt;
        yield { type: "text.start", block: "a", part: false };
        yield { type: "text.end", block: "a", final: true };
      },
    });
    await worker(agent);
    const ref = await harness.session();
    await ask(ref, [await upload(ref, gif(20))]);
    expect(seen(given).at(-1)).toBe("image/gif 20");
  });
});
