/**
 * `playRound` writes to and reads from new sessions while a fault happens, and returns what they did. Does not judge it.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "@turnstream/server/internal";
import type { Operation } from "@turnstream/testkit/history/check-history.ts";
import { recordFinal } from "@turnstream/testkit/history/record-history.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { NEVER_MS } from "./scenario.ts";
import { type LoadOptions, SessionLoad } from "./session-load.ts";

export interface RoundOptions extends LoadOptions {
  /** No two rounds of a run have the same name. */
  readonly name: string;
  readonly sessions: number;
  /** Records the list of a session. Default: the whole log in the end */
  readonly recordList?: (session: SessionLoad, log: Log) => Promise<void>;
}

/** @param fault starts the load, and returns when the load has recovered from the fault */
export async function playRound(
  options: RoundOptions,
  fault: (load: LogLoad) => Promise<void>,
): Promise<Operation[]> {
  const load = new LogLoad(options);
  try {
    await load.add(options.sessions);
    await fault(load);
    return await load.finish();
  } finally {
    await Promise.all(load.sessions.map((session) => session.stop()));
  }
}

export class LogLoad {
  readonly sessions: SessionLoad[] = [];
  readonly #options: RoundOptions;

  constructor(options: RoundOptions) {
    this.#options = options;
  }

  /** Adds sessions that don't write yet. */
  async add(count: number): Promise<void> {
    for (let n = 0; n < count; n++)
      this.sessions.push(
        await SessionLoad.create(this.#options, `${this.#options.name}-${this.sessions.length}`),
      );
  }

  start(): void {
    for (const session of this.sessions) session.start();
  }

  /** Waits until every writer has got a new answer. */
  async recovered(): Promise<void> {
    const started = this.sessions.filter(({ working }) => working !== null);
    const before = started.map(({ answers }) => ({ answers, ...answers }));
    const recovered = until("all writers to recover", () =>
      before.every(({ answers, owner, joiner }) => answers.owner > owner && answers.joiner > joiner),
    );
    await Promise.race([recovered, ...started.map(({ working }) => working)]);
  }

  /** Ends the writing, and gives the readers time to receive everything. */
  async finish(): Promise<Operation[]> {
    const { owners, recordList = recordLog } = this.#options;
    await Promise.all(this.sessions.map((session) => session.settle()));
    await Promise.all(this.sessions.map((session) => recordList(session, owners)));
    const deadline = performance.now() + NEVER_MS;
    while (!this.sessions.every(hasReadAll) && performance.now() < deadline) await sleep(5);
    const history = this.sessions.flatMap((session) => session.history);
    await Promise.all(this.sessions.map((session) => session.stop()));
    await Promise.all(this.sessions.map(({ ref }) => owners.remove(ref)));
    return history;
  }
}

async function recordLog({ ref, history }: SessionLoad, log: Log): Promise<void> {
  await recordFinal(log, ref, (operation) => history.push(operation));
}

function hasReadAll({ history, readers }: SessionLoad): boolean {
  const list = history.findLast((operation) => operation.type === "final");
  const last = list?.entries.at(-1)?.position;
  return readers.every(({ position }) => last === undefined || position === last);
}
