/**
 * `postgresFailover` replaces PostgreSQL by an older copy of its data, as a failover to an asynchronous replica does.
 * Turns that ended after the copy are missing in the archive. In half of the sessions their events are still in the log,
 * in the other half the log was trimmed.
 *
 * Invariant: no session is stuck. What the log still has is archived again. The rest is reported as lost, and the next
 * turn announces it in the log.
 */
import { execFile } from "node:child_process";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { listBlocks } from "@turnstream/protocol";
import { archiveSession, trimLog } from "@turnstream/server/internal";
import type { SessionRef } from "@turnstream/server";
import { findPostgres } from "@turnstream/testkit/servers/find-binary.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { checkPlan, isLossText } from "./check-plan.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";
import { findTurn, TurnEnvironment } from "./turn-environment.ts";
import { type Plan, randomText } from "./turn-plan.ts";

const WORKERS = 2;
const SESSIONS = 4;
const TURN_MS = 120_000;
const REPORT = /LOST: The archive of session (\S+) ends/;

const execute = promisify(execFile);

export const postgresFailover: Scenario = {
  promise: 34,
  about: "fails PostgreSQL over to an older copy of its data: no session is stuck, and each loss is reported",
  times: 100,
  short: 1,
  run,
};

interface Played {
  readonly ref: SessionRef;
  readonly isTrimmed: boolean;
  /** The message whose turn the failover removes from PostgreSQL. */
  readonly message: string;
  readonly plan: Plan;
}

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  return TurnEnvironment.use(async (environment) => {
    const found = {
      stuck: 0,
      wrong: [] as string[],
      healed: 0,
      unreported: 0,
      unannounced: 0,
      silent: 0,
      illegal: 0,
    };
    for (let n = 1; n <= times; n++) {
      await readyWorkers(environment);
      const refs = await Promise.all(Array.from({ length: SESSIONS }, () => environment.createSession()));
      for (const [s, ref] of refs.entries())
        await answer(environment, ref, shortPlan(`r${n}.${s}.1`, random));
      await backUp(environment);
      const played: Played[] = [];
      for (const [s, ref] of refs.entries()) {
        const plan = shortPlan(`r${n}.${s}.2`, random);
        const message = await answer(environment, ref, plan);
        await archiveSession(environment.backend, ref);
        const isTrimmed = s % 2 === 0;
        if (isTrimmed) await trimLog(environment.backend, ref);
        played.push({ ref, isTrimmed, message, plan });
      }
      await failOver(environment);
      await readyWorkers(environment);
      for (const [s, each] of played.entries())
        await check(environment, each, shortPlan(`r${n}.${s}.3`, random), found);
      progress(`${n} of ${times}: ${JSON.stringify(found)}`);
    }
    return [
      { figure: "stuck sessions", value: found.stuck, exactly: 0 },
      { figure: "later turns that differ from their plan", value: found.wrong.length, exactly: 0 },
      { figure: "events that break a rule", value: found.illegal, exactly: 0 },
      { figure: "lost turns without a report", value: found.unreported, exactly: 0 },
      {
        figure: "losses that the next turn did not announce, or announcements without a loss",
        value: found.unannounced,
        exactly: 0,
      },
      { figure: "turns lost although the log had them", value: found.silent, exactly: 0 },
      {
        figure: "turns that were archived again from the log",
        value: found.healed,
        exactly: (times * SESSIONS) / 2,
      },
    ];
  });
}

function shortPlan(name: string, random: () => number): Plan {
  const calls = [{ tool: "again", key: `${name}.a`, ms: 10 } as const];
  return {
    name,
    steps: [{ think: `Think ${randomText(random, 5)}`, text: "", calls }],
    final: `Done with ${name}: ${randomText(random, 8)}`,
    paceMs: 2,
  };
}

async function readyWorkers(environment: TurnEnvironment): Promise<void> {
  await until("a usable database", () =>
    environment.backend.store.leases.status().then(
      () => true,
      () => false,
    ),
  );
  environment.keepWorkers(WORKERS);
  await Promise.all(environment.workers.filter((each) => !each.hasExited).map((each) => each.ready()));
}

/** Sends a message and waits until its turn has ended. */
async function answer(environment: TurnEnvironment, ref: SessionRef, plan: Plan): Promise<string> {
  let message = "";
  // The connections of this process may be those to the stopped server.
  await until("a sent message", () =>
    environment.send(ref, plan).then(
      (id) => {
        message = id;
        return true;
      },
      () => false,
    ),
  );
  const hasEnded = async () => {
    const { state } = await environment.checkSession(ref);
    return (findTurn(state, message)?.status ?? "running") !== "running";
  };
  await until(`the turn of ${message}`, hasEnded, { timeoutMs: TURN_MS, everyMs: 100 });
  await environment.untilIdle(ref, TURN_MS);
  return message;
}

/** Copies the data of the running server, as a replica that then falls behind. */
async function backUp({ backend: { postgres } }: TurnEnvironment): Promise<void> {
  const [data, older] = [join(postgres.folder, "data"), join(postgres.folder, "older")];
  const program = join(findPostgres().postgres, "..", "pg_basebackup");
  await execute(program, ["-d", postgres.url, "-D", older, "-X", "stream", "-c", "fast"]);
  await execute("chown", ["-R", `--reference=${data}`, older]);
}

/** Kills PostgreSQL, and starts it with the older data. */
async function failOver({ backend: { postgres } }: TurnEnvironment): Promise<void> {
  await postgres.kill();
  await rm(join(postgres.folder, "data"), { recursive: true });
  await rename(join(postgres.folder, "older"), join(postgres.folder, "data"));
  await postgres.restart();
}

async function check(
  environment: TurnEnvironment,
  { ref, isTrimmed, message }: Played,
  next: Plan,
  found: {
    stuck: number;
    wrong: string[];
    healed: number;
    unreported: number;
    unannounced: number;
    silent: number;
    illegal: number;
  },
): Promise<void> {
  let sent: string;
  try {
    sent = await answer(environment, ref, next);
  } catch {
    found.stuck++;
    return;
  }
  const { state, illegal } = await environment.checkSession(ref);
  found.illegal += illegal.length;
  const turn = findTurn(state, sent);
  if (turn !== undefined) found.wrong.push(...checkPlan(turn, next, true).problems);
  const isThere = findTurn(state, message) !== undefined;
  const isAnnounced = turn !== undefined && listBlocks(turn).some(isLossText);
  if (isAnnounced === isThere) found.unannounced++;
  const reports = environment.workers.flatMap(({ failures }) =>
    failures.flatMap((text) => REPORT.exec(text)?.[1] ?? []),
  );
  if (isThere) found.healed++;
  else if (!isTrimmed) found.silent++;
  else if (!reports.includes(ref.session)) found.unreported++;
}
