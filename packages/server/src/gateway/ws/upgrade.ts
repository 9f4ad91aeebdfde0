/** The upgrade of a connection to a socket: lets in whom `admit` admits, and answers the others by HTTP in the one shape. */
import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { BASE, SOCKET } from "../http/base.ts";
import type { HttpAnswer } from "../http/messages.ts";
import { type Door, refusal } from "../http/handle-request.ts";
import { type Admitted, admit } from "./authorize.ts";

/** Takes a connection over, from the upgrade on. */
export type OpenSocket = (
  admitted: Admitted,
  upgrade: { readonly incoming: IncomingMessage; readonly socket: Duplex; readonly head: Buffer },
) => void;

/** @returns whether the address is ours; anything else is left alone */
export function upgrade(
  door: Door,
  open: OpenSocket,
  { incoming, socket, head }: Parameters<OpenSocket>[1],
  prefix: string,
): boolean {
  const url = URL.parse(incoming.url ?? "", "http://here");
  if (url?.pathname !== `${prefix}${BASE}${SOCKET}`) return false;
  void letIn(door, open, url.searchParams, { incoming, socket, head });
  return true;
}

async function letIn(
  door: Door,
  open: OpenSocket,
  search: URLSearchParams,
  taken: Parameters<OpenSocket>[1],
): Promise<void> {
  const { incoming, socket } = taken;
  socket.on("error", ignore);
  try {
    const admitted = await admit(door, incoming, { search, from: door.addressOf(incoming) });
    if (!socket.destroyed) open(admitted, taken);
  } catch (error) {
    refuse(door, socket, error);
  } finally {
    if (!socket.writableEnded) socket.off("error", ignore);
  }
}

/** Whoever leaves while we ask who they are. */
function ignore(): void {}

export function refuse(door: Pick<Door, "parts">, socket: Duplex, error: unknown): void {
  answerBare(socket, refusal(door.parts, error));
}

/** Written by hand: at an upgrade, and for what is no request, Node gives the bare connection. */
export function answerBare(socket: Duplex, { status, headers, body }: HttpAnswer): void {
  const text = body !== null && "whole" in body ? body.whole : "";
  const lines = Object.entries({
    ...headers,
    "content-length": String(Buffer.byteLength(text)),
    connection: "close",
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  // Whoever has left hears nothing, and without a listener that would end the process.
  socket.on("error", ignore);
  // Whoever doesn't hang up is not waited for.
  socket.once("finish", () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n${String(text)}`);
}
