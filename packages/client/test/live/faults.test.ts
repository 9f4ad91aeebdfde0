/** What can go wrong between a client and a real gateway, and that nothing of it is seen in what is shown. */
import { describe, expect, test } from "vitest";
import { openServer } from "../../../server/test/gateway/test-server.ts";
import type { SessionRef } from "../../../server/src/store/refs.ts";
import type { ConnectionPhase } from "../../src/transport/status.ts";
import { responses } from "../../src/dialects/responses.ts";
import { ClientError } from "../../src/errors.ts";
import type { Session, SessionView } from "../../src/session/session.ts";
import { FakePageEnv, fastTime, shortWaits } from "./fast-env.ts";
import { LiveGateway, isLive, isOver, until } from "./live-gateway.ts";
import { oddSockets, shutSockets } from "./odd-sockets.ts";

const CHANNELS = ["websocket", "sse"] as const;

/** Everything that was ever shown, so that what was there for a moment counts too. */
function seenBy(session: Session): { views: SessionView[]; phases: () => ConnectionPhase[] } {
  const views: SessionView[] = [];
  session.subscribe(() => views.push(session.getSnapshot()));
  const phases = (): ConnectionPhase[] =>
    views.map(({ connection }) => connection.phase).filter((phase, n, all) => phase !== all[n - 1]);
  return { views, phases };
}

async function expectWhole(
  gateway: LiveGateway,
  ref: SessionRef,
  session: Session,
  views: readonly SessionView[] = [],
) {
  const { state } = session.getSnapshot();
  expect(state).toEqual(await gateway.stage.state(ref));
  for (const [n, view] of views.entries())
    expect(view.state.seq).toBeGreaterThanOrEqual(views[n - 1]?.state.seq ?? 0);
}

describe.for(CHANNELS)("over a %s", (channel) => {
  test("cut off in the middle of an answer, again and again, nothing is missing and nothing is there twice", async () => {
    const gateway = await LiveGateway.open();
    const ref = await gateway.stage.session();
    const session = gateway.client({ channels: [channel], env: shortWaits }).session(ref.session);
    const { views, phases } = seenBy(session);
    await gateway.stage.ask(ref, "before");
    const before = await until(session, "live", (view) => isLive(view) && isOver("before")(view));
    session.send({ text: "long" });
    await until(session, "begun", ({ state }) => state.turns.length > 1);
    for (let n = 0; n < 6; n++) {
      gateway.proxy.cutAfter(200 + 997 * n, "toClient");
      const { seq } = session.getSnapshot().state;
      await until(session, "further", (view) => view.state.seq > seq + 3 || isOver("long")(view));
    }
    await gateway.proxy.heal();
    await until(session, "over", (view) => isOver("long")(view) && isLive(view));
    await expectWhole(gateway, ref, session, views);
    expect(gateway.proxy.counters().cutMidway).toBeGreaterThan(0);
    // Gone on with, and never told anew: what is over is the very same.
    expect(session.getSnapshot().state.turns.get(0)).toBe(before.state.turns.get(0));
    expect(phases()).not.toContain("closed");
  });

  test("a server that restarts is left and found again", async () => {
    const gateway = await LiveGateway.open();
    const ref = await gateway.stage.session();
    const session = gateway.client({ channels: [channel], env: shortWaits }).session(ref.session);
    const { views, phases } = seenBy(session);
    await until(session, "live", isLive);
    session.send({ text: "long" });
    await until(session, "begun", ({ state }) => state.turns.length > 0);
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

  test("a token that expires is asked for anew, and nobody sees it", async () => {
    const gateway = await LiveGateway.open();
    const ref = await gateway.stage.session();
    let asked = 0;
    const auth = async () => {
      asked += 1;
      return { token: await gateway.token({ ms: 2_000 }) };
    };
    const session = gateway.client({ channels: [channel], auth, env: shortWaits }).session(ref.session);
    const { views, phases } = seenBy(session);
    await until(session, "live", isLive);
    for (let n = 0; n < 2; n++) {
      await until(session, "let go", ({ connection }) => connection.phase === "waiting");
      await gateway.stage.ask(ref, `while away ${n}`);
      await until(session, "back", (view) => isLive(view) && isOver(`while away ${n}`)(view));
    }
    expect(asked).toBeGreaterThan(2);
    expect(phases()).not.toContain("resyncing");
    await expectWhole(gateway, ref, session, views);
  });

  test("somebody who is no longer let in is told so, and is left alone", async () => {
    const gateway = await LiveGateway.open();
    const ref = await gateway.stage.session();
    const session = gateway.client({ channels: [channel], env: shortWaits }).session(ref.session);
    session.subscribe(() => {});
    await until(session, "live", isLive);
    await gateway.stage.backend.store.keys.revoke(gateway.stage.actor.tenant, gateway.server.key.id);
    const { connection } = await until(session, "closed", (view) => view.connection.phase === "closed");
    expect(connection).toMatchObject({ channel: null, retryAt: null, error: { code: "UNAUTHENTICATED" } });
  });

  test("a session that is erased is closed, and so is one that isn't ours; others go on", async () => {
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

  test("a machine without a network waits for one, and what was said meanwhile is there", async () => {
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

  test("a connection over which nothing comes any more is given up for another", async () => {
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

test("a command under way when the connection is lost is one of which nobody knows", async () => {
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
  return Date.now() - 3_600_000;
}

function htmlPage(status: number): Response {
  return new Response(`<html>${status}</html>`, { status });
}

async function refuses(): Promise<Response> {
  return Response.json({ error: "FORBIDDEN", message: "Not this key." }, { status: 403 });
}

describe("getting in", () => {
  test("an app that can't give a token for a while is asked again", async () => {
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

  test("an app that says the person has to sign in is asked once more, and then left alone", async () => {
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
    ["/events", 404, "sse", responses],
  ] as const)(
    "what a proxy answers in the server's place passes: %s %i",
    async ([path, status, channel, dialect]) => {
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
        .client({ channels: [channel], ...(dialect && { dialect }), env: { ...shortWaits, fetch: between } })
        .session(ref.session);
      const { phases } = seenBy(session);
      await until(session, "live", isLive);
      expect([answered, phases().includes("closed")]).toEqual([3, false]);
    },
  );

  test("what the server itself refuses is for good", async () => {
    const gateway = await LiveGateway.open();
    const ref = await gateway.stage.session();
    const session = gateway.client({ env: { ...shortWaits, fetch: refuses } }).session(ref.session);
    const { connection } = await until(session, "closed", (view) => view.connection.phase === "closed");
    expect(connection.error).toMatchObject({ code: "FORBIDDEN", message: "Not this key." });
  });
});

/** So that what is there only until an answer comes is seen, however busy the machine is. */
function drawAtOnce(run: () => void): () => void {
  queueMicrotask(run);
  return () => {};
}

describe("frames", () => {
  test("that come twice are taken once", async () => {
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

  test.for([1, 3])("that are lost (%i in a row) are noticed, and asked for again", async (lost) => {
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

describe("in a page", () => {
  test("every socket has a ticket of its own, and no secret is in its address", async () => {
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

  test("where sockets don't pass, event streams do", async () => {
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

  test("where sockets open and nothing comes over them, event streams do", async () => {
    const gateway = await LiveGateway.open();
    const ref = await gateway.stage.session();
    const addresses: string[] = [];
    const env = { ...fastTime(15), WebSocket: oddSockets({ copies: () => 0, addresses }) };
    const session = gateway.client({ env }).session(ref.session);
    expect((await until(session, "live", isLive)).connection.channel).toBe("sse");
    expect(addresses.length).toBeGreaterThanOrEqual(2);
  });

  test("the server's clock is known", async () => {
    const gateway = await LiveGateway.open();
    const ref = await gateway.stage.session();
    const session = gateway.client({ env: { now: anHourSlow } }).session(ref.session);
    const { skewMs } = await until(session, "live", isLive);
    expect(Math.abs(skewMs - 3_600_000)).toBeLessThan(30_000);
  });
});
