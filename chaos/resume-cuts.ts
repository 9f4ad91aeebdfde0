/**
 * `resumeCuts` tests promise 4 over real connections: clients follow generated turns in every dialect over WebSockets
 * and event streams. During the writes, some clients are cut off every few frames and some at random bytes. Afterwards
 * other clients are cut off at every single frame.
 *
 * Invariant: each client reconnects with its last cursor and ends with the same state as an uncut client.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { legalLog } from "@turnstream/conformance/generator/legal-log.ts";
import type { Endpoint } from "@turnstream/conformance/clients/connections.ts";
import type { RenderedState } from "@turnstream/conformance/clients/rendered-state.ts";
import { SessionClient } from "@turnstream/conformance/clients/session-client.ts";
import { START_CURSOR } from "@turnstream/protocol";
import { startProxy, type TcpProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import fc from "fast-check";
import { findDifference, renderExpected } from "./render-expected.ts";
import { GatewayEnvironment } from "./gateway-environment.ts";
import { CLIENT_KINDS } from "./client-kinds.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";
import { ACTOR } from "./turn-environment.ts";
import { WrittenSession } from "./written-session.ts";

const MAX_EVENTS = 90;
const MAX_CUT_BYTES = 6_000;
const MAX_CUT_FRAMES = 5;
/** How many clients that are cut at every frame run at once. */
const CONCURRENCY = 6;

type Kind = (typeof CLIENT_KINDS)[number];

interface Found {
  readonly counts: { turns: number; frames: number; frameCuts: number; byteCuts: number; liveCuts: number };
  readonly problems: string[];
}

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  const logs = fc.sample(legalLog(MAX_EVENTS), { numRuns: times, seed: Math.floor(random() * 2 ** 31) });
  const counts = { turns: 0, frames: 0, frameCuts: 0, byteCuts: 0, liveCuts: 0 };
  const found: Found = { counts, problems: [] };
  await GatewayEnvironment.use(async (environment) => {
    const gateway = await environment.launchGateway();
    const endpoint = environment.endpoint(gateway);
    const { hostname: host, port } = new URL(endpoint.url);
    const to = { host, port: Number(port) };
    const proxies = await Promise.all(CLIENT_KINDS.map(() => startProxy({ to })));
    for (const [n, log] of logs.entries()) {
      const session = await WrittenSession.make(environment.backend, ACTOR);
      await session.begin();
      const clients = CLIENT_KINDS.map((kind, k) => {
        const proxy = proxies[k];
        if (proxy === undefined) throw new Error("no proxy");
        return new CutClients(session.ref.session, kind, endpoint, proxy, random, found);
      });
      await session.write(log, random, () => sleep(random() * 4));
      const events = await session.events();
      for (const each of clients) await each.end(renderExpected(each.kind.dialect, events));
      for (const each of clients) await each.cutEverywhere();
      counts.turns += log.filter(({ type }) => type === "turn.start").length;
      progress(`${n + 1} of ${times}: ${JSON.stringify(counts)}, ${found.problems.length} problems`);
    }
    await Promise.all(proxies.map((proxy) => proxy.close()));
  });
  for (const problem of found.problems.slice(0, 20)) progress(problem);
  return [
    { figure: "generated turns", value: counts.turns, atLeast: Math.floor(times / 2) },
    { figure: "frames of uncut clients", value: counts.frames, atLeast: times * CLIENT_KINDS.length },
    { figure: "cuts at every frame of a replay", value: counts.frameCuts, atLeast: counts.frames / 3 },
    { figure: "cuts during the writes", value: counts.liveCuts, atLeast: times },
    { figure: "cuts at random bytes", value: counts.byteCuts, atLeast: times },
    {
      figure: "clients with missing, duplicate or different content",
      value: found.problems.length,
      exactly: 0,
    },
  ];
}

/** The clients of one session, dialect and wire: one that is never cut off, and several that are. */
class CutClients {
  readonly kind: Kind;
  readonly #session: string;
  readonly #endpoint: Endpoint;
  readonly #proxy: TcpProxy;
  readonly #random: () => number;
  readonly #found: Found;
  readonly #uncut: SessionClient;
  readonly #cutByFrames: SessionClient;
  readonly #cutByBytes: SessionClient;
  #expected: RenderedState | null = null;
  #framesLeft = 0;
  readonly #stalls = new StallCounter();

  constructor(
    session: string,
    kind: Kind,
    endpoint: Endpoint,
    proxy: TcpProxy,
    random: () => number,
    found: Found,
  ) {
    this.kind = kind;
    this.#session = session;
    this.#endpoint = endpoint;
    this.#proxy = proxy;
    this.#random = random;
    this.#found = found;
    this.#uncut = this.#openClient().connect(endpoint, START_CURSOR);
    this.#cutByFrames = this.#openClient((client) => this.#countFrame(client));
    this.#cutByFrames.connect(endpoint, START_CURSOR);
    this.#cutByBytes = this.#openClient();
    this.#throughProxy();
  }

  /** Waits until all clients have everything, then compares them. */
  async end(expected: RenderedState): Promise<void> {
    this.#expected = expected;
    for (const client of [this.#uncut, this.#cutByFrames]) {
      await this.#finish(client, () => client.connect(this.#endpoint, cursorOf(client)));
    }
    await this.#finish(this.#cutByBytes, () => this.#throughProxy());
    this.#found.counts.frames += this.#uncut.rendered.frames.length;
    this.#found.counts.byteCuts += this.#cutByBytes.connects - 1;
  }

  /** Replays the session once per frame, and cuts each replay at another frame. */
  async cutEverywhere(): Promise<void> {
    let next = 1;
    let isOver = false;
    const work = async (): Promise<void> => {
      while (!isOver) {
        const at = next++;
        const client: SessionClient = this.#openClient(() => {
          if (client.connects === 1 && client.fresh === at) client.cut();
        });
        client.connect(this.#endpoint, START_CURSOR);
        await client.until("cut", () => client.end !== null || this.#isDone(client));
        if (client.end?.type === "cut") this.#found.counts.frameCuts++;
        else isOver = true;
        await this.#finish(client, () => client.connect(this.#endpoint, cursorOf(client)), true);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
  }

  #openClient(onFrame: (client: SessionClient) => void = () => undefined): SessionClient {
    return new SessionClient({
      session: this.#session,
      ...this.kind,
      onFrame: (frame, client) => frame.type !== "subscribed" && onFrame(client),
    });
  }

  #countFrame(client: SessionClient): void {
    if (this.#framesLeft-- > 0 || this.#isDone(client)) return;
    this.#framesLeft = Math.floor(this.#random() * MAX_CUT_FRAMES * this.#stalls.count(client));
    this.#found.counts.liveCuts++;
    client.cut();
    client.connect(this.#endpoint, cursorOf(client));
  }

  #throughProxy(): void {
    const { host, port } = this.#proxy;
    const most = MAX_CUT_BYTES * this.#stalls.count(this.#cutByBytes);
    this.#proxy.cutAfter(1 + Math.floor(this.#random() ** 2 * most), "toClient");
    const endpoint = { ...this.#endpoint, url: `http://${host}:${port}` };
    this.#cutByBytes.connect(endpoint, cursorOf(this.#cutByBytes));
  }

  #isDone({ rendered }: SessionClient): boolean {
    return this.#expected !== null && rendered.cursor === this.#expected.cursor;
  }

  /** Reconnects until the client has everything. */
  async #finish(client: SessionClient, comeBack: () => void, isOnce = false): Promise<void> {
    const problem = (text: string) => this.#found.problems.push(`${client.name}, ${this.#session}: ${text}`);
    try {
      while (!this.#isDone(client)) {
        if (client.end !== null) comeBack();
        await client.until("all there", () => this.#isDone(client) || client.end !== null);
      }
    } catch (error) {
      problem(String(error));
    }
    client.cut();
    const { problems, starts } = client.rendered;
    problems.forEach(problem);
    if (starts.some(({ resumed }) => !resumed)) problem(`not resumed: ${JSON.stringify(starts)}`);
    // A `responses` stream ends whenever no turn runs.
    if (isOnce && client.connects > 2 && this.kind.dialect !== "responses")
      problem(`${client.connects} connections`);
    const difference = findDifference(client.rendered.display(), this.#expected?.display());
    if (difference !== null) problem(difference);
  }
}

/**
 * Counts connections without progress. One event can need more frames than a connection lasts, so such a client is cut
 * off later each time.
 */
class StallCounter {
  readonly #seen = new Map<SessionClient, { readonly cursor: string; readonly times: number }>();

  count(client: SessionClient): number {
    const cursor = cursorOf(client);
    const last = this.#seen.get(client);
    const times = last?.cursor === cursor ? last.times + 1 : 1;
    this.#seen.set(client, { cursor, times });
    return times;
  }
}

const cursorOf = ({ rendered }: SessionClient): string => rendered.cursor ?? START_CURSOR;

export const resumeCuts: Scenario = {
  promise: 4,
  about: "cuts clients of every dialect off at every frame and at random bytes",
  times: 50,
  short: 1,
  run,
};
