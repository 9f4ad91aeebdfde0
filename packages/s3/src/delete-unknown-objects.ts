/**
 * `deleteUnknownObjects` finds objects of the object storage that the database doesn't know, and deletes them on request.
 * They exist after a restore of an older backup of the database.
 *
 * Invariant: an object with a row is never deleted. Objects of another database look like lost ones, so the
 * bucket, or its `prefix`, must belong to this database alone.
 */
import type { Store } from "@turnstream/server";

export interface UnknownObjects {
  readonly found: number;
  readonly deleted: number;
}

interface UnknownObjectsOptions {
  /** Whether to delete them. @default false: only counts them */
  readonly deletes?: boolean;
  /** Ignores younger objects, whose writes may not have ended. @default 86_400_000 (a day) */
  readonly olderThanMs?: number;
}

const DAY_MS = 24 * 60 * 60 * 1_000;

export async function deleteUnknownObjects(
  { objects }: Pick<Store, "objects">,
  { deletes = false, olderThanMs = DAY_MS }: UnknownObjectsOptions = {},
): Promise<UnknownObjects> {
  let [found, deleted] = [0, 0];
  let after: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof objects.findUnknown>> = await objects.findUnknown({
      after,
      olderThanMs,
    });
    found += page.keys.length;
    if (deletes) deleted += await objects.deleteUnknown(page.keys);
    after = page.next;
  } while (after !== null);
  return { found, deleted };
}
