/**
 * Runs the clients that 002, 003 and 004 print against a gateway: their own code, cut out of the documents. Only the
 * host, the chat, the key, the agent and the message are replaced. Without the documents, nothing runs.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text as readText } from "node:stream/consumers";
import { cutDocument, hasDocuments } from "@turnstream/conformance/clients/cut-document.ts";
import { type PrintedCode, PrintedPage } from "@turnstream/conformance/clients/printed-page.ts";
import { SessionClient } from "@turnstream/conformance/clients/session-client.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { createServer, type Server } from "../../src/gateway/create-server.ts";
import { script } from "../../src/models/script-parts.ts";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { defineAgent } from "../../src/agent/define/agent.ts";
import { tool } from "../../src/agent/define/tool.ts";
import { openRealBackend } from "../engine/real-backend.ts";
import { TurnHarness } from "../engine/turn-harness.ts";
import { rest } from "./http-client.ts";

const ANSWER = "我們的營業時間是週一至週五,上午 9 點到下午 6 點。";
const FORM = { title: "Contact", fields: [{ name: "email", label: "Email", type: "email", required: true }] };

const guide = defineAgent({
  name: "550e8400-e29b-41d4-a716-446655440000",
  title: false,
  requestForms: true,
  retry: { maxAttempts: 1 },
  tools: {
    look: tool({ label: "Looking", input: z.object({}), idempotent: true, run: () => "found" }),
    fail: tool({
      label: "Failing",
      input: z.object({}),
      idempotent: true,
      run: () => {
        throw new Error("closed");
      },
    }),
  },
  model: scriptedModel(({ text, step }) => {
    if (text === "form") return [script.toolCall("request_form", FORM)];
    if (text === "error") return [script.text("So"), script.error({ status: 500 })];
    if (text === "tools" && step === 0) return [script.toolCall("look", {}), script.toolCall("fail", {})];
    return [script.text(ANSWER, { chunk: 3 })];
  }),
});

let harness: TurnHarness;
let server: Server;
let url: string;
let key: string;

beforeAll(async () => {
  if (!hasDocuments) console.log("The documents are not here: their clients are not run.");
  harness = await TurnHarness.open(await openRealBackend());
  const { store, log, signals } = harness.backend;
  server = createServer({ store, log, signals, secrets: ["a secret of this test with enough characters"] });
  url = await server.listen();
  key = (await store.keys.create(harness.actor.tenant, { name: "printed", scopes: [] })).secret;
  await harness.worker([guide]);
});

afterAll(async () => {
  await server.close();
  await harness.close();
});

const endpoint = () => ({ url, headers: { "x-api-key": key } });
const newChat = () => rest<{ chat_id: number; session_id: string }>(endpoint(), "POST", "/chats", {});

interface Received {
  output: string;
  readonly logs: unknown[][];
  readonly errors: unknown[][];
  readonly forms: Record<string, unknown>[];
}

/** 002:304-372, in a function, because the document runs it in a page. */
async function runJavaScript(message: string): Promise<Received> {
  const { chat_id } = await newChat();
  const code = cutDocument("002", "const url = 'https://api", "\nPython\n", {
    "https://api.codeer.ai": url,
    "12345": String(chat_id),
    YOUR_API_KEY: key,
    "your-agent-id": guide.name,
    "你好!": message,
  });
  const output = { textContent: "" };
  const received: Received = { output: "", logs: [], errors: [], forms: [] };
  const page = { getElementById: (id: string) => (id === "output" ? output : null) };
  const log = (...texts: unknown[]) => received.logs.push(texts);
  const error = (...texts: unknown[]) => received.errors.push(texts);
  const AsyncFunction = runJavaScript.constructor as FunctionConstructor;
  const run = new AsyncFunction("document", "console", "openInteractionUi", code) as (
    ...globals: unknown[]
  ) => Promise<void>;
  await run(page, { log, error }, (form: Record<string, unknown>) => received.forms.push(form));
  return { ...received, output: output.textContent };
}

/** 002:376-435 or 439-483 */
async function runPython(from: string, to: string, printed: string): Promise<string> {
  const { chat_id } = await newChat();
  const code = cutDocument("002", from, to, {
    "https://api.codeer.ai": url,
    "12345": String(chat_id),
    "your-api-key": key,
    "your-agent-id": guide.name,
    [printed]: "hello",
  });
  const child = spawn("/usr/bin/python3", ["-"], { stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.end(code);
  const [output, failed] = await Promise.all([
    readText(child.stdout),
    readText(child.stderr),
    once(child, "close"),
  ]);
  if (child.exitCode !== 0) throw new Error(`python3 failed: ${failed}`);
  return output;
}

describe.skipIf(!hasDocuments)("the printed code of 002", () => {
  test("JavaScript receives an answer", async () => {
    const { output, logs, errors } = await runJavaScript("hello");
    expect({ output, logs, errors }).toEqual({
      output: ANSWER,
      logs: [["最終回應:", ANSWER], ["串流完成"]],
      errors: [],
    });
  });

  test("JavaScript receives a form", async () => {
    const { forms, errors } = await runJavaScript("form");
    expect(forms).toMatchObject([{ interaction_type: "form", form_schema: { title: "Contact" } }]);
    expect(errors).toEqual([]);
  });

  test("JavaScript receives an error", async () => {
    const { errors, logs } = await runJavaScript("error");
    expect(errors).toEqual([["錯誤:", expect.any(String)]]);
    expect(logs).toEqual([["串流完成"]]);
  });

  test("Python with requests receives an answer", async () => {
    const output = await runPython("import requests", "Python(非同步)", "你們的營業時間是?");
    expect(output).toMatch(`${ANSWER}\n\nToken 使用量: {`);
    expect(output.trimEnd().endsWith("串流完成")).toBe(true);
  });

  test("Python with aiohttp receives an answer", async () => {
    expect(await runPython("import aiohttp", "最佳實踐", "你好!")).toBe(ANSWER);
  });
});

/** Returns a function that a document prints as a declaration. */
function printedFunction(document: "003" | "004", from: string, to: string, name: string): unknown {
  // oxlint-disable-next-line typescript/no-implied-eval -- that is the test
  return new Function(`${cutDocument(document, from, to)}\nreturn ${name};`)();
}

const printedCode = () =>
  ({
    mergeToolResult: printedFunction(
      "003",
      "function mergeToolResult(",
      "Trạng Thái Hiển",
      "mergeToolResult",
    ),
    buildGroups: printedFunction("004", "function buildGroups(", "2. Group Component", "buildGroups"),
  }) as PrintedCode;

describe.skipIf(!hasDocuments)("the printed code of 003 and 004", () => {
  test("shows calls with their results in a group, live and after a reload", async () => {
    const { session_id: session } = await newChat();
    const frames: Record<string, unknown>[] = [];
    const client = new SessionClient({
      session,
      dialect: "blocks",
      wire: "socket",
      onFrame: (frame) => frames.push(frame),
    }).connect(endpoint());
    await client.until("subscribed", () => client.rendered.starts.length > 0);
    await rest(endpoint(), "POST", `/sessions/${session}/messages`, {
      client_message_id: "m1",
      text: "tools",
    });
    await client.until("the end", () => frames.some(({ type }) => type === "message_stop"));
    client.cut();
    const whole = new PrintedPage(printedCode());
    whole.load({ messages: [], agent_status: "running" });
    for (const frame of frames) whole.handle(frame);
    expect(whole.show()).toEqual([
      "user tools",
      'closed group "Failing": Looking -> found, Failing -> failed',
      `text ${ANSWER}`,
    ]);
    const history = await rest<Parameters<PrintedPage["load"]>[0]>(
      endpoint(),
      "GET",
      `/sessions/${session}/history`,
    );
    const reloaded = new PrintedPage(printedCode());
    reloaded.load(history);
    expect(reloaded.show()).toEqual(whole.show());
  });

  test.each([
    [{ toolResult: null }, false, "active"],
    [{ toolResult: null }, true, "done"],
    [{ toolResult: "found", toolResultError: false }, false, "done"],
    [{ toolResult: "closed", toolResultError: true }, false, "error"],
  ])("computes the dot of %j", (block, isFromHistory, dot) => {
    const code = cutDocument("003", "const hasToolResult = block.toolResult", "Component ToolCallBlock");
    // oxlint-disable-next-line typescript/no-implied-eval -- that is the test
    const computeDot = new Function("block", "isFromHistory", `${code}\nreturn dotStatus;`) as (
      ...values: unknown[]
    ) => string;
    expect(computeDot(block, isFromHistory)).toBe(dot);
  });
});
