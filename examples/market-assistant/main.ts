/**
 * `npm start` starts everything that the market assistant needs, until Ctrl-C. It leaves no process or folder behind.
 */
import { randomBytes } from "node:crypto";
import { SettingsError } from "@turnstream/server";
import { ServiceError } from "@turnstream/testkit/servers/service-error.ts";
import { freePort, isFree } from "@turnstream/testkit/network/free-port.ts";
import { startBacking } from "./cli/backing.ts";
import { buildPage } from "./cli/build-page.ts";
import { DEFAULT_PORT, HELP, type Options, readOptions, UsageError } from "./cli/options.ts";
import { StartError, supervise } from "./cli/supervise.ts";
import { createMarket } from "./processes/market.ts";

/** Cleanup steps, run in reverse order of the starts. */
const endings: (() => unknown)[] = [];
const print = (line: string): void => console.log(`  ${line}`);

async function portOf({ port }: Options): Promise<number> {
  if (port === null) return (await isFree(DEFAULT_PORT)) ? DEFAULT_PORT : await freePort();
  if (port !== 0 && !(await isFree(port)))
    throw new StartError(`Port ${port} is in use. Try another one: npm start -- --port ${port + 1}`);
  return port === 0 ? await freePort() : port;
}

async function start(options: Options): Promise<void> {
  const startedAt = performance.now();
  console.log("Market assistant, an example of Turnstream\n");
  const port = await portOf(options);
  const backing = await startBacking(process.env, print);
  endings.push(() => backing.stop());
  const { databaseUrl, redisUrl } = backing;
  const secret = process.env["TURNSTREAM_SECRET"] || randomBytes(32).toString("hex");
  // Creates the tables before anything is built or listens: a server that can't be used is reported first.
  const { app } = createMarket({ databaseUrl, redisUrl, secret, migrates: true });
  await app.parts();
  await app.close();
  print("Database    ready");
  const page = await buildPage();
  endings.push(() => page.remove());
  print("Page        built");
  const env = {
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    TURNSTREAM_SECRET: secret,
    MARKET_SPEED: String(options.speed),
    MARKET_PAGE: page.folder,
    MARKET_PORT: String(port),
  };
  const launch = async (name: string, file: string) => {
    const started = await supervise({ name, file, env, print });
    endings.push(() => started.leave());
    return started;
  };
  const [worker, server] = await Promise.all([launch("Worker", "worker.ts"), launch("Server", "server.ts")]);
  print(`Worker      process ${worker.pid}, model: ${worker.ready}`);
  print(`Server      process ${server.pid}`);
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  console.log(`\nReady after ${seconds} s. Open ${server.ready}\nCtrl-C stops everything.`);
}

async function end(): Promise<void> {
  for (const ending of endings.splice(0).toReversed()) {
    try {
      await ending();
    } catch (error) {
      console.error(error instanceof Error ? error.message : error);
    }
  }
}

function untilSignal(): Promise<void> {
  return new Promise<void>((resolve) => {
    for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => resolve());
  });
}

async function run(options: Options): Promise<void> {
  const signal = untilSignal();
  // Signal handlers alone don't keep the process alive.
  const stay = setInterval(() => undefined, 2 ** 30);
  try {
    await Promise.race([start(options), signal.then(() => Promise.reject(new StartError("Stopped.")))]);
    await signal;
    console.log("\nStopping…");
  } catch (error) {
    if (!(error instanceof ServiceError || error instanceof SettingsError || error instanceof StartError))
      throw error;
    console.error(`\n${error.message}`);
    process.exitCode = 1;
  } finally {
    clearInterval(stay);
    await end();
  }
}

try {
  const options = readOptions(process.argv.slice(2));
  if (options.help) console.log(HELP);
  else await run(options);
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(`${error.message}\n\n${HELP}`);
  process.exitCode = 2;
}
