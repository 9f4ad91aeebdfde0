/**
 * Runs one scenario: `npm run chaos -- NAME`. It injects one kind of fault into real servers as often as
 * docs/reliability.md states. It prints one JSON object per figure and a summary line. The exit code is 0 only if every
 * figure is within its bounds.
 */
import { writeRecording } from "@turnstream/testkit/history/recorded-history.ts";
import { readSeed, seededRandom } from "@turnstream/testkit/util/seeded-random.ts";
import { runInNamespace } from "@turnstream/testkit/network/partitioned-network.ts";
import { isMet, type Scenario } from "./scenario.ts";
import { SCENARIOS } from "./scenarios.ts";

const HELP = `npm run chaos -- NAME [--times N] [--seed N] [--short] [--record FILE]

${Object.entries(SCENARIOS)
  .map(([name, { about, times }]) => `  ${name.padEnd(16)} ${about} (${times} times)`)
  .join("\n")}

  --times N   how many times, instead of the full number
  --short     the short form of the nightly tests, where the scenario has one
  --seed N    repeats the random choices of an earlier run
  --record F  writes the history of one session to this file, where the scenario checks histories

Example: npm run chaos -- redis-kill --times 20`;

function option(name: string): string | undefined {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
}

function numberOption(name: string): number | undefined {
  const value = Number(option(name));
  return Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

const [name] = process.argv.slice(2);
const scenario = name === undefined ? undefined : SCENARIOS[name];

if (scenario === undefined || process.argv.includes("--help")) {
  console.log(HELP);
  process.exitCode = name === undefined || process.argv.includes("--help") ? 0 : 2;
} else {
  const exitCode = scenario.usesNamespaces === true ? runInNamespace() : null;
  process.exitCode = exitCode ?? (await runScenario(name as string, scenario));
}

async function runScenario(title: string, chosen: Scenario): Promise<number> {
  const isShort = process.argv.includes("--short");
  const times = numberOption("times") ?? (isShort ? (chosen.short ?? chosen.times) : chosen.times);
  const seed = numberOption("seed") ?? readSeed();
  const recording = option("record");
  const started = performance.now();
  const figures = await chosen.run({
    times,
    isShort,
    random: seededRandom(seed),
    progress: (text) => console.error(`[${title}] ${text}`),
    ...(recording === undefined ? {} : { record: (history) => writeRecording(recording, history) }),
  });
  for (const figure of figures) console.log(JSON.stringify({ chaos: title, ...figure, ok: isMet(figure) }));
  const missed = figures.filter((figure) => !isMet(figure)).map(({ figure }) => figure);
  const seconds = Math.round((performance.now() - started) / 1000);
  const ok = missed.length === 0;
  console.log(JSON.stringify({ chaos: title, ok, promise: chosen.promise, times, seed, seconds, missed }));
  return ok ? 0 : 1;
}
