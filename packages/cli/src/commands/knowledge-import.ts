/**
 * `runImport` runs `turnstream knowledge import`: it imports a folder into a knowledge base, one object per file.
 * `importKnowledge` of the package skips unchanged files.
 * Invariant: only `--prune` removes objects whose files no longer exist. A folder without files is an error, because a
 * prune would remove everything. Ctrl-C stops between two files and before the prune.
 */
import type { ImportOutcome, KnowledgeFile } from "@turnstream/knowledge";
import { CommandError, type CliContext } from "../cli-context.ts";
import type { CommandCall } from "../command-call.ts";
import { requireTenant, withStore } from "../open-backend.ts";
import { importKnowledgePackage } from "./knowledge-objects.ts";
import { readFolder } from "./read-folder.ts";

export interface ImportOptions {
  readonly tenant: string;
  readonly base: string;
  readonly url?: string;
  readonly prune?: boolean;
  readonly quiet?: boolean;
}

export async function runImport(call: CommandCall, options: ImportOptions, folder = ""): Promise<void> {
  const { importKnowledge } = await importKnowledgePackage();
  const { context } = call;
  const { tenant, base, url = null, prune = false, quiet: isSilent = false } = options;
  const files = await readFolder(folder, url);
  // An empty folder is more likely a mistake than a request to remove everything.
  if (files.length === 0) throw new CommandError(`The folder ${folder} has no files to import.`);
  const progress = new Progress(context, files.length, isSilent);
  const onFile = (id: string, outcome: ImportOutcome): void => progress.report(id, outcome);
  const sum = await withStore(call.settings, async (store) => {
    await requireTenant(store, tenant);
    return importKnowledge(store, {
      tenant,
      base,
      files: unlessStopped(files, context.signal),
      prune,
      onFile,
    });
  });
  progress.end();
  const { created, replaced, unchanged, removed, failed } = sum;
  call.print({ created, replaced, unchanged, removed, failed: failed.length }, [
    `${created} created, ${replaced} replaced, ${unchanged} unchanged, ${removed} removed`,
  ]);
  if (failed.length > 0)
    throw new CommandError(`${failed.length} of ${files.length} files could not be imported.`);
}

function* unlessStopped(files: readonly KnowledgeFile[], signal: AbortSignal): Generator<KnowledgeFile> {
  for (const file of files) {
    if (signal.aborted) throw new CommandError("Stopped. Files that were already imported stay.");
    yield file;
  }
}

/** Prints a line for each change, and on a terminal also a counter that overwrites itself. */
class Progress {
  readonly #context: CliContext;
  readonly #total: number;
  readonly #isSilent: boolean;
  #done = 0;

  constructor(context: CliContext, total: number, isSilent: boolean) {
    this.#context = context;
    this.#total = total;
    this.#isSilent = isSilent;
  }

  report(id: string, outcome: ImportOutcome): void {
    if (outcome !== "removed") this.#done++;
    this.end();
    if (typeof outcome !== "string") this.#context.err(`failed     ${id}: ${outcome.failed}\n`);
    else if (outcome !== "unchanged" && !this.#isSilent) this.#context.err(`${outcome.padEnd(10)} ${id}\n`);
    if (this.#context.isTerminal && !this.#isSilent) this.#context.err(`${this.#done} of ${this.#total}`);
  }

  end(): void {
    if (this.#context.isTerminal && !this.#isSilent) this.#context.err("\r\u001b[K");
  }
}
