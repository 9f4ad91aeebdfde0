/**
 * `addConfig` adds `turnstream config`: it prints the effective settings and where each comes from.
 * Invariant: it connects to nothing, and prints no password and no secret.
 */
import type { Command } from "commander";
import type { CliContext } from "../cli-context.ts";
import { action, type CommandCall, examples } from "../command-call.ts";
import { describeSettings } from "../settings.ts";
import { formatTable } from "../styles.ts";

export function addConfig(program: Command, context: CliContext): void {
  program
    .command("config")
    .description("print the effective settings and their sources, without secrets")
    .option("--print", "print the settings; this is the default")
    .addHelpText("after", examples(["turnstream config --print", "turnstream config --print --json"]))
    .action(action(context, printConfig));
}

async function printConfig(call: CommandCall): Promise<void> {
  const settings = describeSettings(call.settings);
  const rows = settings.map(({ name, value, source }) => [name, value === "" ? "-" : value, source]);
  call.print(settings, formatTable(["setting", "value", "source"], rows, call.context.columns));
}
