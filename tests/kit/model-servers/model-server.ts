/**
 * `startModelServer` starts a local HTTP server that acts as a model provider. It answers each request with a scripted
 * reply, including every fault of a provider or its network, and records the requests. openai-server.ts and
 * anthropic-server.ts define the wire format. Uses no SDK.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

import { freePort, HOST } from "../network/free-port.ts";

type ReplyPart =
  | { readonly type: "thinking"; readonly text: string; readonly signature?: string }
  | { readonly type: "text"; readonly text: string }
  /** `input` is JSON text, which may be invalid. */
  | { readonly type: "call"; readonly id: string; readonly name: string; readonly input: string };

export interface ReplyError {
  readonly type: string;
  readonly message: string;
  readonly code?: string;
}

/** The reply to a request. Without a fault it is a complete stream. */
export interface Reply {
  readonly parts?: readonly ReplyPart[];
  readonly stop?: "end" | "length" | "refusal";
  readonly usage?: { readonly input: number; readonly output: number };
  /** Characters per delta. @default 5 */
  readonly chunk?: number;
  /** Sends this status with `error` as its body, instead of a stream. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly error?: ReplyError;
  /** Sends no answer and keeps the connection open. */
  readonly isSilent?: boolean;
  /** Destroys the socket after this many bytes of the body. */
  readonly cutAfterBytes?: number;
  /** Injects a fault instead of the event with this number, counted from 0. */
  readonly at?: { readonly event: number; readonly do: "garbage" | "error" | "end" | "stall" };
  /** Sends one byte at a time. */
  readonly isBytewise?: boolean;
  /** Pause before each event. */
  readonly paceMs?: number;
  /** Delay between the last event and the end of the response. */
  readonly lingerMs?: number;
}

interface ModelRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The request body as parsed JSON. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** The wire format of a provider. */
export interface Wire {
  /** The path of the API, for the base URL of the SDK. */
  readonly basePath: string;
  /** Returns the encoded events of a stream, or null for an unknown path. */
  frames(request: ModelRequest, reply: Reply): readonly string[] | null;
  errorFrame(request: ModelRequest, error: ReplyError): string;
  errorBody(error: ReplyError): unknown;
}

export type CreateReply = (request: ModelRequest, index: number) => Reply;

export interface ModelServer {
  readonly baseUrl: string;
  /** The requests in the order of arrival. */
  readonly requests: readonly ModelRequest[];
  /** Queues replies for the next requests. They come before the replies of the `replying` function. */
  enqueue(...replies: Reply[]): void;
  /** Requests whose response has neither ended nor been aborted. */
  readonly running: number;
  /** Connections since the start. */
  readonly accepted: number;
  close(): Promise<void>;
}

const DEFAULT_ERROR: ReplyError = { type: "api_error", message: "the test requested this error" };

/** A key and its certificate, as PEM. */
export interface TlsIdentity {
  readonly key: string;
  readonly cert: string;
}

/** @param tls serves HTTPS instead of HTTP */
export async function startModelServer(
  wire: Wire,
  replying: CreateReply,
  tls?: TlsIdentity,
): Promise<ModelServer> {
  const port = await freePort();
  const requests: ModelRequest[] = [];
  const queue: Reply[] = [];
  const sockets = new Set<Socket>();
  let running = 0;
  let accepted = 0;

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    running += 1;
    response.once("close", () => (running -= 1));
    const request = await read(incoming);
    const reply = queue.shift() ?? replying(request, requests.length);
    requests.push(request);
    if (reply.isSilent === true) return;
    const frames = reply.status === undefined ? wire.frames(request, reply) : null;
    if (frames === null) {
      const body = JSON.stringify(wire.errorBody(reply.error ?? DEFAULT_ERROR));
      response.writeHead(reply.status ?? 404, { "content-type": "application/json", ...reply.headers });
      response.end(body);
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream", ...reply.headers });
    await send(response, withFault(wire, request, reply, frames), reply);
  }

  const onRequest = (incoming: IncomingMessage, response: ServerResponse): void => {
    answer(incoming, response).catch(() => incoming.socket.destroy());
  };
  const options = { noDelay: true };
  const server =
    tls === undefined ? createServer(options, onRequest) : createTlsServer({ ...options, ...tls }, onRequest);
  server.on("connection", (socket: Socket) => {
    accepted += 1;
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.listen({ host: HOST, port, exclusive: true });
  await once(server, "listening");

  return {
    baseUrl: `${tls === undefined ? "http" : "https"}://${HOST}:${port}${wire.basePath}`,
    requests,
    enqueue: (...replies) => void queue.push(...replies),
    get running() {
      return running;
    },
    get accepted() {
      return accepted;
    },
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, "close");
    },
  };
}

async function read(incoming: IncomingMessage): Promise<ModelRequest> {
  const pieces: Buffer[] = [];
  for await (const piece of incoming) pieces.push(piece as Buffer);
  const body = JSON.parse(Buffer.concat(pieces).toString("utf8")) as ModelRequest["body"];
  return { path: incoming.url ?? "", headers: incoming.headers, body };
}

interface Frames {
  readonly frames: readonly string[];
  readonly isStalled: boolean;
}

function withFault(
  wire: Wire,
  request: ModelRequest,
  { at, error }: Reply,
  frames: readonly string[],
): Frames {
  if (at === undefined) return { frames, isStalled: false };
  const before = frames.slice(0, at.event);
  if (at.do === "garbage") return { frames: [...before, 'data: {"type": "\n\n'], isStalled: false };
  if (at.do === "error") {
    return { frames: [...before, wire.errorFrame(request, error ?? DEFAULT_ERROR)], isStalled: false };
  }
  return { frames: before, isStalled: at.do === "stall" };
}

async function send(response: ServerResponse, { frames, isStalled }: Frames, reply: Reply): Promise<void> {
  let left = reply.cutAfterBytes ?? Infinity;
  response.flushHeaders();
  for (const frame of frames) {
    if (reply.paceMs !== undefined) await sleep(reply.paceMs);
    const bytes = Buffer.from(frame);
    const size = reply.isBytewise === true ? 1 : bytes.length;
    for (let from = 0; from < bytes.length; from += size) {
      if (response.destroyed) return;
      const piece = bytes.subarray(from, Math.min(from + size, from + left, bytes.length));
      left -= piece.length;
      // Wait until the system has accepted a chunk before the next write, so that each chunk arrives separately.
      await new Promise<void>((resolve) => void response.write(piece, () => resolve()));
      if (left <= 0) return void response.socket?.destroy();
    }
  }
  if (reply.lingerMs !== undefined) await sleep(reply.lingerMs);
  if (!isStalled) response.end();
}

/** Splits a text into deltas. */
export function cutText(text: string, size = 5): readonly string[] {
  const characters = Array.from(text);
  const pieces: string[] = [];
  for (let from = 0; from < characters.length; from += size)
    pieces.push(characters.slice(from, from + size).join(""));
  return pieces;
}
