/**
 * `addDev` adds `turnstream dev`: a server with a chat page for the agents of a file. It loads the file again after a
 * change, while sessions stay.
 * Invariant: it listens only on this machine, and signs in only requests to this machine, because it asks for no
 * password. A file that can't be loaded is reported, and the earlier agents stay.
 */
import { join, relative } from "node:path";
import { Option, type Command } from "commander";
import { AgentFile, type AppDefinition } from "../agent-file/agent-file.ts";
import { watchFiles } from "../agent-file/watch-files.ts";
import { type CliContext, ENV_FILE } from "../cli-context.ts";
import { action, type CommandCall, examples, parsePort } from "../command-call.ts";
import { PAGE_FOLDER, readPage } from "../dev-page.ts";
import { createPrinter, runApp } from "../run-app.ts";

interface DevOptions {
  readonly port?: number;
  readonly data?: string;
  readonly page: string;
}

const DEV_USER = "dev";
const LOCAL_HOSTS = new Set(["127.0.0.1", "localhost", "[::1]"]);

export function addDev(program: Command, context: CliContext): void {
  program
    .command("dev")
    .description("run the agents of a file with a chat page, and reload them when the file changes")
    .argument("[file]", "exports the agents. Default: agent.ts, agent.js, src/agent.ts or src/agent.js")
    .option("--port <number>", "the port. Default: PORT, or 8080", parsePort)
    .option(
      "--data <folder>",
      "keeps the data, if neither DATABASE_URL nor REDIS_URL is set. Default: .turnstream",
    )
    .addOption(new Option("--page <folder>", "a built page").default(PAGE_FOLDER).hideHelp())
    .addHelpText(
      "after",
      examples([
        "turnstream dev",
        "turnstream dev src/support.ts --port 3001",
        "turnstream dev --data .another-chat",
        "ANTHROPIC_API_KEY=sk-… turnstream dev",
      ]),
    )
    .action(action(context, runDev));
}

async function runDev(call: CommandCall, { port, data, page }: DevOptions, name?: string): Promise<void> {
  const { context } = call;
  const file = AgentFile.find(context.folder, name);
  const servePage = readPage(page);
  let definition = await file.load();
  const options = {
    scriptedAnswers: true,
    ...definition,
    ...(data !== undefined && { dataFolder: data }),
    runsTurns: true,
    printsSteps: true,
    page: servePage,
    user: (request: Request) => findUser(definition, request),
  };
  await runApp(call, options, async (app) => {
    const url = await app.listen(port);
    call.print({ url }, []);
    createPrinter(call)(
      `Open it to talk to ${listNames(definition)}. Changes of ${file.name} are live. Ctrl-C ends it.`,
    );
    void watchAgents(call, file, async () => {
      const next = await file.load();
      await app.replaceAgents(next.agents);
      definition = next;
    });
  });
}

function listNames({ agents }: AppDefinition): string {
  return agents.map(({ name }) => name).join(", ");
}

async function watchAgents(call: CommandCall, file: AgentFile, reload: () => Promise<void>): Promise<void> {
  const { context } = call;
  const print = createPrinter(call);
  const envFile = join(context.folder, ENV_FILE);
  await watchFiles({
    files: () => [...file.files, envFile],
    signal: context.signal,
    async onChange(changed) {
      const time = new Date(context.now()).toTimeString().slice(0, 8);
      try {
        if (changed.has(envFile)) context.loadEnv();
        await reload();
        const names = [...changed].map((path) => relative(context.folder, path)).join(", ");
        print(`${time} ${names} changed: the next turn uses it.`);
      } catch (error) {
        const { message } = error as Error;
        print(`${time} ${message} The earlier agents stay until this is corrected.`);
      }
    },
  });
}

/** Anyone on this machine is signed in. Another host name can be one that a web page points at this machine. */
async function findUser({ user }: AppDefinition, request: Request): Promise<string | null> {
  const found = await user?.(request);
  if (found !== null && found !== undefined) return found;
  return LOCAL_HOSTS.has(new URL(request.url).hostname) ? DEV_USER : null;
}
