/**
 * Finds a port of 127.0.0.1 that nobody listens on. Never holds it, so whoever asked has to take it soon; but
 * never gives one out twice.
 */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

import { ServiceError } from "./errors.ts";

export const HOST = "127.0.0.1";

/**
 * Below the ports that the system gives to outgoing connections. While a server is down its port could else
 * be given to a client, which would keep the server from coming back; a client that reconnects to it in a
 * loop would sooner or later even be connected to itself.
 */
const FIRST = 12_000;
const LAST = 31_999;
const TRIES = 200;

const given = new Set<number>();

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  server.listen({ host: HOST, port, exclusive: true });
  try {
    await once(server, "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}

export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(FIRST, LAST + 1);
    if (given.has(port)) continue;
    given.add(port);
    if (await isFree(port)) return port;
  }
  throw new ServiceError(
    "start_failed",
    `no free port between ${FIRST} and ${LAST} on ${HOST} in ${TRIES} tries`,
  );
}
