/** Tests faults between a client and a real gateway: the shown state stays complete and in order. */
import { describe, expect, test } from "vitest";
import { openServer } from "../../../server/test/gateway/test-server.ts";
import { systemEnv } from "../../../server/src/util/env.ts";
import { ClientError } from "../../src/errors.ts";
import { CHANNELS, expectWhole, seenBy } from "./seen-views.ts";
import { FakePageEnv, fastTime, shortWaits } from "./fast-env.ts";
import { LiveGateway, isLive, isOver, until } from "./live-gateway.ts";
import { oddSockets, shutSockets } from "./odd-sockets.ts";

describe.for(CHANNELS)("over a %s", (channel) => {
  test("an answer whose connection is cut repeatedly has no gaps and no duplicates", async () => {
    const gateway = await LiveGateway.open();
    const ref = await gateway.stage.session();
    const session = gateway.client({ channels: [channel], env: shortWaits }).session(ref.session);
    const { views, phases } = seenBy(session);
    await gateway.stage.ask(ref, "before");
    const before = await until(session, "live", (view) => isLive(view) && isOver("before")(view));
    session.send({ text: "long" });
    await until(session, "started", ({ state }) => state.turns.length > 1);
    for (let n = 0; n < 6; n++) {
      gateway.proxy.cutAfter(200 + 997 * n, "toClient");
      const { seq } = session.getSnapshot().state;
      await until(session, "further", (view) => view.state.seq > seq + 3 || isOver("long")(view));
    }
    await gateway.proxy.heal();
    await until(session, "over", (view) => isOver("long")(view) && isLive(view));
    await expectWhole(gateway, ref, session, views);
    expect(gateway.proxy.counters().cutMidway).toBeGreaterThan(0);
    // The client resumed and never reloaded, so the first turn is still the same object.
    expect(session.getSnapshot().state.turns.get(0)).toBe(before.state.turns.get(0));
    expect(phases()).not.toContain("closed");
  });

  test("the client reconnects after a restart of the server", async () => {
    const gateway = await LiveGateway.open();
    const ref = await gateway.stage.session();
    const session = gateway.client({ channels: [channel], env: shortWaits }).session(ref.session);
    const { views, phases } = seenBy(session);
    await until(session, "live", isLive);
    session.send({ text: "long" });
    await until(session, "started", ({ state }) => state.turns.length > 0);
    const { secrets, actor, backend } = gateway.server;
    await gateway.server.close();
    const next = await openServer(backend, { actor, secrets });
    try {
      gateway.proxy.retarget({ host: "127.0.0.1", port: Number(new URL(next.url).port) });
      await until(session, "over", (view) => isOver("long")(view) && isLive(view));
      await expectWhole(gateway, ref, session, views);
      expect(phases()).toContain("waiting");
      expect(phases()).not.toContain("closed");
    } finally {
      session.getSnapshot();
      await next.close();
    }
  });

  test("a revoked key closes the session with an error and without retries", async () => {
    const gateway = await LiveGateway.open();
    const ref = await gateway.stage.session();
    const session = gateway.client({ channels: [channel], env: shortWaits }).session(ref.session);
    session.subscribe(() => {});
    await until(session, "live", isLive);
    await gateway.stage.backend.store.keys.revoke(gateway.stage.actor.tenant, gateway.server.key.id);
    const { connection } = await until(session, "closed", (view) => view.connection.phase === "closed");
    expect(connection).toMatchObject({ channel: null, retryAt: null, error: { code: "UNAUTHENTICATED" } });
  });

  test("a deleted or unknown session is closed; others continue", async () => {
    const gateway = await LiveGateway.open();
    const [ref, other] = [await gateway.stage.session(), await gateway.stage.session()];
    const client = gateway.client({ channels: [channel], env: shortWaits });
    const [session, loaded] = [client.session(ref.session), client.session(other.session)];
    loaded.subscribe(() => {});
    await until(session, "live", isLive);
    await client.deleteSession(ref.session);
    const { connection } = await until(session, "closed", (view) => view.connection.phase === "closed");
    expect(connection.error).toMatchObject({ code: "NOT_FOUND" });
    const none = client.session("s-none");
    const { connection: refused } = await until(none, "closed", (view) => view.connection.phase === "closed");
    expect(refused.error).toMatchObject({ code: "NOT_FOUND" });
    loaded.send({ text: "still there" });
    await until(loaded, "answered", isOver("still there"));
  });

  test("an offline client waits for a network, and then receives what it missed and sends its messages", async () => {
    const gateway = await LiveGateway.open();
    const ref = await gateway.stage.session();
    const page = new FakePageEnv();
    const session = gateway
      .client({ channels: [channel], env: { ...shortWaits, page } })
      .session(ref.session);
    const { views, phases } = seenBy(session);
    await until(session, "live", isLive);
    page.become({ isOnline: false });
    gateway.proxy.cut();
    await until(session, "offline", ({ connection }) => connection.phase === "offline");
    await expect(session.stop()).rejects.toMatchObject({ code: "OFFLINE" });
    const sent = session.send({ text: "written offline" });
    expect(session.getSnapshot().outbox).toMatchObject([{ id: sent.id, status: "waiting" }]);
    await gateway.stage.ask(ref, "meanwhile");
    await gateway.proxy.heal();
    page.become({ isOnline: true });
    await sent.done;
    await until(session, "answered", isOver("written offline"));
    await expectWhole(gateway, ref, session, views);
    expect(phases()).not.toContain("resyncing");
  });

  test("a silent connection is replaced by a new one", async () => {
    const gateway = await LiveGateway.open();
    const ref = await gateway.stage.session();
    const session = gateway.client({ channels: [channel], env: fastTime(15) }).session(ref.session);
    const { views, phases } = seenBy(session);
    await until(session, "live", isLive);
    gateway.proxy.blackhole();
    await gateway.stage.ask(ref, "unheard");
    await until(session, "lost", ({ connection }) => connection.phase === "waiting");
    await gateway.proxy.heal();
    await until(session, "back", (view) => isLive(view) && isOver("unheard")(view));
    expect(phases()).not.toContain("closed");
    await expectWhole(gateway, ref, session, views);
  });
});

test("a command that is in flight when the connection is lost fails with UNSURE", async () => {
  const gateway = await LiveGateway.open();
  const ref = await gateway.stage.session();
  const session = gateway.client({ channels: ["websocket"], env: shortWaits }).session(ref.session);
  session.subscribe(() => {});
  await until(session, "live", isLive);
  gateway.proxy.blackhole("toClient");
  const stopped = session.stop().catch((error: unknown) => error);
  await gateway.proxy.heal();
  gateway.proxy.cutConnections();
  expect(await stopped).toMatchObject({ code: "UNSURE", canRetry: true });
});

function anHourSlow(): number {
  return systemEnv.now() - 3_600_000;
}

function htmlPage(status: number): Response {
  return new Response(`<html>${status}</html>`, { status });
}

async function refuses(): Promise<Response> {
  return Response.json({ error: "FORBIDDEN", message: "Not this key." }, { status: 403 });
}

describe("connecting", () => {
  test("a token request is retried while the app is unavailable", async () => {
    const gateway = await LiveGateway.open();
    const ref = await gateway.stage.session();
    let asked = 0;
    const auth = async () => {
      asked += 1;
      const answer =
        asked <= 4 ? htmlPage(502) : Response.json({ token: await gateway.token({ ms: 60_000 }) });
      return (await answer.json()) as { token: string };
    };
    const session = gateway.client({ auth, env: shortWaits }).session(ref.session);
    const { phases } = seenBy(session);
    await until(session, "live", isLive);
    expect([asked, phases().includes("closed")]).toEqual([5, false]);
  });

  test("a token request is repeated once if the user must sign in, and then the session closes", async () => {
    const gateway = await LiveGateway.open();
    const ref = await gateway.stage.session();
    let asked = 0;
    const auth = () => {
      asked += 1;
      throw new ClientError("UNAUTHENTICATED", "Sign in, please.");
    };
    const session = gateway.client({ auth, env: shortWaits }).session(ref.session);
    const { connection } = await until(session, "closed", (view) => view.connection.phase === "closed");
    expect(connection.error).toMatchObject({ code: "UNAUTHENTICATED", message: "Sign in, please." });
    expect(asked).toBe(2);
  });

  test.for([
    ["/tickets", 400, "websocket"],
    ["/tickets", 403, "websocket"],
    ["/tickets", 404, "websocket"],
    ["/tickets", 502, "websocket"],
    ["/events", 404, "sse"],
  ] as const)("an error page of a proxy is retried: %s %i", async ([path, status, channel]) => {
    const gateway = await LiveGateway.open();
    const ref = await gateway.stage.session();
    let answered = 0;
    const between: typeof fetch = async (input, init) => {
      const address = input instanceof Request ? input.url : String(input);
      if (!new URL(address).pathname.endsWith(path) || answered >= 3) return fetch(input, init);
      answered += 1;
      return htmlPage(status);
    };
    const session = gateway
      .client({ channels: [channel], env: { ...shortWaits, fetch: between } })
      .session(ref.session);
    const { phases } = seenBy(session);
    await until(session, "live", isLive);
    expect([answered, phases().includes("closed")]).toEqual([3, false]);
  });

  test("a refusal by the server itself closes the session permanently", async () => {
    const gateway = await LiveGateway.open();
    const ref = await gateway.stage.session();
    const session = gateway.client({ env: { ...shortWaits, fetch: refuses } }).session(ref.session);
    const { connection } = await until(session, "closed", (view) => view.connection.phase === "closed");
    expect(connection.error).toMatchObject({ code: "FORBIDDEN", message: "Not this key." });
  });
});

/** Runs each frame immediately, so that short-lived views are seen even on a slow machine. */
function drawAtOnce(run: () => void): () => void {
  queueMicrotask(run);
  return () => {};
}

describe("frames", () => {
  test("frames that arrive twice are applied once", async () => {
    const gateway = await LiveGateway.open();
    const ref = await gateway.stage.session();
    let copied = 0;
    const copies = (frame: object): number => {
      if (!("id" in frame)) return 1;
      copied += 1;
      return 2;
    };
    const session = gateway
      .client({ channels: ["websocket"], env: { WebSocket: oddSockets({ copies }) } })
      .session(ref.session);
    const { phases } = seenBy(session);
    await until(session, "live", isLive);
    session.send({ text: "long" });
    await until(session, "over", isOver("long"));
    await expectWhole(gateway, ref, session);
    expect(copied).toBeGreaterThan(10);
    expect(phases()).not.toContain("resyncing");
  });

  test.for([1, 3])("lost frames (%i in a row) cause a resync", async (lost) => {
    const gateway = await LiveGateway.open();
    const ref = await gateway.stage.session();
    let seen = 0;
    const copies = ({ type }: { type: string }): number => {
      if (type !== "text.delta") return 1;
      seen += 1;
      return seen > 20 && seen <= 20 + lost ? 0 : 1;
    };
    const session = gateway
      .client({
        channels: ["websocket"],
        env: { ...shortWaits, nextFrame: drawAtOnce, WebSocket: oddSockets({ copies }) },
      })
      .session(ref.session);
    const { phases } = seenBy(session);
    await until(session, "live", isLive);
    session.send({ text: "long" });
    await until(session, "over", (view) => isOver("long")(view) && isLive(view));
    await expectWhole(gateway, ref, session);
    expect(phases()).toContain("resyncing");
  });
});

describe("the network transport", () => {
  test("in a page, every socket has its own ticket, and no URL contains the token", async () => {
    const gateway = await LiveGateway.open();
    const ref = await gateway.stage.session();
    const addresses: string[] = [];
    const token = await gateway.token({ ms: 60_000 });
    const env = {
      ...shortWaits,
      page: new FakePageEnv(true),
      WebSocket: oddSockets({ origin: gateway.url, addresses }),
    };
    const session = gateway.client({ auth: () => ({ token }), env }).session(ref.session);
    session.subscribe(() => {});
    for (let n = 0; n < 3; n++) {
      await until(session, "live", isLive);
      gateway.proxy.cutConnections();
      await until(session, "lost", (view) => !isLive(view));
    }
    await until(session, "live", isLive);
    const tickets = addresses.map((address) => new URL(address).searchParams.get("ticket"));
    expect(tickets.length).toBeGreaterThan(3);
    expect(new Set(tickets).size).toBe(tickets.length);
    for (const address of addresses) expect(address).not.toContain(token);
  });

  test("event streams are used if sockets are blocked", async () => {
    const gateway = await LiveGateway.open();
    const ref = await gateway.stage.session();
    const count = { opened: 0 };
    const session = gateway
      .client({ env: { ...shortWaits, WebSocket: shutSockets(count) } })
      .session(ref.session);
    const { connection } = await until(session, "live", isLive);
    expect([connection.channel, count.opened]).toEqual(["sse", 2]);
    session.send({ text: "hello" });
    await until(session, "answered", isOver("hello"));
  });

  test("event streams are used if sockets open but receive nothing", async () => {
    const gateway = await LiveGateway.open();
    const ref = await gateway.stage.session();
    const addresses: string[] = [];
    const env = { ...fastTime(15), WebSocket: oddSockets({ copies: () => 0, addresses }) };
    const session = gateway.client({ env }).session(ref.session);
    expect((await until(session, "live", isLive)).connection.channel).toBe("sse");
    expect(addresses.length).toBeGreaterThanOrEqual(2);
  });

  test("skewMs is the difference to the server's clock", async () => {
    const gateway = await LiveGateway.open();
    const ref = await gateway.stage.session();
    const session = gateway.client({ env: { now: anHourSlow } }).session(ref.session);
    const { skewMs } = await until(session, "live", isLive);
    expect(Math.abs(skewMs - 3_600_000)).toBeLessThan(30_000);
  });
});
