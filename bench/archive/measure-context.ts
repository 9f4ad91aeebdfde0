/**
 * `measureContext` measures what a turn reads of the turns before it, in sessions of more and more turns. Counts the
 * turns, and the bytes of the JSON in their rows. No turn runs: the sessions are archived as a whole.
 */
import { LogWriter } from "@turnstream/conformance/support/log-writer.ts";
import { emptyState, foldAll, formatCursor, SCHEMA_VERSION, START_CURSOR } from "@turnstream/protocol";
import { coalesce } from "@turnstream/protocol/writer";
import type { SessionRef } from "@turnstream/server";
import { changedTurns, readPriorTurns, type Store } from "@turnstream/server/internal";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { figure, type Measurement } from "../measure.ts";
import { openSessions, type TurnsEnvironment } from "../turns-environment.ts";
import { randomText } from "./archive-agents.ts";

const LENGTHS = [10, 100, 500];
const RESULT_CHARS = 2_000;
const ANSWER_CHARS = 1_500;
const CALLS = 3;
/** What a turn reads by default: twice the budget of its prompt. */
const MAX_TOKENS = 200_000;
/** The turns that fill it, and one page. */
const MAX_MB = 2.5;

export async function measureContext(environment: TurnsEnvironment): Promise<Measurement[]> {
  const measurements: Measurement[] = [];
  for (const length of LENGTHS) {
    const [ref] = await openSessions(environment, 1);
    if (ref === undefined) throw new Error("there is no session");
    const { store } = environment.backend;
    await archiveTurns(store, ref, length);
    const read: string[] = [];
    const current = { id: "next", number: length + 1, retries: null };
    const context = { store: countingStore(store, read), requestKinds: new Map() };
    const options = { withImages: false, maxTokens: MAX_TOKENS };
    const prior = await readPriorTurns({ context, ref }, current, options);
    const bytes = await bytesOf(environment, ref.session, read);
    const note = `MB, ${read.length} turns read, ${prior.turns.length} in the prompt`;
    measurements.push(figure(`context after ${length} turns: read`, bytes / 1e6, note, MAX_MB));
  }
  return measurements;
}

/** Archives turns with three calls and an answer each, with the entries that their journal retains. */
async function archiveTurns(store: Store, ref: SessionRef, turns: number): Promise<void> {
  const log = new LogWriter({ check: false }).session(ref.session);
  const { epoch } = await store.epochs.next(ref, { seen: 0 });
  const journal = [];
  for (let n = 0; n < turns; n++) {
    log.begin("Continue.");
    for (let call = 0; call < CALLS; call++) {
      const id = log.call("read", [`{"n":${n}}`]);
      log.result(id, "read", randomText(n * CALLS + call, RESULT_CHARS));
      journal.push({ turn: log.turn, key: `call/${id}`, value: { event: "text" }, epoch, isRetained: true });
    }
    log.text([randomText(1e6 + n, ANSWER_CHARS)], { final: true }).end();
  }
  const state = foldAll(log.events);
  const { turns: _, ...header } = state;
  await store.archive.write(ref, {
    from: START_CURSOR,
    to: formatCursor(state),
    epoch,
    events: coalesce(log.events),
    turns: changedTurns(emptyState, state),
    header,
    v: SCHEMA_VERSION,
  });
  for (const entry of journal) await store.journal.write(ref, entry);
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
     select (select sum(length(events::text)) from turnstream.archived_events
         where session_id = '${session}' and last_seq >= (select min(start_seq) from read)
           and last_seq <= (select min(last_seq) from turnstream.archived_events
             where session_id = '${session}' and last_seq >= (select max(end_seq) from read)))
       + (select sum(length(coalesce(message::text, '')) + length(coalesce(snapshot::text, ''))) from read)
       + (select coalesce(sum(length(value::text)), 0) from turnstream.turn_journal j
         where j.session_id = '${session}' and j.turn in (${ids})) as bytes`,
  );
  return Number(row?.["bytes"]);
}
