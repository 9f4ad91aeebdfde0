/**
 * An MCP server over stdio that misbehaves on request. It uses no library, because a library would prevent that. Only
 * the tests start it, as a process.
 */
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: unknown;
  readonly error?: unknown;
}

const mode = process.env["ODD_MODE"] ?? "";
const count = Number(process.env["ODD_TOOLS"] ?? "0");
const pids = process.env["ODD_PIDS"];
if (pids !== undefined) appendFileSync(pids, `${process.pid}\n`);
process.stderr.write(`odd ${process.env["ODD_SECRET"] ?? ""} ${"x".repeat(10_000)} the end\n`);

const PAGE = 50;
const received: string[] = [];
const extra: string[] = [];
const answers = new Map<string, (message: Message) => void>();
let asked = 0;

const send = (message: object): void => {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
};
const text = (message: string, more: object = {}): object => ({
  content: [{ type: "text", text: message }],
  ...more,
});

function ask(params: object): Promise<Message> {
  const id = `ask-${++asked}`;
  send({ id, method: "elicitation/create", params });
  return new Promise((resolve) => answers.set(id, resolve));
}

const NAME_FORM = {
  message: "Who are you?",
  requestedSchema: { type: "object", properties: { who: { type: "string" } }, required: ["who"] },
};

const tools: Record<string, (input: Record<string, unknown>) => Promise<object | null> | object | null> = {
  ok: () => text("ok"),
  pid: () => text(String(process.pid)),
  hang: () => null,
  received: () => text(received.join(",")),
  die: () => process.exit(3),
  fail: () => text("no disk left", { isError: true }),
  leak: () => text(`the secret is ${process.env["ODD_SECRET"]}`, { isError: true }),
  garbage: () => {
    for (let n = 0; n < 100; n++) process.stdout.write(`not json at all ${n}\n`);
    process.stdout.write(`{"jsonrpc":"2.0","id":99999,"result":{}}\n`);
    return text("after the garbage");
  },
  grow: () => {
    extra.push(`grown-${extra.length + 1}`);
    send({ method: "notifications/tools/list_changed" });
    return text("grown");
  },
  hostile: () => ({
    content: [
      { type: "text", text: "<script>alert(1)</script>" },
      { type: "image", data: "PHN2Zz48L3N2Zz4=", mimeType: "image/svg+xml" },
      { type: "resource_link", uri: "file:///etc/passwd", name: "a link" },
      { type: "text", text: "for the user only", annotations: { audience: ["user"] } },
      { type: "text", text: "for the model only", annotations: { audience: ["assistant"] } },
    ],
  }),
  photo: () => ({
    content: [{ type: "image", data: Buffer.alloc(300_000, 7).toString("base64"), mimeType: "image/jpeg" }],
  }),
  broken: () => ({
    content: [{ type: "image", data: "javascript:alert(1)", mimeType: "image/png" }, { type: "nonsense" }],
  }),
  "ask-url": async () =>
    text(
      JSON.stringify(await ask({ mode: "url", message: "Open", url: "https://x.test", elicitationId: "1" })),
    ),
  "ask-name": async () => text(JSON.stringify((await ask(NAME_FORM)).result)),
  "ask-odd": async () =>
    text(
      JSON.stringify(
        (
          await ask({
            message: "?",
            requestedSchema: { type: "object", properties: { o: { type: "object" } } },
          })
        ).result ?? "refused",
      ),
    ),
  "ask-later": () => {
    setTimeout(
      () => void ask(NAME_FORM).then(({ result }) => received.push(`later ${JSON.stringify(result)}`)),
      50,
    );
    return text("asked later");
  },
};

function listed(): object[] {
  const plain = { type: "object", properties: {} };
  const own = [...Object.keys(tools), ...extra].map((name) => ({
    name,
    title: `Odd\u202e ${name}\n${"!".repeat(300)}`,
    description: "Odd",
    inputSchema: plain,
  }));
  const many = Array.from({ length: count }, (_, n) => ({
    name: `tool-${n}`,
    description: `Runs thing number ${n} and returns the result. Use it when the user asks for thing ${n}.`,
    inputSchema: {
      type: "object",
      properties: {
        id: { type: "string", description: "Which one" },
        amount: { type: "integer", minimum: 1, maximum: 100, description: "How many of them" },
        tags: { type: "array", items: { type: "string" }, description: "What to call them" },
      },
      required: ["id"],
    },
  }));
  return count > 0 ? many : own;
}

async function answer({ id, method, params = {} }: Message): Promise<void> {
  if (method === "initialize") {
    const serverInfo = { name: "odd", version: "1" };
    const capabilities = { tools: { listChanged: true } };
    return send({ id, result: { protocolVersion: params["protocolVersion"], capabilities, serverInfo } });
  }
  if (method === "tools/list") {
    const from = Number(params["cursor"] ?? 0);
    const all = listed();
    const nextCursor = from + PAGE < all.length ? { nextCursor: String(from + PAGE) } : {};
    return send({ id, result: { tools: all.slice(from, from + PAGE), ...nextCursor } });
  }
  if (method === "tools/call") {
    const run = tools[String(params["name"])];
    const result = run === undefined ? text("grown tool") : await run((params["arguments"] ?? {}) as never);
    return result === null ? undefined : send({ id, result });
  }
  send({ id, error: { code: -32601, message: "no such method" } });
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line) as Message;
  if (mode === "silent") return;
  if (mode === "silent-list" && message.method === "tools/list") return;
  if (message.method === undefined) return answers.get(String(message.id))?.(message);
  if (message.id === undefined) return void received.push(message.method);
  void answer(message);
});
// Does not exit when its input ends, so that the client has to kill it.
if (mode === "stubborn") {
  process.on("SIGTERM", () => {});
  setInterval(() => {}, 1_000);
}
