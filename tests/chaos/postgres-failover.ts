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
import { foldAll, listBlocks, type Turn } from "@turnstream/protocol";
import { archiveSession } from "@turnstream/server/internal";
import { trimLog } from "@turnstream/testkit/backend/trim-log.ts";
import type { SessionRef } from "@turnstream/server";
import { readAllEvents } from "@turnstream/testkit/backend/read-all-events.ts";
import { findPostgres } from "@turnstream/testkit/servers/find-binary.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { checkPlan, isLossText } from "./check-plan.ts";
import { Figures } from "./figures.ts";
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
  /** Whether the log can't restore the archive. */
  readonly isTrimmed: boolean;
  /** The message whose turn the failover removes from PostgreSQL. */
  readonly message: string;
}

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  const figures = createFigures(times, progress);
  return TurnEnvironment.use(async (environment) => {
    for (let n = 1; n <= times; n++) {
      const plan = () => shortPlan(`r${n}.${random()}`, random);
      await environment.keepReadyWorkers(WORKERS);
      const refs = await Promise.all(Array.from({ length: SESSIONS }, () => environment.createSession()));
      for (const ref of refs) await answer(environment, ref, plan());
      await backUp(environment);
      const played: Played[] = [];
      for (const ref of refs) {
        const isTrimmed = played.length % 2 === 0;
        played.push({ ref, isTrimmed, message: await answer(environment, ref, plan()) });
        await archiveSession(environment.backend, ref);
        if (isTrimmed) await trimLog(environment.backend, ref);
      }
      await failOver(environment);
      await environment.keepReadyWorkers(WORKERS);
      for (const each of played) await check(environment, each, plan(), figures);
      figures.print(`${n} of ${times}`);
    }
    return figures.list();
  });
}

function createFigures(times: number, progress: RunOptions["progress"]) {
  return new Figures(progress, {
    "stuck sessions": { exactly: 0 },
    "later turns that differ from their plan": { exactly: 0 },
    "events that break a rule": { exactly: 0 },
    "lost turns without a report": { exactly: 0 },
    "losses that the next turn did not announce, or announcements without a loss": { exactly: 0 },
    "turns lost although the log had them": { exactly: 0 },
    "turns that were archived again from the log": { exactly: (times * SESSIONS) / 2 },
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

/** Sends a message and waits until its turn has ended. */
async function answer(environment: TurnEnvironment, ref: SessionRef, plan: Plan): Promise<string> {
  let message = "";
  // The connections of this process may be those to the stopped server.
  await until("a sent message", async () => {
    message = await environment.send(ref, plan).catch(() => "");
    return message !== "";
  });
  const hasEnded = async () => {
    const state = foldAll(await readAllEvents(environment.backend, ref));
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
async function failOver({ backend: { postgres, store } }: TurnEnvironment): Promise<void> {
  await postgres.kill();
  await rm(join(postgres.folder, "data"), { recursive: true });
  await rename(join(postgres.folder, "older"), join(postgres.folder, "data"));
  await postgres.restart();
  const isUsable = () => store.leases.status().then(Boolean, () => false);
  await until("a usable database", isUsable);
}

async function check(
  environment: TurnEnvironment,
  { ref, isTrimmed, message }: Played,
  plan: Plan,
  figures: ReturnType<typeof createFigures>,
): Promise<void> {
  const { session } = ref;
  const next = await answer(environment, ref, plan).catch((error: unknown) =>
    figures.report("stuck sessions", [`${session}: ${String(error)}`]),
  );
  if (next === undefined) return;
  const { state, illegal } = await environment.checkSession(ref);
  figures.report("events that break a rule", illegal);
  const turn = findTurn(state, next) as Turn;
  figures.report("later turns that differ from their plan", checkPlan(turn, plan, true).problems);
  const isThere = findTurn(state, message) !== undefined;
  if (listBlocks(turn).some(isLossText) === isThere)
    figures.report("losses that the next turn did not announce, or announcements without a loss", [session]);
  const reported = environment.failures.flatMap((text) => REPORT.exec(text)?.[1] ?? []);
  if (isThere) figures.add("turns that were archived again from the log");
  else if (!isTrimmed) figures.report("turns lost although the log had them", [session]);
  else if (!reported.includes(session)) figures.report("lost turns without a report", [session]);
}
