/** `addOpenApi` adds `turnstream openapi`, which prints the HTTP API as an OpenAPI document. It connects to nothing. */
import { describeHttpApi } from "@turnstream/server";
import type { Command } from "commander";
import type { CliContext } from "../cli-context.ts";
import { action, type CommandCall, examples } from "../command-call.ts";

export function addOpenApi(program: Command, context: CliContext): void {
  program
    .command("openapi")
    .description("print the HTTP API as an OpenAPI 3.1 document")
    .addHelpText("after", examples(["turnstream openapi > openapi.json"]))
    .action(action(context, printOpenApi));
}

async function printOpenApi(call: CommandCall): Promise<void> {
  const api = describeHttpApi();
  call.print(api, [JSON.stringify(api, null, 2)]);
}
