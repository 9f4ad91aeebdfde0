/**
 * A local HTTP server that plays a model provider: it answers each request as it was told to, with every fault that a
 * provider or the way to it can have, and keeps what it was sent. Which wire it speaks comes from openai-server.ts or
 * anthropic-server.ts. Never knows any SDK.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

import { freePort, HOST } from "../network/free-port.ts";

type ReplyPart =
  | { readonly type: "thinking"; readonly text: string; readonly signature?: string }
  | { readonly type: "text"; readonly text: string }
  /** `input` as JSON text, which may be bad. */
  | { readonly type: "call"; readonly id: string; readonly name: string; readonly input: string };

export interface ReplyError {
  readonly type: string;
  readonly message: string;
  readonly code?: string;
}

/** What a request is answered with. Without any fault: a complete stream. */
export interface Reply {
  readonly parts?: readonly ReplyPart[];
  readonly stop?: "end" | "length" | "refusal";
  readonly usage?: { readonly input: number; readonly output: number };
  /** How many characters come in one delta. Default: 5. */
  readonly chunk?: number;
  /** Instead of a stream: this status, with `error` as its body. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly error?: ReplyError;
  /** Instead of any answer: nothing, and the connection stays. */
  readonly isSilent?: boolean;
  /** The socket is destroyed after so many bytes of the body. */
  readonly cutAfterBytes?: number;
  /** What happens instead of the event of this number, counted from 0. */
  readonly at?: { readonly event: number; readonly do: "garbage" | "error" | "end" | "stall" };
  /** One byte at a time. */
  readonly isBytewise?: boolean;
  /** A pause before each event. */
  readonly paceMs?: number;
  /** How long after the last event the answer ends. */
  readonly lingerMs?: number;
}

interface ModelRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The JSON that was sent. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** How a provider writes. */
export interface Wire {
  /** Where its API begins, for the base URL of the SDK. */
  readonly basePath: string;
  /** The events of a stream, as they go over the wire; null for a path that it doesn't have. */
  frames(request: ModelRequest, reply: Reply): readonly string[] | null;
  errorFrame(request: ModelRequest, error: ReplyError): string;
  errorBody(error: ReplyError): unknown;
}

export type CreateReply = (request: ModelRequest, index: number) => Reply;

export interface ModelServer {
  readonly baseUrl: string;
  /** In the order in which they came. */
  readonly requests: readonly ModelRequest[];
  /** Answers the next requests, before what the server was started with is asked again. */
  enqueue(...replies: Reply[]): void;
  /** Requests whose answer has neither ended nor been given up. */
  readonly running: number;
  /** Connections since the start. */
  readonly accepted: number;
  close(): Promise<void>;
}

const DEFAULT_ERROR: ReplyError = { type: "api_error", message: "it went wrong on purpose" };

export async function startModelServer(wire: Wire, replying: CreateReply): Promise<ModelServer> {
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

  const server = createServer({ noDelay: true }, (incoming, response) => {
    answer(incoming, response).catch(() => incoming.socket.destroy());
  });
  server.on("connection", (socket: Socket) => {
    accepted += 1;
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.listen({ host: HOST, port, exclusive: true });
  await once(server, "listening");

  return {
    baseUrl: `http://${HOST}:${port}${wire.basePath}`,
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
      // Each piece is handed to the system before the next, so it also arrives on its own.
      await new Promise<void>((resolve) => void response.write(piece, () => resolve()));
      if (left <= 0) return void response.socket?.destroy();
    }
  }
  if (reply.lingerMs !== undefined) await sleep(reply.lingerMs);
  if (!isStalled) response.end();
}

/** The deltas of a text. */
export function cutText(text: string, size = 5): readonly string[] {
  const characters = Array.from(text);
  const pieces: string[] = [];
  for (let from = 0; from < characters.length; from += size)
    pieces.push(characters.slice(from, from + size).join(""));
  return pieces;
}
