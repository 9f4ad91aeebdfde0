/**
 * `versionSkew` runs this version beside one whose schema version is raised by one: a gateway, a worker and clients of
 * each. Workers are killed with -9 in mid-turn, so that turns continue in the other version. Recorded archives of every
 * version are continued in the same way.
 *
 * Invariant: every reader of a version folds the same content, wherever it reads it. Content that both versions know is
 * the same in both.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { formatCursor, type Snapshot, type TurnSnapshot } from "@turnstream/protocol";
import type { SessionRef } from "@turnstream/server";
import { until } from "@turnstream/testkit/util/until.ts";
import { RAISED_FIELDS, raiseVersion } from "@turnstream/testkit/versions/raise-version.ts";
import { loadRecordedArchive, readRecordedArchives } from "@turnstream/testkit/versions/recorded-archive.ts";
import { checkPlan } from "./check-plan.ts";
import { GatewayEnvironment } from "./gateway-environment.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";
import { ACTOR, findTurn } from "./turn-environment.ts";
import { listOnceKeys, type Plan, randomPlan } from "./turn-plan.ts";
import { VersionPrograms, type Version } from "./version-programs.ts";

const SESSIONS = 2;
/** The first turn is slow enough that the worker of the other version starts before it ends. */
const SLOWNESS = [1.5, 0.4] as const;
const TURN_MS = 120_000;

export const versionSkew: Scenario = {
  promise: 38,
  about: "runs two schema versions beside each other and kills workers: 0 differences in the folded content",
  times: 40,
  short: 2,
  run,
};

interface Found {
  turns: number;
  readonly takeovers: Record<Version, number>;
  comparisons: number;
  readonly differences: string[];
  readonly problems: string[];
  readonly onceKeys: Set<string>;
}

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  const raised = await raiseVersion();
  const found: Found = {
    turns: 0,
    takeovers: { this: 0, next: 0 },
    comparisons: 0,
    differences: [],
    problems: [],
    onceKeys: new Set(),
  };
  try {
    return await GatewayEnvironment.use(async (environment) => {
      const programs = new VersionPrograms(environment, raised.root);
      try {
        await programs.start();
        const { store } = environment.backend;
        const archived: SessionRef[] = [];
        for (const recorded of await readRecordedArchives())
          archived.push(await loadRecordedArchive(store, ACTOR, recorded));
        for (const ref of archived) {
          programs.follow(ref);
          await compare(programs, ref, found);
          progress(`${ref.session}: ${JSON.stringify(summary(found))}`);
        }
        const played: SessionRef[] = [];
        for (let n = 1; n <= times; n++) {
          const fresh = Array.from({ length: SESSIONS }, () => environment.createSession());
          const refs = n <= archived.length ? [archived[n - 1] as SessionRef] : await Promise.all(fresh);
          await playRound(environment, programs, refs, { n, random }, found);
          played.push(...refs);
          progress(`${n} of ${times}: ${JSON.stringify(summary(found))}`);
        }
        await programs.upgradeGateway();
        for (const ref of played) await compare(programs, ref, found);
        for (const text of [...found.differences, ...found.problems].slice(0, 10)) progress(text);
        return await figures(environment, found, times);
      } finally {
        await programs.stop();
      }
    });
  } finally {
    await raised.remove();
  }
}

/** Two turns per session. One version starts the first turn and is killed, so that the other version continues it. */
async function playRound(
  environment: GatewayEnvironment,
  programs: VersionPrograms,
  refs: readonly SessionRef[],
  { n: round, random }: { readonly n: number; readonly random: () => number },
  found: Found,
): Promise<void> {
  const { turns } = environment;
  const isOdd = round % 2 === 1;
  const [first, second]: readonly [Version, Version] = isOdd ? ["this", "next"] : ["next", "this"];
  await programs.keepWorkers([first]);
  const startSecond = await programs.prepareWorker(second);
  const followers = await Promise.all(
    refs.map(async (ref) => turns.follow(ref, (await turns.checkSession(ref)).state)),
  );
  for (const ref of refs) programs.follow(ref);
  const plans = refs.map((_, n) =>
    [1, 2].map((turn) => randomPlan(`r${round}.${n}.${turn}`, random, SLOWNESS[turn - 1])),
  );
  for (const [isSecond] of [[false], [true]] as const) {
    const messages = await Promise.all(
      refs.map((ref, n) => turns.send(ref, plans[n]?.[isSecond ? 1 : 0] as Plan)),
    );
    if (!isSecond) {
      await until("a running turn", () => followers.some(({ running }) => running !== undefined));
      await startSecond();
      await sleep(random() * 500);
      const running = followers.filter((follower) => follower.running !== undefined);
      const killed = await programs.killWorker(first);
      found.takeovers[second] += running.filter(({ owner }) => owner === killed).length;
    }
    await Promise.all(followers.map((follower, n) => follower.untilEnded(messages[n] ?? "", TURN_MS)));
    await Promise.all(refs.map((ref) => turns.untilIdle(ref, TURN_MS)));
    await programs.keepWorkers();
    for (const [n, ref] of refs.entries()) {
      const { state } = await turns.checkSession(ref);
      const turn = findTurn(state, messages[n] ?? "");
      const plan = plans[n]?.[isSecond ? 1 : 0] as Plan;
      found.turns++;
      if (turn === undefined) found.problems.push(`${plan.name}: the turn is missing`);
      else found.problems.push(...checkPlan(turn, plan, true).problems);
      for (const key of listOnceKeys(plan)) found.onceKeys.add(key);
      await compare(programs, ref, found);
    }
  }
  await Promise.all(followers.map((follower) => follower.stop()));
}

/** Compares what readers and clients of both versions show of an idle session. */
async function compare(programs: VersionPrograms, ref: SessionRef, found: Found): Promise<void> {
  const note = (who: string, actual: unknown, expected: unknown): void => {
    found.comparisons++;
    if (!isDeepStrictEqual(actual, expected))
      found.differences.push(`${ref.session}: ${who}: ${describe(actual, expected)}`);
  };
  const [old, next] = [await programs.read("this", ref), await programs.read("next", ref)];
  const common = toCommon(old.folded);
  note("fold of the next version", toCommon(next.folded), common);
  note("history of this version", toCommon(old.history), common);
  note("turns of this version", old.turns.map(toCommonTurn), common.turns.slice(0, old.turns.length));
  note("history of the next version", next.history, next.folded);
  note("turns of the next version", next.turns, next.folded.turns.slice(0, next.turns.length));
  const cursor = formatCursor(old.folded);
  for (const client of programs.clients) {
    const { state } = await programs.view(client, ref, cursor);
    const { name } = client.program;
    if (client.client === "next" && client.gateway === "next") note(name, state, next.folded);
    else note(name, toCommon(state), common);
  }
}

/** Leaves out what only the raised version has. */
function toCommon(state: Snapshot): Snapshot {
  return { ...state, v: 0, turns: state.turns.map(toCommonTurn) };
}

function toCommonTurn(turn: TurnSnapshot): TurnSnapshot {
  const raised: readonly string[] = RAISED_FIELDS;
  return Object.fromEntries(
    Object.entries(turn).filter(([field]) => !raised.includes(field)),
  ) as unknown as TurnSnapshot;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** Names the first difference. */
function describe(actual: unknown, expected: unknown, path = ""): string {
  if (isObject(actual) && isObject(expected))
    for (const key of new Set([...Object.keys(actual), ...Object.keys(expected)]))
      if (!isDeepStrictEqual(actual[key], expected[key]))
        return describe(actual[key], expected[key], `${path}/${key}`);
  return `${path} is ${JSON.stringify(actual)?.slice(0, 200)} instead of ${JSON.stringify(expected)?.slice(0, 200)}`;
}

function summary({ turns, takeovers, comparisons, differences, problems }: Found) {
  const first = differences[0] ?? problems[0];
  return { turns, takeovers, comparisons, differences: differences.length, problems: problems.length, first };
}

async function figures(environment: GatewayEnvironment, found: Found, times: number): Promise<Figure[]> {
  const counts = new Map<string, number>();
  for (const { key } of await environment.turns.readEffects()) counts.set(key, (counts.get(key) ?? 0) + 1);
  const twice = [...found.onceKeys].filter((key) => (counts.get(key) ?? 0) > 1).length;
  const { running, journal } = await environment.turns.countLeftovers();
  const least = Math.floor(times / 4);
  return [
    { figure: "turns", value: found.turns, atLeast: times },
    { figure: "turns that the next version took over", value: found.takeovers.next, atLeast: least },
    { figure: "turns that this version took over", value: found.takeovers.this, atLeast: least },
    { figure: "comparisons of a state", value: found.comparisons, atLeast: times },
    { figure: "differences in the folded content", value: found.differences.length, exactly: 0 },
    { figure: "turns that did not end as planned", value: found.problems.length, exactly: 0 },
    { figure: "duplicate effects of non-idempotent tools", value: twice, exactly: 0 },
    { figure: "turns left running", value: running, exactly: 0 },
    { figure: "journal rows left", value: journal, exactly: 0 },
  ];
}
