/**
 * `freePort` finds an unused port of 127.0.0.1. It does not listen on the port, so the caller must take it soon.
 *
 * Invariant: no port is returned twice, in any of our processes, while the process that received it lives.
 */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer, type ListenOptions, type Server } from "node:net";

import { ServiceError } from "../servers/service-error.ts";

export const HOST = "127.0.0.1";

/**
 * Below the range of ports for outgoing connections. Otherwise the port of a stopped server could be assigned to a
 * client, and the server could not restart. A client that reconnects to that port in a loop could even connect to
 * itself.
 */
const FIRST = 12_000;
const LAST = 31_999;
const TRIES = 200;

async function listening(where: ListenOptions): Promise<Server | null> {
  const server = createServer();
  server.listen({ ...where, exclusive: true });
  try {
    await once(server, "listening");
  } catch {
    return null;
  }
  return server;
}

/**
 * Claims an abstract socket name, which only one process can have and which needs no file. The system releases it when
 * the process ends, also after kill -9. Checking the port alone is not enough: other tests would receive the port of a
 * server that is being started or restarted.
 */
async function isOurs(port: number): Promise<boolean> {
  const name = await listening({ path: `\0turnstream-port-${port}` });
  name?.unref();
  return name !== null;
}

/** Whether a server could listen on the port now. */
export async function isFree(port: number): Promise<boolean> {
  const server = await listening({ host: HOST, port });
  if (server === null) return false;
  server.close();
  await once(server, "close");
  return true;
}

export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(FIRST, LAST + 1);
    if ((await isOurs(port)) && (await isFree(port))) return port;
  }
  throw new ServiceError(
    "start_failed",
    `no free port between ${FIRST} and ${LAST} on ${HOST} in ${TRIES} tries`,
  );
}
