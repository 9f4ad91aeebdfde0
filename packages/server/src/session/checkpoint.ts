/**
 * The state from which a session's newest turn can be folded: right before it began, as the archive kept it. Every position
 * from there on can be reached exactly, however the archive and the log lie. Reads only.
 */
import { emptyState, restore, SCHEMA_VERSION, type SessionState } from "@turnstream/protocol";
import type { Ref } from "../store/refs.ts";
import type { Parts } from "./backend.ts";

/** The empty state where none was kept, or by another version: everything can be folded from there, only not as quickly. */
export async function readCheckpoint({ store }: Pick<Parts, "store">, ref: Ref): Promise<SessionState> {
  const kept = await store.archive.checkpoint(ref);
  return kept === null || kept.v !== SCHEMA_VERSION ? emptyState : restore(kept);
}
