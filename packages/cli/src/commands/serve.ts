/**
 * `addServe` adds `turnstream serve`: the gateway and a worker for the agents of a file, for production.
 * Invariant: it needs servers and `user`, so that data outlives the process and nobody is signed in by default.
 */
import type { Command } from "commander";
import { AgentFile } from "../agent-file/agent-file.ts";
import { CommandError, type CliContext } from "../cli-context.ts";
import { action, type CommandCall, examples, parsePort } from "../command-call.ts";
import { requireServers, runApp } from "../run-app.ts";

interface ServeOptions {
  readonly port?: number;
  readonly host: string;
  readonly worker: boolean;
}

export function addServe(program: Command, context: CliContext): void {
  program
    .command("serve")
    .description("run the gateway and a worker for the agents of a file, on PostgreSQL and Redis")
    .argument("[file]", "exports `{ agents, user }`. Default: as for `dev`")
    .option("--port <number>", "the port. Default: PORT, or 8080", parsePort)
    .option("--host <address>", "the address to listen on. 0.0.0.0 accepts other machines", "127.0.0.1")
    .option("--no-worker", "only serve clients; start `turnstream worker` elsewhere")
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

async function serve(call: CommandCall, { port, host, worker }: ServeOptions, name?: string): Promise<void> {
  const file = AgentFile.find(call.context.folder, name);
  const definition = await file.load();
  const { user } = definition;
  if (typeof user !== "function")
    throw new CommandError(
      `${file.name} must export \`user\`, which returns the id of the signed-in user: \`export default { agents, user }\`.`,
    );
  requireServers(call.settings, definition);
  await runApp(call, { ...definition, user, runsTurns: worker }, async (app) => {
    call.print({ url: await app.listen(port, host) }, []);
  });
}
