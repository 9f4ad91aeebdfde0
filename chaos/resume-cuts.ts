/**
 * Promise 4 over real connections: generated turns are watched in every dialect over WebSockets and event streams. While
 * they are written, some viewers are cut off every few frames and some at any byte; afterwards others are cut off at
 * every single frame. Each comes back with its last cursor, and must end with what an uncut viewer sees.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { legalLog } from "@turnstream/conformance/generator/legal-log.ts";
import type { Door } from "@turnstream/conformance/clients/connections.ts";
import type { Screen } from "@turnstream/conformance/clients/rendered-state.ts";
import { Viewer } from "@turnstream/conformance/clients/viewer.ts";
import { START_CURSOR } from "@turnstream/protocol";
import { startProxy, type TcpProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import fc from "fast-check";
import { differenceOf, expectedScreen } from "./expected-screens.ts";
import { GatewayStage } from "./gateway-stage.ts";
import { KINDS } from "./client-kinds.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";
import { WrittenSession } from "./written-session.ts";

const MAX_EVENTS = 90;
const MAX_CUT_BYTES = 6_000;
const MAX_CUT_FRAMES = 5;
/** Viewers at once that are cut at every frame. */
const LANES = 6;

type Kind = (typeof KINDS)[number];

interface Found {
  readonly counts: { turns: number; frames: number; frameCuts: number; byteCuts: number; liveCuts: number };
  readonly problems: string[];
}

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  const logs = fc.sample(legalLog(MAX_EVENTS), { numRuns: times, seed: Math.floor(random() * 2 ** 31) });
  const counts = { turns: 0, frames: 0, frameCuts: 0, byteCuts: 0, liveCuts: 0 };
  const found: Found = { counts, problems: [] };
  await GatewayStage.use(async (stage) => {
    const gateway = await stage.gateway();
    const { hostname: host, port } = new URL(gateway.door.url);
    const to = { host, port: Number(port) };
    const proxies = await Promise.all(KINDS.map(() => startProxy({ to })));
    for (const [n, log] of logs.entries()) {
      const session = await WrittenSession.make(stage.parts, stage.actor);
      await session.begin();
      const watched = KINDS.map((kind, k) => {
        const proxy = proxies[k];
        if (proxy === undefined) throw new Error("no proxy");
        return new Watched(session.ref.session, kind, gateway.door, proxy, random, found);
      });
      await session.write(log, random, () => sleep(random() * 4));
      const events = await session.events();
      for (const each of watched) await each.end(expectedScreen(each.kind.dialect, events));
      for (const each of watched) await each.cutEverywhere();
      counts.turns += log.filter(({ type }) => type === "turn.start").length;
      progress(`${n + 1} of ${times}: ${JSON.stringify(counts)}, ${found.problems.length} problems`);
    }
    await Promise.all(proxies.map((proxy) => proxy.close()));
  });
  for (const problem of found.problems.slice(0, 20)) progress(problem);
  return [
    { figure: "generated turns", value: counts.turns, atLeast: Math.floor(times / 2) },
    { figure: "frames of uncut viewers", value: counts.frames, atLeast: times * KINDS.length },
    { figure: "cuts, one at every frame of a replay", value: counts.frameCuts, atLeast: counts.frames / 3 },
    { figure: "cuts while it was written", value: counts.liveCuts, atLeast: times },
    { figure: "cuts at random bytes", value: counts.byteCuts, atLeast: times },
    {
      figure: "viewers that saw something else, twice or not at all",
      value: found.problems.length,
      exactly: 0,
    },
  ];
}

/** One session, dialect and wire: who is never cut off, and who is. */
class Watched {
  readonly kind: Kind;
  readonly #session: string;
  readonly #door: Door;
  readonly #proxy: TcpProxy;
  readonly #random: () => number;
  readonly #found: Found;
  readonly #uncut: Viewer;
  readonly #cutByFrames: Viewer;
  readonly #cutByBytes: Viewer;
  #expected: Screen | null = null;
  #framesLeft = 0;
  readonly #patience = new Patience();

  constructor(session: string, kind: Kind, door: Door, proxy: TcpProxy, random: () => number, found: Found) {
    this.kind = kind;
    this.#session = session;
    this.#door = door;
    this.#proxy = proxy;
    this.#random = random;
    this.#found = found;
    this.#uncut = this.#viewer().connect(door, START_CURSOR);
    this.#cutByFrames = this.#viewer((viewer) => this.#countFrame(viewer));
    this.#cutByFrames.connect(door, START_CURSOR);
    this.#cutByBytes = this.#viewer();
    this.#throughProxy();
  }

  /** Until all have everything, and compares them. */
  async end(expected: Screen): Promise<void> {
    this.#expected = expected;
    for (const viewer of [this.#uncut, this.#cutByFrames]) {
      await this.#finish(viewer, () => viewer.connect(this.#door, cursorOf(viewer)));
    }
    await this.#finish(this.#cutByBytes, () => this.#throughProxy());
    this.#found.counts.frames += this.#uncut.screen.frames.length;
    this.#found.counts.byteCuts += this.#cutByBytes.connects - 1;
  }

  /** At every frame that a viewer gets who comes afterwards. */
  async cutEverywhere(): Promise<void> {
    let next = 1;
    let isOver = false;
    const lane = async (): Promise<void> => {
      while (!isOver) {
        const at = next++;
        const viewer: Viewer = this.#viewer(() => {
          if (viewer.connects === 1 && viewer.fresh === at) viewer.cut();
        });
        viewer.connect(this.#door, START_CURSOR);
        await viewer.until("cut", () => viewer.end !== null || this.#isDone(viewer));
        if (viewer.end?.type === "cut") this.#found.counts.frameCuts++;
        else isOver = true;
        await this.#finish(viewer, () => viewer.connect(this.#door, cursorOf(viewer)), true);
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
  }

  #viewer(onFrame: (viewer: Viewer) => void = () => undefined): Viewer {
    return new Viewer({
      session: this.#session,
      ...this.kind,
      onFrame: (frame, viewer) => frame.type !== "subscribed" && onFrame(viewer),
    });
  }

  #countFrame(viewer: Viewer): void {
    if (this.#framesLeft-- > 0 || this.#isDone(viewer)) return;
    this.#framesLeft = Math.floor(this.#random() * MAX_CUT_FRAMES * this.#patience.at(viewer));
    this.#found.counts.liveCuts++;
    viewer.cut();
    viewer.connect(this.#door, cursorOf(viewer));
  }

  #throughProxy(): void {
    const { host, port } = this.#proxy;
    const most = MAX_CUT_BYTES * this.#patience.at(this.#cutByBytes);
    this.#proxy.cutAfter(1 + Math.floor(this.#random() ** 2 * most), "toClient");
    const door = { ...this.#door, url: `http://${host}:${port}` };
    this.#cutByBytes.connect(door, cursorOf(this.#cutByBytes));
  }

  #isDone({ screen }: Viewer): boolean {
    return this.#expected !== null && screen.cursor === this.#expected.cursor;
  }

  /** Comes back as often as it takes. */
  async #finish(viewer: Viewer, comeBack: () => void, isOnce = false): Promise<void> {
    const problem = (text: string) => this.#found.problems.push(`${viewer.name}, ${this.#session}: ${text}`);
    try {
      while (!this.#isDone(viewer)) {
        if (viewer.end !== null) comeBack();
        await viewer.until("all there", () => this.#isDone(viewer) || viewer.end !== null);
      }
    } catch (error) {
      problem(String(error));
    }
    viewer.cut();
    const { problems, told } = viewer.screen;
    problems.forEach(problem);
    if (told.some(({ resumed }) => !resumed)) problem(`not resumed: ${JSON.stringify(told)}`);
    // A stream of `responses` ends whenever no turn runs.
    if (isOnce && viewer.connects > 2 && this.kind.dialect !== "responses")
      problem(`${viewer.connects} connections`);
    const difference = differenceOf(viewer.screen.display(), this.#expected?.display());
    if (difference !== null) problem(difference);
  }
}

/** An event may be told in more frames than a connection lasts: who gets no further is cut off later each time. */
class Patience {
  readonly #seen = new Map<Viewer, { readonly cursor: string; readonly times: number }>();

  at(viewer: Viewer): number {
    const cursor = cursorOf(viewer);
    const last = this.#seen.get(viewer);
    const times = last?.cursor === cursor ? last.times + 1 : 1;
    this.#seen.set(viewer, { cursor, times });
    return times;
  }
}

const cursorOf = ({ screen }: Viewer): string => screen.cursor ?? START_CURSOR;

export const resumeCuts: Scenario = {
  promise: 4,
  about: "cuts viewers of every dialect at every frame and at random bytes",
  times: 50,
  short: 1,
  run,
};
