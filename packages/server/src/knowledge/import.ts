/**
 * Brings texts into a knowledge base: each file becomes an object, and one that is there as it is stays. A file that can't
 * be read or kept is told and doesn't stop the others. Never reads a disk or fetches: whoever calls brings the files.
 */
import type { Json } from "@turnstream/protocol";
import { isStoreError } from "../store/errors.ts";
import { MAX_PAGE } from "../store/ports/sessions.ts";
import type { Store } from "../store/store.ts";
import { readableText } from "./readable-text.ts";

export interface KnowledgeFile {
  /** Unique in its base and the same every time, such as a path. */
  readonly id: string;
  /** What it is: text, Markdown, HTML, CSV or JSON. From the ending of its id when absent. */
  readonly mediaType?: string;
  /** Found in the text when absent. */
  readonly title?: string;
  /** Where people can read it. */
  readonly url?: string;
  readonly metadata?: Json;
  /** Called when its turn has come. */
  read(): Promise<string | Uint8Array>;
}

export interface ImportOptions {
  readonly tenant: string;
  readonly base: string;
  readonly files: Iterable<KnowledgeFile> | AsyncIterable<KnowledgeFile>;
  /** Removes objects of the base that are not among the files; kept when absent. */
  readonly prune?: boolean;
  readonly onFile?: (id: string, outcome: ImportOutcome) => void;
}

export type ImportOutcome = "created" | "replaced" | "unchanged" | "removed" | { readonly failed: string };

export interface Imported {
  readonly created: number;
  readonly replaced: number;
  readonly unchanged: number;
  readonly removed: number;
  readonly failed: readonly { readonly id: string; readonly problem: string }[];
}

/** Throws a StoreError when the store is away or the tenant unknown: what is done until then stays. */
export async function importKnowledge(store: Store, options: ImportOptions): Promise<Imported> {
  const { tenant, base, files, prune = false, onFile } = options;
  const counts = { created: 0, replaced: 0, unchanged: 0, removed: 0 };
  const failed: { id: string; problem: string }[] = [];
  const seen = new Set<string>();
  for await (const file of files) {
    seen.add(file.id);
    const outcome = await importFile(store, tenant, base, file);
    if (typeof outcome === "string") counts[outcome]++;
    else failed.push({ id: file.id, problem: outcome.failed });
    onFile?.(file.id, outcome);
  }
  if (prune) {
    for (const id of await missing(store, tenant, base, seen)) {
      if (await store.knowledge.remove(tenant, base, id)) counts.removed++;
      onFile?.(id, "removed");
    }
  }
  return { ...counts, failed };
}

async function importFile(
  store: Store,
  tenant: string,
  base: string,
  file: KnowledgeFile,
): Promise<Exclude<ImportOutcome, "removed">> {
  const { id, url = null, metadata = null } = file;
  let readable: { readonly title: string; readonly text: string };
  try {
    readable = await readableText(await file.read(), id, file.mediaType);
  } catch (error) {
    return { failed: error instanceof Error ? error.message : String(error) };
  }
  try {
    const { text } = readable;
    return await store.knowledge.put(tenant, base, {
      id,
      title: file.title ?? readable.title,
      url,
      metadata,
      text,
    });
  } catch (error) {
    if (isStoreError(error, "INVALID") || isStoreError(error, "TOO_LARGE")) return { failed: error.message };
    throw error;
  }
}

async function missing(
  store: Store,
  tenant: string,
  base: string,
  seen: ReadonlySet<string>,
): Promise<string[]> {
  const missingIds: string[] = [];
  for (let after: string | undefined; ;) {
    const page = await store.knowledge.list(tenant, base, {
      limit: MAX_PAGE,
      ...(after === undefined ? {} : { after }),
    });
    missingIds.push(...page.flatMap(({ id }) => (seen.has(id) ? [] : [id])));
    after = page.at(-1)?.id;
    if (page.length < MAX_PAGE) return missingIds;
  }
}
