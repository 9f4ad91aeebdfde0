/**
 * `npm start` starts the clinic with everything that it needs, until Ctrl-C: PostgreSQL, Redis, the payment sandbox and
 * the page. It leaves no process or folder behind.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { freePort } from "@turnstream/testkit/network/free-port.ts";
import { PaymentSandboxProgram } from "@turnstream/testkit/payments/payment-sandbox-program.ts";
import { makeFolder, removeFolder } from "@turnstream/testkit/processes/watch.ts";
import { startPostgres } from "@turnstream/testkit/servers/start-postgres.ts";
import { startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import react from "@vitejs/plugin-react";
import { build } from "vite";
import { startClinic } from "./clinic-server.ts";

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "4500" },
    "pay-seconds": { type: "string", default: "900" },
  },
});

/** Cleanup steps, run in reverse order of the starts. */
const endings: (() => unknown)[] = [];

/** Registers the cleanup of a part as soon as it runs, so that a failure of another part doesn't leave it behind. */
async function start<Part>(
  name: string,
  starting: Promise<Part>,
  end: (part: Part) => unknown,
): Promise<Part> {
  const part = await starting;
  endings.push(() => end(part));
  console.log(`  ${name}`);
  return part;
}

async function buildPage(): Promise<string> {
  const folder = await makeFolder("page");
  // Always use React's production build, whatever NODE_ENV the terminal has.
  process.env["NODE_ENV"] = "production";
  await build({
    configFile: false,
    root: join(import.meta.dirname, "page"),
    logLevel: "warn",
    plugins: [react()],
    resolve: { conditions: ["@turnstream/source", "module", "browser", "development|production"] },
    build: {
      outDir: folder,
      emptyOutDir: true,
      chunkSizeWarningLimit: 2_000,
      rolldownOptions: { checks: { bundlerTimings: false } },
    },
  });
  return folder;
}

async function run(): Promise<void> {
  console.log("Clinic booking, an example of Turnstream\n");
  const [postgres, redis, sandbox, page] = await Promise.all([
    start("PostgreSQL started", startPostgres(), (part) => part.stop()),
    start("Redis started", startRedis(), (part) => part.stop()),
    start("Payment sandbox started", PaymentSandboxProgram.launch(), (part) => part.kill()),
    start("Page built", buildPage(), removeFolder),
  ]);
  const clinic = await start(
    "Gateway and worker started",
    startClinic({
      databaseUrl: postgres.url,
      redisUrl: redis.url,
      page,
      port: values.port === "0" ? await freePort() : Number(values.port),
      newebPay: sandbox.providerOptions,
      expiresMs: Number(values["pay-seconds"]) * 1_000,
    }),
    (part) => part.close(),
  );
  console.log(`\nReady. Open ${clinic.url}\nCtrl-C stops everything.`);
}

const stopped = new Promise<void>((resolve) => {
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => resolve());
});
try {
  await Promise.race([run(), stopped]);
  await stopped;
  console.log("\nStopping…");
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  for (const end of endings.toReversed()) await end();
  process.exit();
}
