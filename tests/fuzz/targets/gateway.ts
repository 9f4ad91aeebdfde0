/**
 * `bodies` and `frames` send generated bodies and frames to a gateway in its own process, over HTTP and WebSocket.
 * Invariant: an internal error, status 500 or the end of the process counts as a crash.
 */
import { MeasuredGateway } from "@turnstream/testkit/gateway/measured-gateway.ts";
import { socketCommands } from "../../../packages/protocol/src/commands/socket.ts";
import fc from "fast-check";
import { WebSocket } from "ws";
import { objectWith } from "../arbitraries.ts";
import { type CaseResult, generate, type Target } from "../target.ts";

/** Some routes wait for a turn, and no worker runs. */
const TIMEOUT_MS = 1_000;

const FIELDS = [
  ...new Set(
    Object.values(socketCommands).flatMap((schema) => Object.keys((schema as { shape: object }).shape)),
  ),
  "message",
  "stream",
  "objects",
  "metadata",
  "title",
  "user_id",
  "scopes",
  "seconds",
  "url",
  "events",
  "pinned",
  "expires_in_seconds",
  "__proto__",
];

const ROUTES: readonly (readonly [method: "POST" | "PUT" | "PATCH", path: string, fixed?: object])[] = [
  ["POST", "/sessions"],
  ["PATCH", "/sessions/{session}"],
  ["POST", "/sessions/{session}/messages", { text: "x" }],
  ["POST", "/sessions/{session}/messages", { text: "x", resume_form_request_id: "form" }],
  ["POST", "/chats/{session}/messages", { message: "x" }],
  ["POST", "/sessions/{session}/stop"],
  ["POST", "/sessions/{session}/shares"],
  ["POST", "/sessions/{session}/interactions/{approval}/decide", { decision: "edit" }],
  ["POST", "/sessions/{session}/interactions/{approval}/answer"],
  ["POST", "/sessions/{session}/interactions/form/submit"],
  ["PUT", "/sessions/{session}/interactions/form/draft"],
  ["POST", "/knowledge/k/objects"],
  ["POST", "/tokens", { user_id: "u" }],
  ["POST", "/tickets"],
  ["POST", "/webhooks", { url: "https://x.example/" }],
];

const body = fc
  .constantFrom(...ROUTES)
  .chain(([method, path, fixed = {}]) =>
    objectWith(FIELDS, fixed as Record<string, unknown>).map((text) => ({ method, path, text })),
  );

/** An import with one object, whose text is read in all formats. */
const knowledge = fc
  .tuple(fc.constantFrom("a", "a.md", "a.html", "a.json", "a.csv"), objectWith(["x"]))
  .map(([id, text]) => ({
    method: "POST" as const,
    path: "/knowledge/k/objects",
    text: JSON.stringify({ objects: [{ id, text: text.slice(0, 900_000) }] }),
  }));

const frame = fc.constantFrom(...Object.keys(socketCommands)).chain((type) =>
  objectWith(FIELDS, {
    type,
    session_id: "{session}",
    ...(type === "send" ? { client_message_id: "c", text: "x" } : {}),
  }),
);

async function crashOf(
  gateway: MeasuredGateway,
  before: number,
  work: () => Promise<number>,
): Promise<CaseResult> {
  let status = 0;
  const usedMs = await Promise.race([
    gateway.measure("longest", async () => {
      status = await work();
    }),
    gateway.exited.then(() => null),
  ]);
  if (usedMs === null) return { usedMs: 0, crash: "the gateway exited" };
  const failure = gateway.failures[before] ?? (status === 500 ? "status 500" : undefined);
  return { usedMs, ...(failure === undefined ? {} : { crash: failure }) };
}

export const bodies: Target = {
  name: "bodies",
  about: "bodies of HTTP requests, and knowledge imports",
  async open() {
    const gateway = await MeasuredGateway.launch();
    const { url, auth, session, approvals } = gateway.fixtures;
    return {
      async runCase(seed) {
        const { method, path, text } = generate(fc.oneof({ weight: 4, arbitrary: body }, knowledge), seed);
        const address = `${url}/api/v1${path.replace("{session}", session).replace("{approval}", approvals[0])}`;
        return crashOf(gateway, gateway.failures.length, async () => {
          try {
            const response = await fetch(address, {
              method,
              headers: { ...auth, "content-type": "application/json" },
              body: text,
              signal: AbortSignal.timeout(TIMEOUT_MS),
            });
            await response.body?.cancel();
            return response.status;
          } catch {
            return 0;
          }
        });
      },
      close: () => gateway.kill(),
    };
  },
};

export const frames: Target = {
  name: "frames",
  about: "frames of WebSockets",
  async open() {
    const gateway = await MeasuredGateway.launch();
    const { url, auth, session } = gateway.fixtures;
    return {
      async runCase(seed) {
        const text = generate(frame, seed).replace("{session}", session);
        const socket = new WebSocket(`${url.replace("http", "ws")}/api/v1/socket`, { headers: { ...auth } });
        socket.on("error", () => undefined);
        const isOpen = await new Promise<boolean>((resolve) => {
          socket.once("open", () => resolve(true));
          socket.once("close", () => resolve(false));
        });
        if (!isOpen) return { usedMs: 0, crash: "the socket could not be opened" };
        const result = await crashOf(gateway, gateway.failures.length, async () => {
          const replied = new Promise<void>((resolve) => {
            socket.once("message", () => resolve());
            socket.once("close", () => resolve());
            setTimeout(resolve, TIMEOUT_MS).unref();
          });
          socket.send(text);
          await replied;
          return 0;
        });
        socket.terminate();
        return result;
      },
      close: () => gateway.kill(),
    };
  },
};
