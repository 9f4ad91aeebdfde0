/**
 * `readDraft` and `writeDraft` store the unsent text of a session's composer across reloads.
 * Invariant: each server, user and session has its own entry. A draft longer than `MAX_DRAFT_LENGTH` is not stored,
 * because half of a text would look like all of it. At most `MAX_DRAFTS` drafts are stored; a new one removes the oldest.
 */
import type { ClientEnv } from "../env.ts";
import { listEntries } from "../outbox/storage.ts";

const PREFIX = "turnstream:draft:";
/** In UTF-16 code units. */
export const MAX_DRAFT_LENGTH = 20_000;
export const MAX_DRAFTS = 50;

export interface DraftContext {
  readonly env: Pick<ClientEnv, "storage" | "now">;
  /** The result of `outboxKey`. */
  readonly key: string;
  /** `tryStorage` with the reporter of the client. */
  readonly attempt: <T>(access: () => T) => T | undefined;
}

/** Returns "" if no draft is stored. */
export function readDraft({ env: { storage }, key, attempt }: DraftContext): string {
  const stored = attempt(() => storage?.getItem(PREFIX + key)) ?? "";
  return stored.slice(stored.indexOf(" ") + 1);
}

export function writeDraft(context: DraftContext, text: string): void {
  const { env, key, attempt } = context;
  const { storage, now } = env;
  const entry = PREFIX + key;
  attempt(() => {
    if (storage === null) return;
    if (text.trim() === "" || text.length > MAX_DRAFT_LENGTH) return storage.removeItem(entry);
    const isNew = storage.getItem(entry) === null;
    storage.setItem(entry, `${now()} ${text}`);
    if (!isNew) return;
    const age = (other: string): number => Number.parseInt(storage.getItem(other) ?? "", 10);
    const oldest = listEntries(storage, PREFIX).toSorted((one, other) => age(one) - age(other));
    for (const other of oldest.slice(0, -MAX_DRAFTS)) storage.removeItem(other);
  });
}
