/**
 * Finds a port of 127.0.0.1 that nobody listens on. Never holds the port itself, so whoever asked has to take it soon;
 * but never gives one out twice, whichever of our processes asks, for as long as the one it was given to lives.
 */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer, type ListenOptions, type Server } from "node:net";

import { ServiceError } from "../servers/service-error.ts";

export const HOST = "127.0.0.1";

/**
 * Below the ports that the system gives to outgoing connections. While a server is down its port could else
 * be given to a client, which would keep the server from coming back; a client that reconnects to it in a
 * loop would sooner or later even be connected to itself.
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
 * A name that one process can have, without a file: the system takes it back when the process ends, kill -9 included.
 * A port alone would not do: other tests would be given that of a server which is just being started or restarted.
 */
async function isOurs(port: number): Promise<boolean> {
  const name = await listening({ path: `\0turnstream-port-${port}` });
  name?.unref();
  return name !== null;
}

async function isFree(port: number): Promise<boolean> {
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
