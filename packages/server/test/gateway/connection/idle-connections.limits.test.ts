/**
 * Tests which objects an idle connection retains, counted in the heap after a full collection. There are thousands of
 * idle connections, so objects that only a start or a command needs must be released. `npm run bench -- gateway`
 * measures the memory.
 */
import { get, type IncomingMessage, type ServerResponse } from "node:http";
import { EventEmitter, once } from "node:events";
import { queryObjects } from "node:v8";
import { afterAll, afterEach, expect, test } from "vitest";
import { fromNodeRequest } from "../../../src/gateway/http/node-request.ts";
import { CommandQueue } from "../../../src/gateway/ws/command-queue.ts";
import { SocketClient } from "../clients.ts";
import { openServer, type TestServer } from "../test-server.ts";

const MANY = 20;

let server: TestServer;
const closing: (() => void)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) close();
  await server.close();
});

async function newSession(): Promise<string> {
  return (await server.request("POST", "/sessions", { body: {} })).json.session_id as string;
}

/** Without `fetch`, which creates such objects itself. */
async function openStream(session: string): Promise<void> {
  const request = get(`${server.url}/api/v1/sessions/${session}/events`, {
    headers: server.auth,
    agent: false,
  });
  request.on("error", () => undefined);
  closing.push(() => request.destroy());
  const [response] = (await once(request, "response")) as [IncomingMessage];
  let text = "";
  response.on("error", () => undefined);
  response.on("data", (chunk) => (text += String(chunk)));
  await expect.poll(() => text, { timeout: 60_000 }).toContain("subscribed");
}

// Node warns that queryObjects is experimental. A warning with a listener does not fail the run.
const ignoreWarning = (): void => undefined;
process.on("warning", ignoreWarning);
afterAll(() => void process.off("warning", ignoreWarning));

test("a started event stream retains no AbortController of its start", async () => {
  server = await openServer();
  const sessions = await Promise.all(Array.from({ length: MANY }, newSession));
  const before = queryObjects(AbortController, { format: "count" });
  await Promise.all(sessions.map(openStream));
  // One belongs to the feed of its session.
  expect(queryObjects(AbortController, { format: "count" }) - before).toBeLessThanOrEqual(MANY * 1.5);
});

test("a socket without pending commands retains no command queue", async () => {
  server = await openServer(undefined, { limits: { heartbeatMs: 100 } });
  const client = await SocketClient.open(server);
  closing.push(() => client.close());
  await client.request({ type: "subscribe", session_id: await newSession() });
  // Each look collects the garbage of the process, which takes seconds on a busy machine.
  await expect.poll(() => queryObjects(CommandQueue, { format: "count" }), { timeout: 120_000 }).toBe(0);
});

test("the signal of a request is aborted if it is read after the client left", async () => {
  server = await openServer();
  const outgoing = Object.assign(new EventEmitter(), { destroyed: false, writableFinished: false });
  const incoming = { method: "GET", headers: {} } as IncomingMessage;
  const request = () =>
    fromNodeRequest(incoming, outgoing as unknown as ServerResponse, { url: "/", from: "here" });
  const early = request().signal;
  expect(early.aborted).toBe(false);
  const late = request();
  outgoing.destroyed = true;
  outgoing.emit("close");
  expect([early.aborted, late.signal.aborted]).toEqual([true, true]);
});
