/**
 * `addKnowledge` adds `turnstream knowledge`: `import`, `list` and `remove` manage the texts that agents can search and
 * read. It declares the arguments; `knowledge-import.ts` and `knowledge-objects.ts` run the commands.
 * Invariant: only `--prune`, `remove` and `--all` remove objects.
 */
import type { Command } from "commander";
import type { CliContext } from "../cli-context.ts";
import { action, examples } from "../command-call.ts";
import { runImport } from "./knowledge-import.ts";
import { listKnowledge, removeKnowledge } from "./knowledge-objects.ts";

export function addKnowledge(program: Command, context: CliContext): void {
  const knowledge = program
    .command("knowledge")
    .description("import, list and remove texts that agents can search")
    .addHelpText("after", examples([IMPORT_EXAMPLE, LIST_EXAMPLE, REMOVE_EXAMPLE]));
  const add = (name: string, description: string) =>
    knowledge.command(name).description(description).requiredOption("--tenant <id>", "the tenant");
  add("import", "import the .md, .txt, .html, .csv and .json files of a folder; skip unchanged ones")
    .argument("<folder>", "the folder; its subfolders are included")
    .requiredOption("--base <name>", "the knowledge base")
    .option("--prune", "also remove objects whose files no longer exist")
    .option("--url <prefix>", "address where users can read the files: the prefix plus the path of the file")
    .option("--quiet", "print only the totals")
    .addHelpText("after", examples([IMPORT_EXAMPLE, URL_EXAMPLE]))
    .action(action(context, runImport));
  add("list", "list the knowledge bases of a tenant, or the objects of one: id, lines, title")
    .option("--base <name>", "the knowledge base. Default: list all of them")
    .addHelpText("after", examples([LIST_EXAMPLE]))
    .action(action(context, listKnowledge));
  add("remove", "remove an object, or a whole knowledge base")
    .argument("[object]", "id of the object")
    .requiredOption("--base <name>", "the knowledge base")
    .option("--all", "remove the knowledge base with all its objects")
    .addHelpText("after", examples([REMOVE_EXAMPLE]))
    .action(action(context, removeKnowledge));
}

const IMPORT_EXAMPLE = "turnstream knowledge import ./handbook --tenant acme --base handbook --prune";
const URL_EXAMPLE = "turnstream knowledge import ./site --tenant acme --base site --url https://example.com/";
const LIST_EXAMPLE = "turnstream knowledge list --tenant acme --base handbook";
const REMOVE_EXAMPLE = "turnstream knowledge remove --tenant acme --base handbook leave/old-policy.md";
