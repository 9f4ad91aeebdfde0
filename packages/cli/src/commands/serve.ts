/**
 * `addServe` adds `turnstream serve`: the gateway and a worker for the agents of a file, for production. `addWorker`
 * adds `turnstream worker`, which only runs turns.
 * Invariant: both need servers, so that data outlives the process. `serve` needs `user`, so that no user is signed in by
 * default. Ctrl-C and SIGTERM hand over turns to other workers.
 */
import type { Command } from "commander";
import { AgentFile, type AppDefinition } from "../agent-file/agent-file.ts";
import { CommandError, type CliContext } from "../cli-context.ts";
import { action, type CommandCall, drainOption, examples, parsePort } from "../command-call.ts";
import { requireServers, runApp } from "../run-app.ts";

interface ServeOptions {
  readonly port?: number;
  readonly host: string;
  readonly worker: boolean;
  readonly drainMs?: number;
}

export function addServe(program: Command, context: CliContext): void {
  program
    .command("serve")
    .description("run the gateway and a worker for the agents of a file, on PostgreSQL and Redis")
    .argument("[file]", "exports `{ agents, user }`. Default: as for `dev`")
    .option("--port <number>", "the port. Default: PORT, or 8080", parsePort)
    .option("--host <address>", "the address to listen on. 0.0.0.0 accepts other machines", "127.0.0.1")
    .option("--no-worker", "only serve clients; start `turnstream worker` elsewhere")
    .addOption(drainOption())
    .addHelpText(
      "after",
      examples([
        "turnstream serve",
        "turnstream serve src/app.ts --host 0.0.0.0 --port 80",
        "turnstream serve --no-worker",
      ]),
    )
    .action(action(context, serve));
}

async function serve(
  call: CommandCall,
  { port, host, worker, drainMs }: ServeOptions,
  name?: string,
): Promise<void> {
  const file = AgentFile.find(call.context.folder, name);
  const definition = await file.load();
  const { user } = definition;
  if (typeof user !== "function")
    throw new CommandError(
      `${file.name} must export \`user\`, which returns the id of the signed-in user: \`export default { agents, user }\`.`,
    );
  requireServers(call.settings, definition);
  const options = { ...definition, user, runsTurns: worker, worker: workerOptions(definition, drainMs) };
  await runApp(call, options, async (app) => {
    call.print({ url: await app.listen(port, host) }, []);
  });
}

export function addWorker(program: Command, context: CliContext): void {
  program
    .command("worker")
    .description("run turns for the agents of a file, without a gateway, on PostgreSQL and Redis")
    .argument("[file]", "exports the agents. Default: as for `dev`")
    .addOption(drainOption())
    .addHelpText("after", examples(["turnstream worker", "turnstream worker src/app.ts"]))
    .action(action(context, runWorker));
}

async function runWorker(
  call: CommandCall,
  { drainMs }: Pick<ServeOptions, "drainMs">,
  name?: string,
): Promise<void> {
  const file = AgentFile.find(call.context.folder, name);
  const definition = await file.load();
  requireServers(call.settings, definition);
  const options = { ...definition, user: () => null, worker: workerOptions(definition, drainMs) };
  await runApp(call, options, async (app) => {
    await app.worker();
    const agents = definition.agents.map((agent) => agent.name);
    call.print({ agents }, []);
    call.notice(`The worker runs turns of ${agents.join(", ")}. Ctrl-C ends it.`);
  });
}

/** The option of the command overrides the file. */
function workerOptions(
  { worker }: AppDefinition,
  drainMs: number | undefined,
): AppDefinition["worker"] & object {
  return { ...worker, ...(drainMs !== undefined && { drainMs }) };
}
