/**
 * `listMemories`, `editMemory`, `eraseMemory` and `eraseMemories` let a user read, correct and delete what agents
 * remember about them.
 *
 * Invariant: they reach only the memories of `actor`. Each change and its audit entry are one commit, and the entry has
 * no content.
 */
import { StoreError } from "../store/errors.ts";
import type { Memory, MemoryChange } from "../store/memories.ts";
import type { Actor } from "../util/refs.ts";
import type { AuditAction } from "../store/rules/audit-actions.ts";
import type { Store } from "../store/store.ts";
import type { Backend } from "./backend.ts";
import { defined } from "../util/defined.ts";

type StorePart = Pick<Backend, "store">;

/** Returns all memories: pinned ones first, then the most recently changed. */
export function listMemories({ store }: StorePart, actor: Actor): Promise<Memory[]> {
  return store.memories.list(actor);
}

/** @throws StoreError NOT_FOUND, INVALID for an empty text, or TOO_LARGE */
export function editMemory(
  { store }: StorePart,
  actor: Actor,
  id: string,
  change: MemoryChange,
): Promise<Memory> {
  return store.transaction(async (tx) => {
    const changed = await tx.memories.change(actor, id, change);
    if (changed === null) throw new StoreError("NOT_FOUND", `memory ${id}`);
    await note(tx, actor, "memory.edit", { memory: id });
    return changed;
  });
}

/** Returns false if there is no such memory. */
export function eraseMemory({ store }: StorePart, actor: Actor, id: string): Promise<boolean> {
  return store.transaction(async (tx) => {
    const wasThere = await tx.memories.remove(actor, id);
    if (wasThere) await note(tx, actor, "memory.erase", { memory: id });
    return wasThere;
  });
}

/** Deletes all memories of the user. @returns how many */
export function eraseMemories({ store }: StorePart, actor: Actor): Promise<number> {
  return store.transaction(async (tx) => {
    const count = await tx.memories.removeAll(actor);
    if (count > 0) await note(tx, actor, "memory.erase_all", {}, { count });
    return count;
  });
}

async function note(
  tx: Store,
  { tenant, user }: Actor,
  action: AuditAction,
  subject: Readonly<Record<string, string>>,
  detail?: { readonly count: number },
): Promise<void> {
  await tx.audit.add(tenant, { actor: user, action, subject, ...defined({ detail }) });
}
