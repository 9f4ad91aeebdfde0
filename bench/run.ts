/**
 * Runs one bench: `npm run bench -- NAME`. It prints one JSON object per measurement and a summary line. With `--check`
 * the exit code is 0 only if every measurement is within its bound.
 */
import { benchArchive } from "./archive/archive.ts";
import { compare } from "./compare.ts";
import { benchDialects } from "./dialects.ts";
import { benchEngine } from "./engine/engine.ts";
import { benchFairness } from "./fairness.ts";
import { benchFirstHour } from "./first-hour/first-hour.ts";
import { benchFoldPeers } from "./fold-peers.ts";
import { benchFold } from "./fold.ts";
import { benchGateway } from "./gateway.ts";
import { benchLog } from "./log.ts";
import { isOk, type Measurement } from "./measure.ts";
import { benchQueue } from "./queue/queue.ts";
import { benchReact } from "./react.ts";
import { benchRedisGrowth } from "./redis-growth.ts";
import { benchTables } from "./tables/tables.ts";
import { benchTlsTurns } from "./tls-turns.ts";
import { benchTurnCost } from "./turn-cost.ts";
import { benchTurns } from "./turns.ts";

const BENCHES: Readonly<
  Record<string, (parts: readonly string[]) => Measurement[] | Promise<Measurement[]>>
> = {
  fold: () => (process.argv.includes("--peers") ? benchFoldPeers() : benchFold()),
  dialects: benchDialects,
  log: benchLog,
  gateway: benchGateway,
  turns: benchTurns,
  "tls-turns": benchTlsTurns,
  "turn-cost": benchTurnCost,
  engine: benchEngine,
  queue: benchQueue,
  archive: benchArchive,
  fairness: benchFairness,
  "redis-growth": () => benchRedisGrowth(),
  tables: () => benchTables(),
  react: benchReact,
  "first-hour": benchFirstHour,
};

const HELP = `npm run bench -- NAME [--check]
npm run bench -- compare REF NAME    this checkout and another commit, in seven alternating pairs

Benches: ${Object.keys(BENCHES).join(", ")}
  --check   exit with 1 if a figure is not within its bound
  --ours    log only: without the bare stream
  --peers   fold only: measure other libraries on the same turns instead (two minutes)
  fan-out, memory, storm   gateway only: these parts
  --short   react, queue, redis-growth and tables: a small run, as a smoke test

Example: npm run bench -- fold --check`;

const [name, ...words] = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const bench = name === undefined ? undefined : BENCHES[name];

if (name === "compare" && BENCHES[words[1] ?? ""] !== undefined) {
  const [ref = "", ...benchWords] = words;
  const compared = await compare(ref, benchWords);
  for (const figure of compared) console.log(JSON.stringify({ bench: benchWords[0], ...figure }));
  const worse = compared.filter(({ ok }) => !ok).map(({ measure }) => measure);
  console.log(JSON.stringify({ bench: benchWords[0], ref, ok: worse.length === 0, worse }));
  if (worse.length > 0) process.exitCode = 1;
} else if (bench === undefined || process.argv.includes("--help")) {
  console.log(HELP);
  process.exitCode = bench === undefined && name !== undefined ? 2 : 0;
} else {
  const measurements = await bench(words);
  for (const measurement of measurements) {
    console.log(JSON.stringify({ bench: name, ...measurement, ok: isOk(measurement) }));
  }
  const missed = measurements.filter((measurement) => !isOk(measurement)).map(({ measure }) => measure);
  console.log(
    JSON.stringify({ bench: name, ok: missed.length === 0, measured: measurements.length, missed }),
  );
  if (missed.length > 0 && process.argv.includes("--check")) process.exitCode = 1;
}
