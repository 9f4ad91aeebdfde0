/**
 * `addWorker` adds `turnstream worker`: it runs turns for the agents of a file, and serves no clients.
 * Invariant: it needs the same servers as the gateway. Ctrl-C and SIGTERM hand over its turns to other workers.
 */
import type { Command } from "commander";
import { AgentFile } from "../agent-file/agent-file.ts";
import type { CliContext } from "../cli-context.ts";
import { action, type CommandCall, examples } from "../command-call.ts";
import { requireServers, runApp } from "../run-app.ts";

export function addWorker(program: Command, context: CliContext): void {
  program
    .command("worker")
    .description("run turns for the agents of a file, without a gateway, on PostgreSQL and Redis")
    .argument("[file]", "exports the agents. Default: as for `dev`")
    .addHelpText("after", examples(["turnstream worker", "turnstream worker src/app.ts"]))
    .action(action(context, runWorker));
}

async function runWorker(call: CommandCall, _options: object, name?: string): Promise<void> {
  const file = AgentFile.find(call.context.folder, name);
  const definition = await file.load();
  requireServers(call.settings, definition);
  await runApp(call, { ...definition, user: () => null }, async (app) => {
    await app.worker();
    const agents = definition.agents.map((agent) => agent.name);
    call.print({ agents }, []);
    call.notice(`The worker runs turns of ${agents.join(", ")}. Ctrl-C ends it.`);
  });
}
