/**
 * This program is the flooding tenant of the fairness bench: one user who sends messages, files and socket
 * connections as fast as the server takes them. It reports what the server has taken.
 *
 * Invariant: every client sends its next request when the previous one is answered, so the load adapts to the server
 * and always fills it. A refused request is counted and repeated.
 */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { deflateSync } from "node:zlib";
import { connectParent, readSettings } from "@turnstream/testkit/processes/parent-process.ts";
import { ChatSocket, type ChatUser } from "../chat-socket.ts";

export interface FloodSize {
  /** Sessions that send a message as soon as the last one is answered, and how many share a socket. */
  readonly sessions: number;
  readonly sessionsPerSocket: number;
  /** Messages with 20 slow addresses each. */
  readonly slowMessages: number;
  /** Sessions that send PDFs whose text takes seconds to extract, and PDFs in each message. */
  readonly pdfSessions: number;
  readonly pdfsPerMessage: number;
  /** Sockets that stay open, and clients that open and close sockets. */
  readonly openSockets: number;
  readonly socketOpeners: number;
}

export interface FloodCounts {
  readonly turns: number;
  readonly files: number;
  readonly sockets: number;
  readonly refused: number;
}

export type FloodRequest =
  | { readonly start: FloodSize; readonly by: ChatUser }
  | { readonly measure: true }
  | { readonly exit: true };
export type FloodMessage =
  | { readonly slowFiles: string }
  | { readonly started: true }
  | { readonly counts: FloodCounts };

const SLOW_FILES = 20;
/** A refused client waits this long, as any program must that does not only occupy itself. */
const PAUSE_MS = 20;
const SHOWN_TEXTS = 400_000;

readSettings();
const parent = connectParent<FloodRequest, FloodMessage>();
const counts = { turns: 0, files: 0, sockets: 0, refused: 0 };
/** Sends one byte a second, like a server on a bad line. */
const slow = createServer((_, response) => {
  response.writeHead(200, { "content-type": "text/plain" });
  const timer = setInterval(() => response.write("x"), 1_000);
  response.on("close", () => clearInterval(timer));
});
await new Promise<void>((resolve) => slow.listen(0, "127.0.0.1", resolve));
const slowFiles = `127.0.0.1:${(slow.address() as AddressInfo).port}`;

async function repeat(work: () => Promise<void>): Promise<never> {
  while (true) {
    try {
      await work();
    } catch {
      counts.refused++;
      await sleep(PAUSE_MS);
    }
  }
}

/** Opens everything before the first request, because the flood would delay its own start. */
async function flood(size: FloodSize, by: ChatUser): Promise<void> {
  const starts: (() => Promise<never>)[] = [];
  for (let n = 0; n < size.sessions; n += size.sessionsPerSocket) {
    const client = await ChatSocket.open(by);
    for (const session of await createSessions(client, size.sessionsPerSocket))
      starts.push(() => sendMessages(client, session));
  }
  const client = await ChatSocket.open(by);
  for (const session of await createSessions(client, size.slowMessages))
    starts.push(() => sendSlowFiles(client, session));
  for (const session of await createSessions(client, size.pdfSessions))
    starts.push(() => sendPdfs(client, session, size));
  const session = await client.createSession();
  const open = async (): Promise<void> => (await ChatSocket.open(by)).subscribe(session);
  for (let n = 0; n < size.openSockets; n++) await open().catch(() => counts.refused++);
  for (let n = 0; n < size.socketOpeners; n++) starts.push(() => openSockets(by, session));
  for (const start of starts) void start();
}

async function createSessions(client: ChatSocket, count: number): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, () => client.createSession()));
}

function sendMessages(client: ChatSocket, session: string): Promise<never> {
  return repeat(async () => {
    await client.ask(session, "Continue.");
    counts.turns++;
  });
}

function sendSlowFiles(client: ChatSocket, session: string): Promise<never> {
  return repeat(async () => {
    const urls = Array.from({ length: SLOW_FILES }, (_, n) => `http://${slowFiles}/${n}`);
    await client.ask(session, "Read.", urls);
    counts.files += urls.length;
  });
}

function sendPdfs(client: ChatSocket, session: string, { pdfsPerMessage }: FloodSize): Promise<never> {
  const pdf = slowPdf();
  return repeat(async () => {
    const urls: string[] = [];
    for (let n = 0; n < pdfsPerMessage; n++) {
      const path = `/sessions/${session}/files?name=${randomUUID()}.pdf`;
      urls.push(String((await client.post(path, pdf, "application/pdf"))["url"]));
    }
    await client.ask(session, "Read.", urls);
    counts.files += urls.length;
  });
}

function openSockets(by: ChatUser, session: string): Promise<never> {
  return repeat(async () => {
    const client = await ChatSocket.open(by);
    await client.subscribe(session);
    client.close();
    counts.sockets++;
  });
}

/** A small file whose text takes seconds of CPU time to extract. */
function slowPdf(): Buffer<ArrayBuffer> {
  const text = deflateSync(`BT /F1 12 Tf ${"(aaaaaaaaaa) Tj ".repeat(SHOWN_TEXTS)}ET`);
  const parts = [
    "%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n",
    "2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n",
    "3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 5 0 R ",
    "/Resources << /Font << /F1 4 0 R >> >> >>\nendobj\n",
    "4 0 obj\n<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>\nendobj\n",
    `5 0 obj\n<< /Length ${text.length} /Filter /FlateDecode >>\nstream\n`,
    text,
    "\nendstream\nendobj\ntrailer\n<< /Size 6 /Root 1 0 R >>\n%%EOF",
  ];
  return Buffer.concat(parts.map((part) => Buffer.from(part)));
}

parent.onMessage((request) => {
  if ("start" in request) void flood(request.start, request.by).then(() => parent.send({ started: true }));
  else if ("measure" in request) parent.send({ counts: { ...counts } });
  else process.exit();
});
parent.send({ slowFiles });
