/**
 * `importKnowledge` imports texts into a knowledge base: each file becomes one object. Does not read disks or fetch:
 * the caller supplies the files.
 * Invariant: an unchanged file writes nothing, so a repeated import is cheap. A file that can't be read or stored is
 * reported and stops no other; its earlier object stays, also with `prune`. Pruning runs only after all files were
 * read. An empty list then removes all objects. Everything belongs to the given tenant and base.
 */
import type { Json } from "@turnstream/protocol";
import { defined, isStoreError, MAX_PAGE, type Store } from "@turnstream/server/internal";
import { type ReadableText, readableText } from "./readable-text.ts";
import { knowledgeOf } from "./store/knowledge-of.ts";
import type { Knowledge } from "./store/knowledge-part.ts";

export interface KnowledgeFile {
  /** Unique in its base and stable between imports, such as a path. */
  readonly id: string;
  /** The type of the content: text, Markdown, HTML, CSV or JSON. @default by the extension of the id */
  readonly mediaType?: string;
  /** @default extracted from the text */
  readonly title?: string;
  /** Where users can read the original. */
  readonly url?: string;
  readonly metadata?: Json;
  /** Called when the import reaches this file. */
  read(): Promise<string | Uint8Array>;
}

export interface ImportOptions {
  readonly tenant: string;
  readonly base: string;
  readonly files: Iterable<KnowledgeFile> | AsyncIterable<KnowledgeFile>;
  /** If true, objects of the base that are not among the files are removed. @default false */
  readonly prune?: boolean;
  readonly onFile?: (id: string, outcome: ImportOutcome) => void;
}

export type ImportOutcome = "created" | "replaced" | "unchanged" | "removed" | { readonly failed: string };

/** @throws StoreError if the store is unavailable or the tenant is unknown. Files that were already imported stay. */
export async function importKnowledge(store: Pick<Store, "use">, options: ImportOptions) {
  const { tenant, base, files, prune = false, onFile } = options;
  const knowledge = knowledgeOf(store);
  const counts = { created: 0, replaced: 0, unchanged: 0, removed: 0 };
  const failed: { id: string; problem: string }[] = [];
  const seen = new Set<string>();
  for await (const file of files) {
    seen.add(file.id);
    const outcome = await importFile(knowledge, tenant, base, file);
    if (typeof outcome === "string") counts[outcome]++;
    else failed.push({ id: file.id, problem: outcome.failed });
    onFile?.(file.id, outcome);
  }
  if (prune) {
    for (const id of await listIds(knowledge, tenant, base)) {
      if (seen.has(id)) continue;
      if (await knowledge.remove(tenant, base, id)) counts.removed++;
      onFile?.(id, "removed");
    }
  }
  return { ...counts, failed };
}

async function importFile(
  knowledge: Knowledge,
  tenant: string,
  base: string,
  file: KnowledgeFile,
): Promise<Exclude<ImportOutcome, "removed">> {
  const { id, url = null, metadata = null } = file;
  let readable: ReadableText;
  try {
    readable = await readableText(await file.read(), id, file.mediaType);
  } catch (error) {
    return { failed: error instanceof Error ? error.message : String(error) };
  }
  try {
    const title = file.title ?? readable.title;
    return await knowledge.put(tenant, base, { id, title, url, metadata, text: readable.text });
  } catch (error) {
    if (isStoreError(error, "INVALID") || isStoreError(error, "TOO_LARGE")) return { failed: error.message };
    throw error;
  }
}

async function listIds(knowledge: Knowledge, tenant: string, base: string): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const page = await knowledge.list(tenant, base, { limit: MAX_PAGE, ...defined({ after: ids.at(-1) }) });
    ids.push(...page.map(({ id }) => id));
    if (page.length < MAX_PAGE) return ids;
  }
}
