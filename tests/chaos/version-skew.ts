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
import { GatewayEnvironment } from "./gateway-environment.ts";
import type { RunOptions, Scenario } from "./scenario.ts";
import { ACTOR } from "./turn-environment.ts";
import { runTurns, type TurnRun } from "./turn-load.ts";
import { randomPlan } from "./turn-plan.ts";
import { VersionPrograms, type Version } from "./version-programs.ts";

const SESSIONS = 2;
/** The first turn is slow enough that the worker of the other version starts before it ends. */
const SLOWNESS = [1.5, 0.4] as const;

const TAKEN_BY = {
  this: "turns that this version took over",
  next: "turns that the next version took over",
} as const satisfies Record<Version, string>;

function createBounds(times: number) {
  const least = { atLeast: Math.floor(times / 4) };
  return {
    "turns that the next version took over": least,
    "turns that this version took over": least,
    "comparisons of a state": { atLeast: times },
    "differences in the folded content": { exactly: 0 },
  };
}

type Run = TurnRun<keyof ReturnType<typeof createBounds>>;

async function run(options: RunOptions) {
  const { times } = options;
  const raised = await raiseVersion();
  try {
    return await runTurns(options, createBounds(times), async (turnRun) => {
      const { figures } = turnRun;
      const environment = await GatewayEnvironment.over(turnRun.environment);
      const programs = new VersionPrograms(environment, raised.root);
      await programs.start();
      const archived: SessionRef[] = [];
      for (const recorded of await readRecordedArchives())
        archived.push(await loadRecordedArchive(environment.backend.store, ACTOR, recorded));
      for (const ref of archived) {
        programs.follow(ref);
        await compare(programs, ref, figures);
      }
      const played: SessionRef[] = [];
      for (let n = 1; n <= times; n++) {
        const recorded = archived[n - 1];
        const fresh = Array.from({ length: SESSIONS }, () => environment.createSession());
        const refs = recorded === undefined ? await Promise.all(fresh) : [recorded];
        await playRound(turnRun, programs, refs, n);
        played.push(...refs);
        figures.print(`${n} of ${times}`);
      }
      await programs.upgradeGateway();
      for (const ref of played) await compare(programs, ref, figures);
    });
  } finally {
    await raised.remove();
  }
}

/** Two turns per session. One version starts the first turn and is killed, so that the other version continues it. */
async function playRound(
  { environment, load, figures, random }: Run,
  programs: VersionPrograms,
  refs: readonly SessionRef[],
  round: number,
): Promise<void> {
  const [first, second]: readonly [Version, Version] = round % 2 === 1 ? ["this", "next"] : ["next", "this"];
  await programs.keepWorkers([first]);
  const startSecond = await programs.prepareWorker(second);
  for (const ref of refs) programs.follow(ref);
  for (const [turn, slowness] of SLOWNESS.entries()) {
    const loaded = await Promise.all(
      refs.map(async (ref, n) => {
        const follower = environment.follow(ref, (await environment.checkSession(ref)).state);
        return load.send(randomPlan(`r${round}.${n}.${turn}`, random, slowness), follower);
      }),
    );
    if (turn === 0) {
      await until("a running turn", () => loaded.some(({ follower }) => follower.running !== undefined));
      await startSecond();
      await sleep(random() * 500);
      const running = loaded.filter(({ follower }) => follower.running !== undefined);
      const killed = await programs.killWorker(first);
      const cut = running.filter(({ follower }) => follower.owner === killed).length;
      figures.add(TAKEN_BY[second], cut);
    }
    for (const each of loaded) await load.judge(each);
    await programs.keepWorkers();
    for (const ref of refs) await compare(programs, ref, figures);
  }
}

/** Compares what readers and clients of both versions show of an idle session. */
async function compare(programs: VersionPrograms, ref: SessionRef, figures: Run["figures"]): Promise<void> {
  const note = (who: string, actual: unknown, expected: unknown): void => {
    figures.add("comparisons of a state");
    if (!isDeepStrictEqual(actual, expected))
      figures.report("differences in the folded content", [
        `${ref.session}: ${who}: ${describe(actual, expected)}`,
      ]);
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

export const versionSkew: Scenario = {
  promise: 38,
  about: "runs two schema versions beside each other and kills workers: 0 differences in the folded content",
  times: 40,
  short: 2,
  run,
};
