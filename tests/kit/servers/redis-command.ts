/**
 * `redisCommand` sends one command over its own connection, with a minimal implementation of Redis's protocol.
 *
 * Invariant: it never repeats a command and retains no connection, so that it can't affect what a test observes.
 */
import { connect } from "node:net";

import { ServiceError } from "./service-error.ts";
import { HOST } from "../network/free-port.ts";

export type RedisReply = string | number | null | RedisReply[];

/** The server answered with an error. The first word is Redis's error code. */
export class RedisReplyError extends Error {
  override readonly name = "RedisReplyError";
}

interface Read {
  reply: RedisReply | RedisReplyError;
  next: number;
}

const LINE_END = "\r\n";

/** @returns null if more bytes are needed */
function readReply(bytes: Buffer, at: number): Read | null {
  const lineEnd = bytes.indexOf(LINE_END, at);
  if (lineEnd < 0) return null;
  const line = bytes.toString("utf8", at + 1, lineEnd);
  const next = lineEnd + LINE_END.length;
  switch (String.fromCharCode(bytes[at] ?? 0)) {
    case "+":
      return { reply: line, next };
    case "-":
      return { reply: new RedisReplyError(line), next };
    case ":":
      return { reply: Number(line), next };
    case "$": {
      const end = next + Number(line);
      if (end < next) return { reply: null, next };
      if (bytes.length < end + LINE_END.length) return null;
      return { reply: bytes.toString("utf8", next, end), next: end + LINE_END.length };
    }
    case "*":
      return readArray(bytes, next, Number(line));
    default:
      throw new RedisReplyError(`not a reply in Redis's protocol: ${bytes.toString("utf8", at, lineEnd)}`);
  }
}

function readArray(bytes: Buffer, at: number, length: number): Read | null {
  if (length < 0) return { reply: null, next: at };
  const replies: RedisReply[] = [];
  let next = at;
  for (let index = 0; index < length; index++) {
    const read = readReply(bytes, next);
    if (read === null || read.reply instanceof RedisReplyError) return read;
    replies.push(read.reply);
    next = read.next;
  }
  return { reply: replies, next };
}

function encode(args: readonly (string | number)[]): string {
  const parts = args.map(String).map((arg) => `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`);
  return `*${args.length}\r\n${parts.join("")}`;
}

export async function redisCommand(
  port: number,
  args: readonly (string | number)[],
  timeoutMs = 30_000,
): Promise<RedisReply> {
  return await new Promise((resolve, reject) => {
    const socket = connect({ host: HOST, port, timeout: timeoutMs });
    const what = `${args[0]} on the Redis at port ${port}`;
    let bytes = Buffer.alloc(0);
    socket.on("data", (chunk) => {
      bytes = Buffer.concat([bytes, chunk]);
      const read = readReply(bytes, 0);
      if (read === null) return;
      if (read.reply instanceof RedisReplyError) reject(read.reply);
      else resolve(read.reply);
      socket.destroy();
    });
    socket.on("timeout", () => {
      reject(new ServiceError("timed_out", `no answer to ${what} within ${timeoutMs} ms`));
      socket.destroy();
    });
    socket.on("error", reject);
    // Has no effect if the answer has already arrived.
    socket.on("close", () => reject(new ServiceError("not_running", `no answer to ${what}: cut off`)));
    socket.write(encode(args));
  });
}
