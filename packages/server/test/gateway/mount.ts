/**
 * `mount` creates the server of a test. With TURNSTREAM_MOUNTING, the gateway is in an Express app with a body parser or in a
 * Fastify app, or it is a fetch handler, so that the attacks of docs/attacks.md can be repeated on each of them.
 */
import { once } from "node:events";
import { createServer as createHttpServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import express from "express";
import fastify from "fastify";
import { createServer, type Server, type ServerOptions } from "../../src/gateway/create-server.ts";
import { createGateway, type Gateway } from "../../src/gateway/gateway.ts";

type AddTo = (gateway: Gateway) => HttpServer | Promise<HttpServer>;

const MOUNTINGS: Readonly<Record<string, AddTo>> = {
  express(gateway) {
    const server = createHttpServer(express().use(express.json()));
    gateway.attach(server);
    return server;
  },
  async fastify(gateway) {
    const app = fastify();
    gateway.attach(app.server);
    await app.ready();
    return app.server;
  },
  fetch(gateway) {
    const sockets = createHttpServer();
    gateway.attach(sockets);
    const listener = getRequestListener(
      (request, { incoming }) =>
        gateway.handle(request, { clientAddress: incoming.socket.remoteAddress ?? "" }),
      { overrideGlobalObjects: false },
    );
    return createHttpServer((incoming, outgoing) => void listener(incoming, outgoing)).on(
      "upgrade",
      (...upgrade) => void sockets.emit("upgrade", ...upgrade),
    );
  },
};

/** For tests of what the standalone server does beside the gateway: its log, its answers to what is not HTTP, its end. */
export const isStandalone = process.env["TURNSTREAM_MOUNTING"] === undefined;

/**
 * False where the host of a fetch handler reads the request line and the client's address, and ends a connection whose body
 * nobody has read.
 */
export const isOnNode = process.env["TURNSTREAM_MOUNTING"] !== "fetch";

export function mount(options: ServerOptions): Server {
  const name = process.env["TURNSTREAM_MOUNTING"];
  if (name === undefined) return createServer(options);
  const addTo = MOUNTINGS[name];
  if (addTo === undefined)
    throw new TypeError(`TURNSTREAM_MOUNTING must be one of ${Object.keys(MOUNTINGS).join(", ")}`);
  const { logger: _, page: __, ...rest } = options;
  return new MountedServer(createGateway(rest), addTo);
}

class MountedServer implements Server {
  readonly #gateway: Gateway;
  readonly #addTo: AddTo;
  #server = createHttpServer();

  constructor(gateway: Gateway, addTo: AddTo) {
    this.#gateway = gateway;
    this.#addTo = addTo;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async listen(): Promise<string> {
    this.#server = await this.#addTo(this.#gateway);
    await once(this.#server.listen(0, "127.0.0.1"), "listening");
    return this.url;
  }

  stats() {
    return this.#gateway.stats();
  }

  async close(): Promise<void> {
    await this.#gateway.close();
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
