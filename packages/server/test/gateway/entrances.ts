/**
 * `ENTRANCES` opens a gateway behind each of its entrances: Fastify, the standalone server, a Node server, the fetch
 * handler, a unix socket, event streams and WebSockets. All of them have the same commands.
 */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer as createHttpServer, type IncomingMessage, request as httpRequest } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { QuestionAnswer } from "@turnstream/protocol";
import { fastify } from "fastify";
import { WebSocket } from "ws";
import { createServer } from "../../src/gateway/create-server.ts";
import { createGateway } from "../../src/gateway/gateway.ts";
import type { GatewayOptions } from "../../src/gateway/options.ts";
import { SocketClient, StreamClient } from "./clients.ts";
import { ownApp } from "./examples/in-fastify.ts";
import { nodeApp } from "./examples/in-node.ts";

export interface Entrance {
  createSession(id: string): Promise<void>;
  /** Resolves when the entrance replies, which can be at the end of the turn. */
  send(session: string, text: string): Promise<void>;
  /** @returns the receipt */
  stop(session: string): Promise<string>;
  decide(session: string, key: string, decision: object): Promise<void>;
  answer(session: string, key: string, answers: readonly QuestionAnswer[]): Promise<void>;
  submit(session: string, form: string, values: object): Promise<void>;
  /** @returns the id of the file */
  upload(session: string, bytes: Uint8Array<ArrayBuffer>): Promise<string>;
  close(): Promise<void>;
}

type Auth = Readonly<Record<string, string>>;
type OpenEntrance = (options: GatewayOptions, auth: Auth) => Promise<Entrance>;

interface CallInit {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body: string | Uint8Array<ArrayBuffer>;
}

// oxlint-disable-next-line typescript/no-explicit-any -- tests inspect arbitrary responses
type Call = (path: string, init: CallInit) => Promise<{ readonly status: number; readonly json: any }>;

function at(session: string, rest: string): string {
  return `/sessions/${encodeURIComponent(session)}/${rest}`;
}

function interaction(session: string, key: string, verb: string): string {
  return at(session, `interactions/${encodeURIComponent(key)}/${verb}`);
}

/** The commands over HTTP, whatever carries the requests. */
function httpEntrance(call: Call, auth: Auth, close: () => Promise<unknown>): Entrance {
  const post = async (path: string, body: object | Uint8Array<ArrayBuffer>) => {
    const isBytes = body instanceof Uint8Array;
    const headers = { ...auth, "content-type": isBytes ? "text/plain" : "application/json" };
    const init = { method: "POST", headers, body: isBytes ? body : JSON.stringify(body) };
    const { status, json } = await call(`/api/v1${path}`, init);
    if (status >= 300) throw new Error(`POST ${path}: ${status} ${JSON.stringify(json)}`);
    return json;
  };
  return {
    createSession: (id) => post("/sessions", { session_id: id }),
    send: (session, text) => post(at(session, "messages"), { text }),
    stop: async (session) => (await post(at(session, "stop"), {})).receipt,
    decide: (session, key, decision) => post(interaction(session, key, "decide"), decision),
    answer: (session, key, answers) => post(interaction(session, key, "answer"), { answers }),
    submit: (session, form, values) => post(interaction(session, form, "submit"), { values }),
    upload: async (session, bytes) => (await post(at(session, "files?name=a.txt"), bytes)).id,
    async close() {
      await close();
    },
  };
}

const fetchFrom =
  (url: string): Call =>
  async (path, init) => {
    const response = await fetch(`${url}${path}`, init);
    return { status: response.status, json: await response.json() };
  };

const callUnixSocket =
  (socketPath: string): Call =>
  async (path, { method, headers, body }) => {
    const request = httpRequest({ socketPath, path, method, headers, agent: false });
    request.end(body);
    const [response] = (await once(request, "response")) as [IncomingMessage];
    const text = (await response.toArray()).join("");
    return { status: response.statusCode ?? 0, json: JSON.parse(text) as unknown };
  };

/** Messages as streams. An event stream carries no commands, so the others are requests. */
function streamEntrance(url: string, auth: Auth, close: () => Promise<unknown>): Entrance {
  const streams: StreamClient[] = [];
  return {
    ...httpEntrance(fetchFrom(url), auth, async () => {
      for (const stream of streams) stream.disconnect();
      await close();
    }),
    async send(session, text) {
      const path = `${url}/api/v1/sessions/${encodeURIComponent(session)}`;
      const followed = await StreamClient.open(`${path}/events?dialect=native`, { headers: { ...auth } });
      await followed.frame("subscribed");
      const answer = await StreamClient.open(`${path}/messages`, {
        method: "POST",
        headers: { ...auth, "content-type": "application/json" },
        body: JSON.stringify({ text, stream: true }),
      });
      streams.push(followed, answer);
      await Promise.all([followed.frame("turn.start"), answer.frame("response.created")]);
    },
  };
}

/** Commands over a socket. Sessions are created and files are uploaded over HTTP. */
function socketEntrance(http: Entrance, client: SocketClient): Entrance {
  const command = async (fields: object) => {
    const reply = await client.request({ ...fields });
    if (reply["type"] !== "ack") throw new Error(`${JSON.stringify(fields)}: ${JSON.stringify(reply)}`);
    return reply;
  };
  return {
    ...http,
    async send(session_id, text) {
      await command({ type: "send", session_id, client_message_id: crypto.randomUUID(), text });
    },
    stop: async (session_id) => (await command({ type: "stop", session_id }))["receipt"] as string,
    async decide(session_id, approval_key, decision) {
      await command({ type: "decide", session_id, approval_key, ...decision });
    },
    async answer(session_id, approval_key, answers) {
      await command({ type: "answer", session_id, approval_key, answers });
    },
    async submit(session_id, form_request_id, values) {
      await command({ type: "submit", session_id, form_request_id, values });
    },
    async close() {
      client.close();
      await http.close();
    },
  };
}

async function openStandalone(options: GatewayOptions) {
  const server = createServer(options);
  return { url: await server.listen(), close: () => server.close() };
}

async function openUnixSocket(options: GatewayOptions) {
  const folder = mkdtempSync(join(tmpdir(), "entrance-"));
  const path = join(folder, "gateway.sock");
  const app = await ownApp(options);
  await app.listen({ path });
  const close = async () => {
    await app.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { path, close };
}

export const ENTRANCES: readonly (readonly [name: string, open: OpenEntrance])[] = [
  [
    "Fastify",
    async (options, auth) => {
      const gateway = createGateway(options);
      const app = fastify({
        serverFactory(handler) {
          const server = createHttpServer(handler);
          gateway.attach(server, { prefix: "/chat" });
          return server;
        },
      });
      app.addHook("preClose", () => gateway.close());
      const url = await app.listen({ host: "127.0.0.1", port: 0 });
      return httpEntrance(fetchFrom(`${url}/chat`), auth, () => app.close());
    },
  ],
  [
    "createServer",
    async (options, auth) => {
      const { url, close } = await openStandalone(options);
      return httpEntrance(fetchFrom(url), auth, close);
    },
  ],
  [
    "Node",
    async (options, auth) => {
      const { gateway, server } = nodeApp(options, 0);
      if (!server.listening) await once(server, "listening");
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      return httpEntrance(fetchFrom(url), auth, async () => {
        await gateway.close();
        server.close();
        server.closeAllConnections();
      });
    },
  ],
  ...["fetch handler", "fetch handler with an address"].map((name): (typeof ENTRANCES)[number] => [
    name,
    async (options, auth) => {
      const gateway = createGateway(options);
      // The address of a link-local client contains the name of a network interface.
      const context = name === "fetch handler" ? undefined : { clientAddress: "fe80::1%eth0" };
      const call: Call = async (path, init) => {
        const response = await gateway.handle(new Request(`http://gateway${path}`, init), context);
        return { status: response.status, json: await response.json() };
      };
      return httpEntrance(call, auth, () => gateway.close());
    },
  ]),
  [
    "unix socket",
    async (options, auth) => {
      const { path, close } = await openUnixSocket(options);
      return httpEntrance(callUnixSocket(path), auth, close);
    },
  ],
  [
    "unix socket behind a proxy",
    async (options, auth) => {
      const { path, close } = await openUnixSocket({ ...options, trustProxy: true });
      const headers = { ...auth, "x-forwarded-for": '"unknown host"' };
      return httpEntrance(callUnixSocket(path), headers, close);
    },
  ],
  [
    "event stream",
    async (options, auth) => {
      const { url, close } = await openStandalone(options);
      return streamEntrance(url, auth, close);
    },
  ],
  [
    "WebSocket",
    async (options, auth) => {
      const { url, close } = await openStandalone(options);
      return socketEntrance(
        httpEntrance(fetchFrom(url), auth, close),
        await SocketClient.open({ url, auth }, { dialect: "native" }),
      );
    },
  ],
  [
    "WebSocket over a unix socket",
    async (options, auth) => {
      const { path, close } = await openUnixSocket(options);
      const socket = new WebSocket("ws://gateway/api/v1/socket?dialect=native", {
        headers: { ...auth },
        createConnection: () => connect(path),
      });
      return socketEntrance(httpEntrance(callUnixSocket(path), auth, close), await SocketClient.of(socket));
    },
  ],
];
