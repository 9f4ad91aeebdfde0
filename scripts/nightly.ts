/**
 * Runs one part of what a push doesn't run: `npm run test:nightly -- PART`. Each part ends within 30 minutes on two
 * cores. Properties and generators get a new seed, which the output names.
 */
import { randomInt } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { inSeconds, root, runCommand } from "./run-command.ts";
import { describeRun, runVitest } from "./run-vitest.ts";

type Step =
  | { readonly tests: readonly string[]; readonly env?: Readonly<Record<string, string>> }
  | { readonly command: string };

/** The files of docs/attacks.md that attack a gateway over HTTP. */
const ATTACKS = [
  "attacks/",
  "auth/",
  "entrances",
  "equal-ids",
  "gateway-audit",
  "hidden-content",
  "http/raw-requests",
  "http/resources",
  "http/served-files",
  "http/shares",
  "limits/caller-limits",
  "security-events",
  "sse/streams",
  "sse/tickets",
  "ws/authorize-upgrade",
  "ws/hostile-connections",
  "ws/sockets",
].map((name) => `packages/server/test/gateway/${name}`);

const PARTS: Readonly<Record<string, { readonly about: string; readonly steps: readonly Step[] }>> = {
  servers: {
    about:
      "all contracts on servers, kills, restarts, query plans, and the attacks on each mounting of the gateway",
    steps: [
      { tests: ["--project=nightly"] },
      ...["express", "fastify", "fetch"].map((mounting) => ({
        tests: ["--project=test", "--project=services", ...ATTACKS],
        env: { TURNSTREAM_MOUNTING: mounting },
      })),
    ],
  },
  browser: {
    about: "pages and network faults in Chromium, and the React package and the gallery on React 18",
    steps: [
      {
        tests: [
          "--project=browser-nightly",
          "--exclude=tests/gallery/**",
          "--exclude=tests/browser/hidden-tabs*",
        ],
      },
      {
        tests: ["--project=test", "--project=isolated", "packages/react/test"],
        env: { TURNSTREAM_REACT: "18" },
      },
      {
        // MUI, whose resets the excluded file loads, has its own React.
        tests: [
          "--project=browser-nightly",
          "--project=browser",
          "--exclude=tests/gallery/resets.browser.nightly.test.ts",
          "tests/gallery",
          "thread",
          "chat",
        ],
        env: { TURNSTREAM_REACT: "18" },
      },
    ],
  },
  tabs: {
    about: "twenty tabs of a browser that are hidden and shown at random for ten minutes",
    steps: [{ tests: ["--project=browser-nightly", "tests/browser/hidden-tabs"] }],
  },
  chaos: {
    about: "the short form of every chaos scenario",
    steps: [{ tests: ["--project=chaos"] }],
  },
  explore: {
    about: "properties at full size with a new seed",
    steps: [{ tests: ["--project=test", "--project=services"], env: { TURNSTREAM_FULL: "1" } }],
  },
  packages: {
    about:
      "packed packages, sizes, licences, vulnerabilities, limits of time and memory, the gallery, ten minutes of fuzzing",
    steps: [
      { command: "node scripts/check-packages.ts" },
      { tests: ["--project=limits"] },
      { tests: ["--project=browser-nightly", "tests/gallery"] },
      { command: "npm run --silent fuzz -- --minutes 10" },
    ],
  },
};

const HELP = `npm run test:nightly -- PART

${Object.entries(PARTS)
  .map(([name, { about }]) => `  ${name.padEnd(10)} ${about}`)
  .join("\n")}

TURNSTREAM_SEED=N repeats the cases of an earlier run.`;

const [name = ""] = process.argv.slice(2);
const part = PARTS[name];

if (part === undefined) {
  console.log(HELP);
  process.exitCode = name === "" || name === "--help" ? 0 : 2;
} else {
  const seed = process.env["TURNSTREAM_SEED"] ?? String(randomInt(2 ** 31));
  const started = performance.now();
  const failures: string[] = [];
  const flaky: string[] = [];
  for (const step of part.steps) {
    if ("command" in step) {
      const { ok, seconds } = await runCommand(step.command);
      console.log(`[nightly] ${step.command}: ${ok ? "ok" : "FAILED"}, ${inSeconds(seconds)}`);
      if (!ok) failures.push(step.command);
      continue;
    }
    const run = await runVitest(step.tests, {
      env: { TURNSTREAM_SEED: seed, TURNSTREAM_NIGHTLY: "1", ...step.env },
    });
    console.log(`[nightly] ${step.tests.join(" ")}: ${describeRun(run)}`);
    failures.push(...run.failures);
    flaky.push(...run.flaky);
  }
  const ok = failures.length === 0;
  const seconds = Math.round((performance.now() - started) / 1000);
  const commit = execFileSync("git", ["rev-parse", "HEAD"], { cwd: root, encoding: "utf8" }).trim();
  mkdirSync(join(root, ".artefacts"), { recursive: true });
  const summary = { part: name, ok, commit, seed: Number(seed), seconds, flaky, failed: failures };
  writeFileSync(join(root, `.artefacts/nightly-${name}.json`), JSON.stringify(summary, null, 2));
  for (const failure of failures) console.log(`[nightly] failed: ${failure}`);
  if (!ok) console.log(`[nightly] repeat: TURNSTREAM_SEED=${seed} npm run test:nightly -- ${name}`);
  console.log(JSON.stringify({ ...summary, failed: failures.length }));
  process.exitCode = ok ? 0 : 1;
}
