/**
 * `measureGrowth` measures the WAL of turns with more and more steps, how it grows, and how often their content is
 * stored afterwards.
 */
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { costOf } from "../engine/measure-cost.ts";
import { figure, growth, type Measurement } from "../measure.ts";
import { type TurnsEnvironment } from "../turns-environment.ts";
import { longTurnName, randomText, STEP_CHARS, STEP_COUNTS } from "./archive-agents.ts";

const TURNS = 3;
/** Parts of the content that are counted in the tables. A delta or a row may end within a longer one. */
const SAMPLE_CHARS = 100;
const SAMPLES = 40;

export async function measureGrowth(environment: TurnsEnvironment): Promise<Measurement[]> {
  const wal: number[] = [];
  for (const steps of STEP_COUNTS)
    wal.push((await costOf(environment, 1, longTurnName(steps), TURNS)).walBytes);
  const [smallest = Number.NaN, largest = Number.NaN] = [wal[0], wal.at(-1)];
  const [few = 1, many = 1] = [STEP_COUNTS[0], STEP_COUNTS.at(-1)];
  const content = (many * STEP_CHARS) / 1e6;
  return [
    ...STEP_COUNTS.map((steps, n) =>
      figure(
        `turn of ${steps} steps: WAL`,
        (wal[n] ?? Number.NaN) / 1e6,
        `MB for ${((steps * STEP_CHARS) / 1e6).toFixed(2)} MB of content`,
        steps === many ? 1.5 : undefined,
      ),
    ),
    figure(
      `turns of ${few} to ${many} steps: exponent of the WAL`,
      growth(smallest, largest, many / few),
      "1 if proportional",
      1.1,
    ),
    ...(await countCopies(environment, many, content)),
  ];
}

/** The session with the most events is one with a turn of the most steps. */
async function countCopies(
  { backend }: TurnsEnvironment,
  steps: number,
  contentMb: number,
): Promise<Measurement[]> {
  const events =
    "select session_id, sum(length(events::text)) as n from turnstream.archived_events group by 1";
  const of = `session_id = (select session_id from (${events}) s order by n desc limit 1)`;
  const [row] = await runSql(
    backend.databaseUrl,
    `select (select string_agg(events::text, '') from turnstream.archived_events where ${of}) as events,
       (select string_agg(coalesce(message::text, '') || coalesce(snapshot::text, ''), '') from turnstream.turns
        where ${of}) as turns,
       (select coalesce(string_agg(value::text, ''), '') from turnstream.turn_journal where ${of}) as journal,
       (select sum(pg_column_size(events)) from turnstream.archived_events where ${of})
       + (select coalesce(sum(pg_column_size(message)), 0) + coalesce(sum(pg_column_size(snapshot)), 0)
          from turnstream.turns where ${of})
       + (select coalesce(sum(pg_column_size(value)), 0) from turnstream.turn_journal where ${of}) as bytes`,
  );
  const texts = [row?.["events"], row?.["turns"], row?.["journal"]].map(String);
  const samples = Array.from({ length: SAMPLES }, (_, n) => {
    const at = (n * 97) % 3_000;
    // Results of the first steps, and as many answers.
    const isResult = n % 2 === 0;
    const whole = isResult ? randomText(n, 4_000) : randomText(1_000 + (n % steps), 1_000);
    return whole.slice(isResult ? at : 0, (isResult ? at : 0) + SAMPLE_CHARS);
  });
  const copies = samples.reduce(
    (sum, sample) => sum + texts.reduce((n, text) => n + count(text, sample), 0),
    0,
  );
  return [
    {
      ...figure(
        "copies of content after the turn",
        copies / SAMPLES,
        "in archived_events, turns and turn_journal",
        1.3,
      ),
      atLeast: 1,
    },
    figure(
      "stored bytes per byte of content",
      Number(row?.["bytes"]) / 1e6 / contentMb,
      "the same tables, with all other fields of the events",
    ),
  ];
}

function count(text: string, part: string): number {
  return text.split(part).length - 1;
}
