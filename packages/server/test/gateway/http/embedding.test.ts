/** Tests the gateway in the apps of several frameworks, and as a fetch handler: JSON, event streams, disconnects, files and sockets. */
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import express from "express";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createGateway, type Gateway } from "../../../src/gateway/gateway.ts";
import type { GatewayOptions } from "../../../src/gateway/options.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import type { SessionRef } from "../../../src/util/refs.ts";
import { TurnHarness } from "../../engine/turn-harness.ts";
import { SocketClient, StreamClient } from "../clients.ts";
import { honoApp } from "../examples/in-hono.ts";
import { nodeApp } from "../examples/in-node.ts";
import { createMemoryBackend } from "../test-server.ts";

let stage: TurnHarness;
let gateway: Gateway;
let server: Server;
let url: string;
let auth: Record<string, string>;
let ref: SessionRef;

const at = (end: string) => `${url}/api/v1/sessions/${ref.session}${end}`;

/** The gateway as a fetch handler, on a server that converts requests. */
function fetchApp(options: GatewayOptions, port: number) {
  const made = createGateway(options);
  const fetchOf = (request: Request) =>
    new URL(request.url).pathname === "/"
      ? new Response("your own routes stay as they are")
      : made.handle(request);
  return { gateway: made, server: serve({ fetch: fetchOf, port, overrideGlobalObjects: false }) };
}

function expressApp(options: GatewayOptions, port: number) {
  const made = createGateway(options);
  const app = express().use(express.json());
  app.get("/", (_request, response) => void response.send("your own routes stay as they are"));
  const listening = app.listen(port);
  made.attach(listening);
  return { gateway: made, server: listening };
}

describe.each([
  ["a Hono app", honoApp],
  ["a plain Node server", nodeApp],
  ["an Express app", expressApp],
  ["a fetch handler", fetchApp],
])("gateway in %s", (name, appOf) => {
  beforeEach(async () => {
    stage = await TurnHarness.open(createMemoryBackend());
    const model = scriptedModel(({ text }) => [script.text(`You wrote ${text}.`)]);
    await stage.worker([defineAgent({ name: "a", title: false, model })], { leaseTtlMs: 20_000 });
    const mounted = appOf({ ...stage.backend, secrets: ["s".repeat(32)] }, 0);
    gateway = mounted.gateway;
    server = mounted.server as Server;
    if (!server.listening) await once(server, "listening");
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { secret } = await stage.backend.store.keys.create(stage.actor.tenant, { name: "k", scopes: [] });
    auth = { "x-api-key": secret, "x-user-id": stage.actor.user };
    ref = await stage.session();
  });

  afterEach(async () => {
    await gateway.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await stage.close();
  });

  test("serves JSON, errors, and the app's own routes", async () => {
    expect(await (await fetch(url)).text()).toBe("your own routes stay as they are");
    const made = await fetch(`${url}/api/v1/sessions`, {
      method: "POST",
      headers: { ...auth, "content-type": "application/json", "idempotency-key": "once" },
      body: JSON.stringify({ title: "x" }),
    });
    expect([made.status, await made.json()]).toMatchObject([201, { title: "x" }]);
    const refused = await fetch(`${url}/api/v1/sessions`);
    expect([refused.status, await refused.json()]).toMatchObject([401, { error: "UNAUTHENTICATED" }]);
    const deleted = await fetch(at(""), { method: "DELETE", headers: auth });
    expect([deleted.status, await deleted.text()]).toEqual([204, ""]);
  });

  test("answers a message with a stream that ends with [DONE]", async () => {
    const stream = await StreamClient.open(at("/messages"), {
      method: "POST",
      headers: { ...auth, "content-type": "application/json" },
      body: JSON.stringify({ text: "hello", stream: true }),
    });
    await stream.ended();
    expect(stream.frames.at(-1)).toMatchObject({ final_text: "You wrote hello." });
    expect(stream.messages.at(-1)).toMatchObject({ data: "[DONE]" });
    await expect.poll(() => gateway.stats().connections).toBe(0);
  });

  test("ends the subscription when the client leaves a stream", async () => {
    const complained = vi.spyOn(console, "error");
    const stream = await StreamClient.open(at("/events?dialect=native"), { headers: auth });
    await stream.frame("subscribed");
    expect(gateway.stats().connections).toBe(1);
    stream.disconnect();
    await expect.poll(() => gateway.stats().connections, { timeout: 60_000 }).toBe(0);
    // Some time after the last subscriber has left, the feed of the session is closed.
    await expect.poll(() => gateway.stats().sessions, { timeout: 60_000 }).toBe(0);
    expect(complained).not.toHaveBeenCalled();
  });

  test("uploads and downloads a file completely", async () => {
    const bytes = Buffer.alloc(3_000_000, "some bytes of a file, ");
    const headers = { ...auth, "content-type": "text/plain" };
    const sent = await fetch(at("/files?name=a.txt"), { method: "POST", headers, body: bytes });
    const { id, size } = (await sent.json()) as { id: string; size: number };
    expect(size).toBe(bytes.byteLength);
    const got = await fetch(at(`/files/${id}`), { headers: auth });
    expect(Buffer.from(await got.arrayBuffer()).equals(bytes)).toBe(true);
  });

  test.skipIf(name === "a fetch handler")("opens a socket on the same server", async () => {
    const client = await SocketClient.open({ url, auth });
    expect(await client.request({ type: "subscribe", session_id: ref.session })).toMatchObject({
      type: "subscribed",
    });
    client.close();
  });
});
