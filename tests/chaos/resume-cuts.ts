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
import { type SessionEvent, START_CURSOR } from "@turnstream/protocol";
import { startProxy, type TcpProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import fc from "fast-check";
import { Figures } from "./figures.ts";
import { findDifference, renderExpected } from "./render-expected.ts";
import { GatewayEnvironment } from "./gateway-environment.ts";
import { CLIENT_KINDS } from "./client-kinds.ts";
import type { RunOptions, Scenario } from "./scenario.ts";
import { ACTOR } from "./turn-environment.ts";
import { WrittenSession } from "./written-session.ts";

const MAX_EVENTS = 90;
const MAX_CUT_BYTES = 6_000;
const MAX_CUT_FRAMES = 5;
/** How many clients that are cut at every frame run at once. */
const CONCURRENCY = 6;

function createFigures(times: number, progress: RunOptions["progress"]) {
  return new Figures(progress, {
    "generated turns": { atLeast: Math.floor(times / 2) },
    "frames of uncut clients": { atLeast: times * CLIENT_KINDS.length },
    "cuts at every frame of a replay": { atLeast: 1 },
    "frames per cut": { atMost: 3 },
    "cuts during the writes": { atLeast: times },
    "cuts at random bytes": { atLeast: times },
    "clients with missing, duplicate or different content": { exactly: 0 },
  });
}

async function run({ times, random, progress }: RunOptions) {
  const logs = fc.sample(legalLog(MAX_EVENTS), { numRuns: times, seed: Math.floor(random() * 2 ** 31) });
  const figures = createFigures(times, progress);
  await GatewayEnvironment.use(async (environment) => {
    const endpoint = environment.endpoint(await environment.launchGateway());
    const { hostname: host, port } = new URL(endpoint.url);
    const proxies = await Promise.all(
      CLIENT_KINDS.map(() => startProxy({ to: { host, port: Number(port) } })),
    );
    for (const [n, log] of logs.entries()) {
      const session = await WrittenSession.begin(environment.backend, ACTOR);
      const clients = CLIENT_KINDS.map(
        (kind, k) =>
          new CutClients({
            session: session.ref.session,
            kind,
            endpoint,
            proxy: proxies[k] as TcpProxy,
            random,
            figures,
          }),
      );
      await session.write(log, random, () => sleep(random() * 4));
      const events = await session.events();
      for (const each of clients) await each.end(events);
      for (const each of clients) await each.cutEverywhere();
      figures.add("generated turns", log.filter(({ type }) => type === "turn.start").length);
      const frames = figures.get("frames of uncut clients");
      figures.set("frames per cut", frames / figures.get("cuts at every frame of a replay"));
      figures.print(`${n + 1} of ${times}`);
    }
    await Promise.all(proxies.map((proxy) => proxy.close()));
  });
  return figures.list();
}

interface CutOptions {
  readonly session: string;
  readonly kind: (typeof CLIENT_KINDS)[number];
  readonly endpoint: Endpoint;
  /** Cuts one of the clients at random bytes. */
  readonly proxy: TcpProxy;
  readonly random: () => number;
  readonly figures: ReturnType<typeof createFigures>;
}

/** The clients of one session, dialect and wire: one that is never cut off, and several that are. */
class CutClients {
  readonly #options: CutOptions;
  readonly #uncut: SessionClient;
  readonly #cutByFrames: SessionClient;
  readonly #cutByBytes: SessionClient;
  readonly #stalls = new StallCounter();
  #expected: RenderedState | null = null;
  #framesLeft = 0;

  constructor(options: CutOptions) {
    this.#options = options;
    this.#uncut = this.#openClient();
    this.#cutByFrames = this.#openClient((client) => this.#countFrame(client));
    this.#cutByBytes = this.#openClient();
    this.#connect(this.#uncut);
    this.#connect(this.#cutByFrames);
    this.#throughProxy();
  }

  /** Waits until all clients have everything, then compares them. */
  async end(events: readonly SessionEvent[]): Promise<void> {
    const { kind, figures } = this.#options;
    this.#expected = renderExpected(kind.dialect, events);
    for (const client of [this.#uncut, this.#cutByFrames])
      await this.#finish(client, () => this.#connect(client));
    await this.#finish(this.#cutByBytes, () => this.#throughProxy());
    figures.add("frames of uncut clients", this.#uncut.rendered.frames.length);
    figures.add("cuts at random bytes", this.#cutByBytes.connects - 1);
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
        this.#connect(client);
        await client.until("cut", () => client.end !== null || this.#isDone(client));
        if (client.end?.type === "cut") this.#options.figures.add("cuts at every frame of a replay");
        else isOver = true;
        await this.#finish(client, () => this.#connect(client), true);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
  }

  #connect(client: SessionClient, endpoint = this.#options.endpoint): void {
    client.connect(endpoint, cursorOf(client));
  }

  #openClient(onFrame: (client: SessionClient) => void = () => undefined): SessionClient {
    return new SessionClient({
      session: this.#options.session,
      ...this.#options.kind,
      onFrame: (frame, client) => frame.type !== "subscribed" && onFrame(client),
    });
  }

  #countFrame(client: SessionClient): void {
    if (this.#framesLeft-- > 0 || this.#isDone(client)) return;
    this.#framesLeft = Math.floor(this.#options.random() * MAX_CUT_FRAMES * this.#stalls.count(client));
    this.#options.figures.add("cuts during the writes");
    client.cut();
    this.#connect(client);
  }

  #throughProxy(): void {
    const { endpoint, proxy, random } = this.#options;
    const most = MAX_CUT_BYTES * this.#stalls.count(this.#cutByBytes);
    proxy.cutAfter(1 + Math.floor(random() ** 2 * most), "toClient");
    this.#connect(this.#cutByBytes, { ...endpoint, url: `http://${proxy.host}:${proxy.port}` });
  }

  #isDone({ rendered }: SessionClient): boolean {
    return this.#expected !== null && rendered.cursor === this.#expected.cursor;
  }

  /** Reconnects until the client has everything. */
  async #finish(client: SessionClient, comeBack: () => void, isOnce = false): Promise<void> {
    const { session, kind, figures } = this.#options;
    const problems: string[] = [];
    try {
      while (!this.#isDone(client)) {
        if (client.end !== null) comeBack();
        await client.until("all there", () => this.#isDone(client) || client.end !== null);
      }
    } catch (error) {
      problems.push(String(error));
    }
    client.cut();
    const { rendered, connects } = client;
    problems.push(...rendered.problems);
    if (rendered.starts.some(({ resumed }) => !resumed))
      problems.push(`not resumed: ${JSON.stringify(rendered.starts)}`);
    // A `responses` stream ends whenever no turn runs.
    if (isOnce && connects > 2 && kind.dialect !== "responses") problems.push(`${connects} connections`);
    const difference = findDifference(rendered.display(), this.#expected?.display());
    if (difference !== null) problems.push(difference);
    figures.report(
      "clients with missing, duplicate or different content",
      problems.map((problem) => `${client.name}, ${session}: ${problem}`),
    );
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
