/**
 * Runs clients that follow the instructions of 002 and 003 step by step, and know nothing else, against a gateway with
 * the stories of their documents. The browser tests do the same for the React processor of 000.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import type { Endpoint } from "@turnstream/conformance/clients/connections.ts";
import { streamMessage } from "@turnstream/conformance/clients/response-handlers.ts";
import { computeDotStatus } from "@turnstream/conformance/clients/tool-call-blocks.ts";
import { contactFormDeclined } from "@turnstream/conformance/stories/contact-form-declined/script.ts";
import { contactForm } from "@turnstream/conformance/stories/contact-form/script.ts";
import { writtenEnd, writtenFrames } from "@turnstream/conformance/stories/index.ts";
import type { Story } from "@turnstream/conformance/stories/story.ts";
import { twoToolsStopped } from "@turnstream/conformance/stories/two-tools-stopped/script.ts";
import { twoTools } from "@turnstream/conformance/stories/two-tools/script.ts";
import { vnmError } from "@turnstream/conformance/stories/vnm-error/script.ts";
import { vnmStock } from "@turnstream/conformance/stories/vnm-stock/script.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createServer, type Server } from "../../src/gateway/create-server.ts";
import { DocumentDriver, type PostMessage, type ReceivedResponse } from "./document-driver.ts";
import { play } from "./run-story.ts";
import { StoryEnvironment } from "./story-environment.ts";

const PYTHON = new URL("../../../../tests/conformance/clients/python/stream_chat.py", import.meta.url)
  .pathname;

const postByPython =
  (mode: "sync" | "async"): PostMessage =>
  async (url, headers, body) => {
    const child = spawn("python3", [PYTHON], { stdio: ["pipe", "pipe", "pipe"] });
    child.stdin.end(JSON.stringify({ url, headers, body, mode }));
    const [output, failed] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, "close"),
    ]);
    if (child.exitCode !== 0) throw new Error(`python3 failed: ${failed}`);
    return JSON.parse(output) as ReceivedResponse;
  };

const postByTypedHandlers: PostMessage = async (url, headers, body) => {
  const steps: string[] = [];
  const forms: { id: string; title: string }[] = [];
  const errors: string[] = [];
  let output = "";
  let final_text: string | null = null;
  await streamMessage(
    { url, headers, body },
    {
      "response.created": () => {},
      "response.chat.title.updated": () => {},
      "response.reasoning_step.start": ({ step }) => steps.push(step.content),
      "response.reasoning_step.end": () => {},
      "response.interaction_request": (event) => {
        if (event.interaction_type !== "payment")
          forms.push({ id: event.form_request_id, title: event.form_schema.title });
      },
      "response.output_text.delta": ({ delta }) => {
        output += delta;
      },
      "response.output_text.completed": (event) => {
        final_text = event.final_text;
      },
      "response.error": ({ message }) => errors.push(message),
    },
  );
  return { text: output, final_text, steps, forms, errors, done: true };
};

const CLIENTS: readonly (readonly [name: string, post: PostMessage])[] = [
  ["typed handlers", postByTypedHandlers],
  ["Python", postByPython("sync")],
  ["Python with asyncio", postByPython("async")],
];

let environment: StoryEnvironment;
let server: Server;
let endpoint: Endpoint;
const failures: string[] = [];

beforeAll(async () => {
  environment = await StoryEnvironment.open();
  const { store, log, signals } = environment.harness.backend;
  server = createServer({
    store,
    log,
    signals,
    secrets: ["a secret of this test with enough characters"],
    onError: (error, { during }) => failures.push(`${during}: ${String(error)}`),
  });
  const { actor } = environment.harness;
  const { secret } = await store.keys.create(actor.tenant, { name: "documents", scopes: [] });
  endpoint = { url: await server.listen(), headers: { "x-api-key": secret, "x-user-id": actor.user } };
});

afterAll(async () => {
  await server.close();
  await environment.close();
});

async function playWith(story: Story, post: PostMessage): Promise<DocumentDriver> {
  const { harness } = environment;
  // A story with a form counts its prompts to choose the answer, and several clients play it.
  environment.prompts.get(story.name)?.splice(0);
  const driver = new DocumentDriver(harness, endpoint, environment.served, post);
  const { state } = await play(harness, story, environment.gatesOf(story), driver);
  await driver.leave(state.turns.length);
  return driver;
}

const ANY_ID = expect.any(String) as string;

/** What a client of 002 must receive in each response, from the frames that were written by hand. */
function writtenResponses(story: Story): ReceivedResponse[] {
  const responses: { -readonly [Key in keyof ReceivedResponse]: ReceivedResponse[Key] }[] = [];
  for (const frame of writtenFrames(story, "responses")) {
    if (frame.type === "response.created")
      responses.push({ text: "", final_text: null, steps: [], forms: [], errors: [], done: false });
    const last = responses.at(-1);
    if (last === undefined) continue;
    const step = frame["step"] as { content: string } | undefined;
    if (frame.type === "response.output_text.delta") last.text += frame["delta"] as string;
    else if (frame.type === "response.output_text.completed") last.final_text = frame["final_text"] as string;
    else if (frame.type === "response.reasoning_step.start" && step !== undefined)
      last.steps = [...last.steps, step.content];
    else if (frame.type === "response.interaction_request")
      last.forms = [...last.forms, { id: ANY_ID, title: (frame["form_schema"] as { title: string }).title }];
    else if (frame.type === "response.error") last.errors = [...last.errors, frame["message"] as string];
    else if (frame.type === "[DONE]") last.done = true;
  }
  return responses;
}

describe.each([contactForm, contactFormDeclined])("$name of 002", (story) => {
  test.each(CLIENTS)("U09 S01 S02 S05 S07 a client with %s receives it", async (_name, post) => {
    const { received } = await playWith(story, post);
    const written = writtenResponses(story);
    expect(received.length).toBeGreaterThan(0);
    expect(await Promise.all(received)).toEqual(written.slice(0, received.length));
  });
});

describe.each([vnmStock, vnmError, twoTools, twoToolsStopped])("$name of 000 or 003", (story) => {
  test("U01 U02 U09 typed blocks have each call with its result and its dot", async () => {
    const { tools } = await playWith(story, postByTypedHandlers);
    const shown = tools.blocks.map(({ id, toolResult, toolResultError, artifact }) => ({
      id,
      ...(toolResult === null ? {} : { toolResult, toolResultError }),
      ...(artifact === null ? {} : { artifact }),
    }));
    const written = writtenCalls(story);
    expect(written.length).toBeGreaterThan(0);
    expect(shown).toEqual(written.map(({ dot: _, ...call }) => call));
    expect(tools.blocks.map(computeDotStatus)).toEqual(written.map(({ dot }) => dot));
    expect(tools.blocks.some(({ isStreaming }) => isStreaming)).toBe(false);
  });
});

interface WrittenCall {
  readonly id: string;
  readonly toolResult?: string;
  readonly toolResultError?: boolean;
  readonly artifact?: unknown;
}

/** The calls of the story in the final state of a plain client, which was written by hand. */
function writtenCalls(story: Story): (WrittenCall & { readonly dot: string })[] {
  const turns = writtenEnd(story).blocks as Record<string, { items: readonly Item[] }>;
  return Object.values(turns)
    .flatMap(({ items }) => items)
    .flatMap((item) => item.blocks ?? [item])
    .filter(({ type }) => type === "tool_use")
    .map(({ id = "", toolResult, toolResultError, artifact }) => ({
      id,
      ...(toolResult === undefined ? {} : { toolResult, toolResultError: toolResultError === true }),
      ...(artifact === undefined ? {} : { artifact }),
      dot: toolResultError === true ? "error" : "done",
    }));
}

interface Item extends Partial<WrittenCall> {
  readonly type: string;
  readonly blocks?: readonly Item[];
}

test("the gateway reports no error", () => {
  expect(failures).toEqual([]);
});
