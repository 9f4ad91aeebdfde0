/** Connections that mean ill, byte by byte: whatever they send, the process lives, holds little, and answers the others. */
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openServer, type TestServer } from "./server.ts";

let server: TestServer;
const sockets: Socket[] = [];

beforeEach(async () => {
  server = await openServer();
});

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.close();
});

function open(): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1", () => resolve(socket));
    socket.on("error", () => undefined);
    sockets.push(socket);
  });
}

function head(line: string, headers: Readonly<Record<string, string>>): string {
  const all = { host: new URL(server.url).host, ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${line} HTTP/1.1\r\n${lines.join("")}\r\n`;
}

const UPGRADE = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
};

describe("at the door", () => {
  test.for(["/nowhere", "/api/v1/socket", "/api/v1/socket?ticket=x"])(
    "who asks for a socket at %s and is gone at once ends nothing",
    async (path) => {
      for (let n = 0; n < 50; n++) {
        const socket = await open();
        socket.write(head(`GET ${path}`, UPGRADE));
        socket.resetAndDestroy();
      }
      // An error that nobody listens to comes a little later, and fails the run.
      await sleep(50);
      expect((await server.ask("GET", "/sessions")).status).toBe(200);
    },
  );
});
