/**
 * Runs one scenario: `npm run chaos -- NAME`. It injects one kind of fault into real servers as often as
 * docs/reliability.md states. It prints one JSON object per figure and a summary line. The exit code is 0 only if every
 * figure is within its bounds.
 */
import { readSeed, seededRandom } from "@turnstream/testkit/util/seeded-random.ts";
import { runInNamespace } from "@turnstream/testkit/network/partitioned-network.ts";
import { isMet, type Scenario } from "./scenario.ts";
import { SCENARIOS } from "./scenarios.ts";

const HELP = `npm run chaos -- NAME [--times N] [--seed N] [--short]

${Object.entries(SCENARIOS)
  .map(([name, { about, times }]) => `  ${name.padEnd(16)} ${about} (${times} times)`)
  .join("\n")}

  --times N   how many times, instead of the full number
  --short     the short form of CI, where the scenario has one
  --seed N    repeats the random choices of an earlier run

Example: npm run chaos -- redis-kill --times 20`;

function option(name: string): number | undefined {
  const at = process.argv.indexOf(`--${name}`);
  const value = at < 0 ? Number.NaN : Number(process.argv[at + 1]);
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
  const times = option("times") ?? (isShort ? (chosen.short ?? chosen.times) : chosen.times);
  const seed = option("seed") ?? readSeed();
  const started = performance.now();
  const figures = await chosen.run({
    times,
    isShort,
    random: seededRandom(seed),
    progress: (text) => console.error(`[${title}] ${text}`),
  });
  for (const figure of figures) console.log(JSON.stringify({ chaos: title, ...figure, ok: isMet(figure) }));
  const missed = figures.filter((figure) => !isMet(figure)).map(({ figure }) => figure);
  const seconds = Math.round((performance.now() - started) / 1000);
  const ok = missed.length === 0;
  console.log(JSON.stringify({ chaos: title, ok, promise: chosen.promise, times, seed, seconds, missed }));
  return ok ? 0 : 1;
}
