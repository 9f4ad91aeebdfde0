/** `askAll` starts turns that wait for an approval, and `decideSome` measures decisions. */
import { setTimeout as sleep } from "node:timers/promises";
import { decideApproval, type SessionRef } from "@turnstream/server";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { createGate, send, type TurnsEnvironment, watchSessions } from "../turns-environment.ts";

const AT_ONCE = 50;

/** Starts the turns in small batches. Another bench measures how many turns a worker can start at once. */
export async function askAll(environment: TurnsEnvironment, refs: readonly SessionRef[]): Promise<void> {
  for (let n = 0; n < refs.length; n += AT_ONCE) {
    await Promise.all(refs.slice(n, n + AT_ONCE).map((ref) => send(environment, ref, "asking")));
    // Don't wait for the last calls of this batch: the next batch may start meanwhile.
    await waitFor(environment, n);
  }
  await waitFor(environment, refs.length);
}

async function waitFor({ backend }: TurnsEnvironment, count: number): Promise<void> {
  while (true) {
    const [row] = await runSql(
      backend.databaseUrl,
      "select count(*) from interactions where status = 'pending'",
    );
    if (Number(row?.["count"]) >= count) return;
    await sleep(100);
  }
}

/**
 * Decides one call after the other while all others wait. @returns milliseconds from each command to the tool's start
 */
export async function decideSome(
  environment: TurnsEnvironment,
  refs: readonly SessionRef[],
): Promise<number[]> {
  const times: number[] = [];
  for (const ref of refs) {
    const started = createGate();
    const stop = await watchSessions(environment, [ref], ({ type }) => {
      if (type === "tool_result.start") started.open();
    });
    const [asked] = await environment.backend.store.interactions.list(ref, { pending: true });
    if (asked === undefined) throw new Error(`no approval is pending in ${ref.session}`);
    const startedAt = performance.now();
    await Promise.all([
      decideApproval(environment.backend, ref, {
        key: asked.key,
        decision: "approve",
        userId: environment.actor.user,
      }),
      started.opened,
    ]);
    times.push(performance.now() - startedAt);
    await stop();
  }
  return times;
}
