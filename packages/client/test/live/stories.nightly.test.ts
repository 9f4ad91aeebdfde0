/**
 * Plays every story on PostgreSQL and Redis, with clients whose sockets or event streams are cut at random bytes.
 * Finally each client shows the folded log, without duplicates and gaps.
 */
import { STORIES } from "@turnstream/conformance/stories/index.ts";
import type { Story } from "@turnstream/conformance/stories/story.ts";
import { formatCursor, type SessionState, type UserMessage } from "@turnstream/protocol";
import { resolveBlobUrls } from "@turnstream/protocol/writer";
import { startProxy, type TcpProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { SessionRef } from "../../../server/src/util/refs.ts";
import { openServer, type TestServer } from "../../../server/test/gateway/test-server.ts";
import { InProcessDriver } from "../../../server/test/stories/in-process-driver.ts";
import { play } from "../../../server/test/stories/run-story.ts";
import { StoryEnvironment } from "../../../server/test/stories/story-environment.ts";
import { createClient } from "../../src/client.ts";
import type { Client } from "../../src/client-interface.ts";
import type { ConnectionPhase } from "../../src/transport/status.ts";
import type { Session } from "../../src/session/session.ts";
import { shortWaits } from "./fast-env.ts";
import { until } from "./live-gateway.ts";
import { oddSockets } from "./odd-sockets.ts";

const CHANNELS = ["websocket", "sse"] as const;
const MOST_BYTES = 6_000;

let theatre: StoryEnvironment;
let server: TestServer;
const clients: Client[] = [];
const proxies: TcpProxy[] = [];
let cuts = 0;

beforeAll(async () => {
  theatre = await StoryEnvironment.open();
  server = await openServer(theatre.harness.backend, { actor: theatre.harness.actor });
});

afterAll(async () => {
  for (const client of clients) client.close();
  await server.close();
  await theatre.close();
  for (const proxy of proxies) await proxy.close();
});

/** A client of one session, whose network breaks repeatedly. */
class Unlucky {
  readonly phases: ConnectionPhase[] = [];
  /** The first message as it was first shown. A restart from a snapshot would replace the object. */
  first: UserMessage | null = null;
  /** The ids of the events that arrived over a socket. */
  readonly ids: string[] = [];
  readonly session: Session;
  readonly #proxy: TcpProxy;
  readonly #random: () => number;
  #timer: ReturnType<typeof setInterval> | undefined;

  private constructor(proxy: TcpProxy, session: (unlucky: Unlucky) => Session, random: () => number) {
    this.#proxy = proxy;
    this.#random = random;
    this.session = session(this);
  }

  static async open(
    channel: (typeof CHANNELS)[number],
    ref: SessionRef,
    random: () => number,
  ): Promise<Unlucky> {
    const proxy = await startProxy({ to: { host: "127.0.0.1", port: Number(new URL(server.url).port) } });
    proxies.push(proxy);
    const connect = (unlucky: Unlucky): Session => {
      const copies = (frame: { readonly type: string; readonly [field: string]: unknown }): number => {
        if (typeof frame["id"] === "string") unlucky.ids.push(frame["id"]);
        return 1;
      };
      const client = createClient({
        url: `http://${proxy.host}:${proxy.port}`,
        auth: () => ({ headers: server.auth }),
        channels: [channel],
        env: { ...shortWaits, WebSocket: oddSockets({ copies }) },
      });
      clients.push(client);
      return client.session(ref.session);
    };
    const unlucky = new Unlucky(proxy, connect, random);
    unlucky.session.subscribe(() => {
      const { state, connection } = unlucky.session.getSnapshot();
      unlucky.phases.push(connection.phase);
      unlucky.first ??= state.turns.get(0)?.message ?? null;
    });
    unlucky.#breakOften();
    return unlucky;
  }

  #breakOften(): void {
    let seen = -1;
    this.#timer = setInterval(() => {
      const { cutMidway } = this.#proxy.counters();
      if (cutMidway === seen) return;
      seen = cutMidway;
      this.#proxy.cutAfter(Math.floor(this.#random() * MOST_BYTES), "toClient");
    }, 2);
  }

  /** Stops the cuts and waits until the client is live at the position `at`. */
  async settle(at: SessionState): Promise<void> {
    clearInterval(this.#timer);
    await this.#proxy.heal();
    const cursor = formatCursor(at);
    await until(
      this.session,
      `at ${cursor}`,
      ({ state, connection }) => connection.phase === "live" && formatCursor(state) === cursor,
    );
    cuts += this.#proxy.counters().cutMidway;
  }
}

/** Returns a generator of reproducible random numbers from 0 to 1 (mulberry32). */
function numbersFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let n = Math.imul(state ^ (state >>> 15), 1 | state);
    n = (n + Math.imul(n ^ (n >>> 7), 61 | n)) ^ n;
    return ((n ^ (n >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Removes blob addresses, because the server signs them again for each delivery. */
function withoutAddresses(state: SessionState): unknown {
  const json = JSON.stringify(resolveBlobUrls(state as never, () => "blob"));
  return JSON.parse(json.replaceAll(/"https?:\/\/[^"]*\/api\/v1\/blobs\/[^"]*"/g, '"blob"'));
}

class WatchedHands extends InProcessDriver {
  readonly watchers: Unlucky[] = [];
  readonly #seed: number;

  constructor(seed: number) {
    super(theatre.harness, theatre.served);
    this.#seed = seed;
  }

  override async watch(ref?: SessionRef): Promise<void> {
    if (ref === undefined) return;
    for (const [n, channel] of CHANNELS.entries())
      this.watchers.push(await Unlucky.open(channel, ref, numbersFrom(this.#seed * 2 + n)));
  }
}

test.each(STORIES.map((story, n) => [story.name, story, n] as const))(
  "reliability promise 4, through the client: %s",
  async (_, story: Story, n) => {
    const hands = new WatchedHands(n);
    const { state, ref } = await play(theatre.harness, story, theatre.gatesOf(story), hands);
    const whole = await theatre.harness.state(ref);
    expect(whole.seq).toBeGreaterThanOrEqual(state.seq);
    for (const watcher of hands.watchers) {
      await watcher.settle(whole);
      const { state: shown } = watcher.session.getSnapshot();
      expect(withoutAddresses(shown)).toEqual(withoutAddresses(whole));
      // A gap or an invalid cursor would have caused a restart from a snapshot.
      expect(shown.turns.get(0)?.message).toBe(watcher.first);
      expect(watcher.phases).not.toContain("closed");
      expect(new Set(watcher.ids).size).toBe(watcher.ids.length);
    }
  },
);

test("the connections were cut often enough", () => {
  expect(cuts).toBeGreaterThan(2 * STORIES.length);
});
