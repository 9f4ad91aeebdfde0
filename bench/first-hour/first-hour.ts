/**
 * `benchFirstHour` does what a new user does, in empty folders and with packages from a registry: it creates an app
 * from each template, reads an answer in Chromium, and changes the agent. It also runs `npx turnstream dev`.
 * Invariant: a figure starts with a command and does not include `npm install`. No server and no API key is set. A figure
 * over its limit is measured once more, in a new folder, because other load on the machine may be the reason. A command
 * that fails and a page without an answer are never tried again.
 */
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { closeBrowser, openBrowser } from "@turnstream/browser/chromium.ts";
import { freePort } from "@turnstream/testkit/network/free-port.ts";
import { makeFolder, removeFolder } from "@turnstream/testkit/processes/watch.ts";
import { MachineSpeed } from "@turnstream/testkit/util/machine-speed.ts";
import { useMemoryFolder } from "@turnstream/testkit/util/memory-folder.ts";
import type { Browser } from "playwright-core";
import { figure, isOk, type Measurement, round } from "../measure.ts";
import { askInPage, measureChange } from "./chat-user.ts";
import { type LocalRegistry, startRegistry } from "./local-registry.ts";
import { runCommand, startCommand, type StartedCommand } from "./user-commands.ts";

/** Seconds. They are multiplied by the slowness of the machine while the bench runs. */
const LIMITS = { template: 60, change: 2, dev: 10 };
/** How often the speed of the machine is measured. */
const SPEED_EVERY_MS = 5_000;

const root = join(import.meta.dirname, "../..");
/** Each template with another model. Without a key, the answer names the variable to set. */
const MODELS: Readonly<Record<string, readonly [model: string, answer: RegExp]>> = {
  next: ["scripted", /You wrote: Hello/],
  vite: ["anthropic", /ANTHROPIC_API_KEY/],
  hono: ["openai", /OPENAI_API_KEY/],
  "from-ai-sdk": ["gateway", /AI_GATEWAY_API_KEY/],
};

export async function benchFirstHour(): Promise<Measurement[]> {
  useMemoryFolder();
  await runCommand("npm run build", { folder: root });
  const folder = await makeFolder("first-hour-");
  const registry = await startRegistry();
  const browser = await openBrowser();
  const machine = new MachineSpeed(SPEED_EVERY_MS);
  try {
    const templates = readdirSync(join(root, "packages/create/templates"));
    const apps: App[] = [];
    for (const template of templates) apps.push(await createApp(folder, template, registry));
    const plain = createPlainFolder(folder, "plain");
    const installed = await Promise.all([
      ...apps.map((app) => installApp(app, registry)),
      installPlain(plain, registry),
    ]);
    const figures: Measurement[] = [figure("all: npm install, in parallel", Math.max(...installed), "s")];
    for (const app of apps) {
      const again = async (): Promise<Measurement[]> => {
        const parent = join(folder, `again-${app.template}`);
        mkdirSync(parent);
        const next = await createApp(parent, app.template, registry);
        await installApp(next, registry);
        return await measureApp(next, browser);
      };
      figures.push(...(await measureTwice(machine, () => measureApp(app, browser), again)));
    }
    const again = async (): Promise<Measurement[]> => {
      const next = createPlainFolder(folder, "plain-again");
      await installPlain(next, registry);
      return await measureDev(next, browser);
    };
    figures.push(...(await measureTwice(machine, () => measureDev(plain, browser), again)));
    return figures;
  } finally {
    await closeBrowser(browser);
    await registry.close();
    removeFolder(folder);
  }
}

/** Returns the figures. Those over their limit are replaced by a second measurement, and are returned too. */
async function measureTwice(
  machine: MachineSpeed,
  measure: () => Promise<Measurement[]>,
  again: () => Promise<Measurement[]>,
): Promise<Measurement[]> {
  const withLimits = (figures: Measurement[]): Measurement[] =>
    figures.map(({ atMost = Infinity, ...rest }) => ({ ...rest, atMost: round(atMost * machine.slowness) }));
  const first = withLimits(await measure());
  if (first.every(isOk)) return first;
  const second = withLimits(await again());
  return first.flatMap((one, n) => {
    if (isOk(one)) return [one];
    return [figure(`${one.measure}, first time`, one.value, "s"), second[n] ?? one];
  });
}

interface App {
  readonly template: string;
  readonly folder: string;
  readonly answer: RegExp;
  /** How long `npm create` took. */
  readonly seconds: number;
}

async function createApp(folder: string, template: string, registry: LocalRegistry): Promise<App> {
  const [model, answer] = MODELS[template] ?? ["scripted", /You wrote: Hello/];
  const name = `my-${template}`;
  const { output, seconds } = await runCommand(
    `npm create turnstream ${name} -- --template ${template} --model ${model}`,
    // npm keeps what `npm create` installs in its cache, also if a package changed without a new version.
    { folder, env: { npm_config_registry: registry.url, npm_config_cache: join(folder, "cache") } },
  );
  for (const line of [`cd ${name}`, "npm install", "npm run dev"])
    if (!output.includes(`  ${line}\n`)) throw new Error(`The next steps lack \`${line}\`:\n${output}`);
  return { template, folder: join(folder, name), answer, seconds };
}

const installApp = (app: App, registry: LocalRegistry): Promise<number> =>
  install(app.folder, "npm install", registry);

const installPlain = (folder: string, registry: LocalRegistry): Promise<number> =>
  install(
    folder,
    "npm install @turnstream/server @turnstream/cli @turnstream/dev @ai-sdk/gateway zod",
    registry,
  );

/** Other packages come from the machine's registry directly, because the local one would parse all their metadata. */
async function install(folder: string, command: string, registry: LocalRegistry): Promise<number> {
  const env = { "npm_config_@turnstream:registry": registry.url, npm_config_prefer_offline: "true" };
  return (await runCommand(command, { folder, env })).seconds;
}

/** Starts a command on a free port, and stops it after `use`. */
async function withCommand<Value>(
  command: string,
  folder: string,
  use: (started: StartedCommand, elapsed: () => number) => Promise<Value>,
): Promise<Value> {
  const at = performance.now();
  const started = await startCommand(command, { folder, env: { PORT: String(await freePort()) } });
  try {
    return await use(started, () => (performance.now() - at) / 1_000);
  } catch (error) {
    throw new Error(`${command} in ${folder}: ${String(error)}\nIts output:\n${started.read()}`, {
      cause: error,
    });
  } finally {
    await started.interrupt();
  }
}

async function measureApp(app: App, browser: Browser): Promise<Measurement[]> {
  return await withCommand("npm run dev", app.folder, async ({ url }, elapsed) => {
    await askInPage(browser, url, app.answer);
    const seconds = app.seconds + elapsed();
    return [
      figure(
        `${app.template}: npm create and npm run dev, to an answer in Chromium`,
        seconds,
        "s",
        LIMITS.template,
      ),
      figure(
        `${app.template}: a changed agent answers`,
        await measureChange(app.folder, url),
        "s",
        LIMITS.change,
      ),
    ];
  });
}

const AGENT = `import { defineAgent } from "@turnstream/server";

export default defineAgent({
  name: "assistant",
  model: "anthropic/claude-sonnet-4-6",
});
`;

/** A folder with an agent. */
function createPlainFolder(parent: string, name: string): string {
  const folder = join(parent, name);
  mkdirSync(folder);
  writeFileSync(join(folder, "agent.ts"), AGENT);
  return folder;
}

async function measureDev(folder: string, browser: Browser): Promise<Measurement[]> {
  return await withCommand("npx turnstream dev", folder, async ({ url }, elapsed) => {
    await askInPage(browser, url, /AI_GATEWAY_API_KEY/);
    const seconds = elapsed();
    return [
      figure("npx turnstream dev: to an answer in Chromium", seconds, "s", LIMITS.dev),
      figure(
        "npx turnstream dev: a changed agent answers",
        await measureChange(folder, url),
        "s",
        LIMITS.change,
      ),
    ];
  });
}
