/**
 * `measureContext` measures what a turn reads of the turns before it, in a session of more and more turns. Counts the
 * rows, and the bytes of their JSON.
 */
import { readPriorTurns } from "@turnstream/server/internal";
import type { Store } from "@turnstream/server/ports";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { figure, type Measurement } from "../measure.ts";
import { openSessions, runTurns, type TurnsEnvironment } from "../turns-environment.ts";
import { WorkerProcess } from "../worker-process.ts";

const LENGTHS = [10, 100, 500];
/** What a turn reads by default: twice the budget of its prompt. */
const MAX_TOKENS = 200_000;
const MAX_MB = 2.5;

export async function measureContext(environment: TurnsEnvironment): Promise<Measurement[]> {
  const [ref] = await openSessions(environment, 1);
  if (ref === undefined) return [];
  const worker = await WorkerProcess.start(environment);
  const measurements: Measurement[] = [];
  let turns = 0;
  for (const length of LENGTHS) {
    for (; turns < length; turns++) await runTurns(environment, [ref], "one_lookup");
    const read: string[] = [];
    const { store } = environment.backend;
    const current = { id: "next", number: length + 1, retries: null };
    const prior = await readPriorTurns(countingStore(store, read), ref, current, {
      withImages: false,
      maxTokens: MAX_TOKENS,
    });
    const bytes = await bytesOf(environment, ref.session, read);
    const note = `MB, ${read.length} turns read, ${prior.turns.length} in the prompt`;
    measurements.push(figure(`context after ${length} turns: read`, bytes / 1e6, note, MAX_MB));
  }
  await worker.shutdown();
  return measurements;
}

function countingStore(store: Store, read: string[]): Store {
  const list: Store["turns"]["list"] = async (...of) => {
    const page = await store.turns.list(...of);
    read.push(...page.map(({ id }) => id));
    return page;
  };
  return { ...store, turns: { ...store.turns, list } };
}

async function bytesOf(
  { backend }: TurnsEnvironment,
  session: string,
  turns: readonly string[],
): Promise<number> {
  const ids = turns.map((id) => `'${id}'`).join(",");
  const [row] = await runSql(
    backend.databaseUrl,
    `with read as (select * from turnstream.turns where session_id = '${session}' and id in (${ids}))
     select (select sum(length(e.events::text)) from turnstream.archived_events e, read
         where e.session_id = '${session}' and e.last_seq between read.start_seq and read.end_seq)
       + (select sum(length(coalesce(message::text, '')) + length(coalesce(snapshot::text, ''))) from read)
       + (select coalesce(sum(length(value::text)), 0) from turnstream.turn_journal j
         where j.session_id = '${session}' and kept and j.turn in (${ids})) as bytes`,
  );
  return Number(row?.["bytes"]);
}
