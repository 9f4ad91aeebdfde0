/** Tests each fault of the proxy, between a client and an echo server. */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

import { afterEach, beforeEach, expect, test } from "vitest";

import { HOST } from "./free-port.ts";
import { until } from "../util/until.ts";
import { startProxy, type TcpProxy } from "./tcp-proxy.ts";
import { startRedis } from "../servers/start-redis.ts";
import { redisCommand } from "../servers/redis-command.ts";

interface Recorder {
  server: Server;
  port: number;
  text: string;
  sockets: Set<Socket>;
}

interface Caller {
  socket: Socket;
  text: string;
  closed: boolean;
}

/** Echoes each chunk with `mark` in front. */
async function startEcho(mark: string): Promise<Recorder> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
    socket.on("data", (bytes) => {
      recorder.text += bytes.toString();
      socket.write(mark + bytes.toString());
    });
  });
  server.listen(0, HOST);
  await once(server, "listening");
  const recorder: Recorder = { server, port: (server.address() as AddressInfo).port, text: "", sockets };
  return recorder;
}

async function call(): Promise<Caller> {
  const socket = connect(proxy.port, HOST);
  const caller: Caller = { socket, text: "", closed: false };
  socket.on("error", () => undefined);
  socket.on("data", (bytes) => (caller.text += bytes.toString()));
  socket.on("close", () => (caller.closed = true));
  const { accepted } = proxy.counters();
  await once(socket, "connect");
  // The system has connected it, but the proxy may be notified later.
  await until("the proxy to accept the caller", () => proxy.counters().accepted > accepted);
  return caller;
}

const closed = async (caller: Caller) => await until("the caller to be cut off", () => caller.closed);
const untilReceived = async (one: { text: string }, text: string) =>
  await until(text, () => one.text === text);

let echo: Recorder;
let proxy: TcpProxy;

beforeEach(async () => {
  echo = await startEcho("");
  proxy = await startProxy({ to: { host: HOST, port: echo.port } });
});

afterEach(async () => {
  await proxy.close();
  echo.server.close();
});

test("forwards and counts all bytes, and forwards the end of each side", async () => {
  const caller = await call();
  const large = "0123456789".repeat(100_000);
  caller.socket.end(large);
  await closed(caller);
  expect(caller.text).toBe(large);
  await until("the connection to be closed", () => proxy.counters().open === 0);
  expect(proxy.counters()).toEqual({
    open: 0,
    accepted: 1,
    cutMidway: 0,
    bytes: { toServer: large.length, toClient: large.length },
  });
});

test("cut: resets existing connections and refuses new ones until healed", async () => {
  const caller = await call();
  caller.socket.write("a");
  await untilReceived(caller, "a");
  proxy.cut();
  await closed(caller);
  await until("the server to be cut off", () => echo.sockets.size === 0);
  await expect(call()).rejects.toThrow("ECONNREFUSED");
  await proxy.heal();
  const next = await call();
  next.socket.write("b");
  await untilReceived(next, "b");
});

test("cutConnections: resets existing connections and accepts new ones", async () => {
  const caller = await call();
  proxy.cutConnections();
  await closed(caller);
  const next = await call();
  next.socket.write("b");
  await untilReceived(next, "b");
  expect(next.closed).toBe(false);
});

test("delay: delivers later, but in order, in each direction", async () => {
  const caller = await call();
  proxy.delay(100);
  const started = performance.now();
  caller.socket.write("a");
  await sleep(20);
  proxy.delay(0);
  caller.socket.write("b");
  proxy.delay(100);
  await untilReceived(caller, "ab");
  expect(performance.now() - started).toBeGreaterThan(195);
  expect(echo.text).toBe("ab");
});

test("blackhole: drops bytes in both directions for good", async () => {
  const [caller, silent] = [await call(), await call()];
  caller.socket.write("a");
  await untilReceived(caller, "a");
  await until("both to have reached the server", () => echo.sockets.size === 2);
  proxy.blackhole();
  caller.socket.write("b");
  await sleep(100);
  expect(echo.text).toBe("a");
  expect(caller.closed).toBe(false);
  await proxy.heal();
  await closed(caller);
  await until("the server to be cut off", () => echo.sockets.size === 1);
  expect(echo.text).toBe("a");
  // This connection has lost nothing, so it continues.
  silent.socket.write("c");
  await untilReceived(silent, "c");
});

test("blackhole: the server is not notified when a client disconnects", async () => {
  const [ended, reset] = [await call(), await call()];
  await until("both to have reached the server", () => echo.sockets.size === 2);
  proxy.blackhole();
  ended.socket.destroy();
  reset.socket.resetAndDestroy();
  await sleep(100);
  expect(echo.sockets.size).toBe(2);
  await proxy.heal();
  await until("the server to notice the disconnect", () => echo.sockets.size === 0);
});

test("blackhole in one direction: the request arrives, the answer doesn't", async () => {
  const caller = await call();
  proxy.blackhole("toClient");
  caller.socket.write("a");
  await untilReceived(echo, "a");
  await sleep(50);
  expect(caller.text).toBe("");
  await proxy.heal();
  await closed(caller);
  expect(caller.text).toBe("");
});

test("hold: delivers the bytes of a caller after it has gone, while others pass", async () => {
  const caller = await call();
  const release = proxy.hold();
  caller.socket.write("late");
  caller.socket.destroy();
  await closed(caller);
  const next = await call();
  next.socket.write("first ");
  await untilReceived(next, "first ");
  release();
  await untilReceived(echo, "first late");
  expect(next.closed).toBe(false);
  await until("the server to learn that the caller has gone", () => echo.sockets.size === 1);
});

test("cutAfter: closes the connection after exactly the given number of bytes", async () => {
  for (const count of [0, 3, 10]) {
    const [down, up] = [await call(), await call()];
    proxy.cutAfter(count, "toClient");
    down.socket.write("0123456789");
    await closed(down);
    expect(down.text).toBe("0123456789".slice(0, count));

    echo.text = "";
    proxy.cutAfter(count, "toServer");
    up.socket.write("0123456789");
    await closed(up);
    await until("the server to be cut off", () => echo.sockets.size === 0);
    expect(echo.text).toBe("0123456789".slice(0, count));
  }
  expect(proxy.counters().cutMidway).toBe(6);
  const next = await call();
  next.socket.write("whole");
  await untilReceived(next, "whole");
});

test("cutAfter: Redis executes a command whose answer its client never receives", async () => {
  const redis = await startRedis({ appendOnly: false });
  proxy.retarget({ host: HOST, port: redis.port });
  proxy.cutAfter(0, "toClient");
  await expect(redisCommand(proxy.port, ["INCR", "done"])).rejects.toThrow(/cut off|ECONNRESET/);
  expect(await redis.command("GET", "done")).toBe("1");
  await redis.stop();
});

test("retarget: connects new clients to another server, or resets them if there is none", async () => {
  const other = await startEcho("other:");
  const stays = await call();
  proxy.retarget({ host: HOST, port: other.port });
  const moved = await call();
  stays.socket.write("a");
  moved.socket.write("a");
  await untilReceived(stays, "a");
  await untilReceived(moved, "other:a");
  other.server.close();
  for (const socket of other.sockets) socket.destroy();
  await closed(moved);
  await closed(await call());
  expect(stays.closed).toBe(false);
});

test("a slow reader slows the writer down without loss", async () => {
  const caller = await call();
  caller.socket.pause();
  const large = "x".repeat(20_000_000);
  caller.socket.write(large);
  await sleep(300);
  expect(proxy.counters().bytes.toClient).toBeLessThan(large.length);
  caller.socket.resume();
  await until("all bytes", () => caller.text.length === large.length);
});
