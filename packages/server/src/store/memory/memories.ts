/** Memories in memory. */
import type { Env } from "../../util/env.ts";
import {
  checkMemoryId,
  checkMemoryText,
  MAX_MEMORIES,
  type Memories,
  type Memory,
} from "../ports/memories.ts";
import type { Actor } from "../refs.ts";
import { requireTenant } from "./ledger-rows.ts";
import { compareText } from "./session-rows.ts";
import { type MemoryTables, type Rows, table } from "./tables.ts";

interface MemoryRow extends Memory {
  readonly user: string;
}

const MEMORIES = table<MemoryRow>("memories", "tenant");

export function memoryMemories(tables: MemoryTables, env: Env): Memories {
  return {
    save: (actor, { id, text, pinned = false }) =>
      tables.run((rows) => {
        const key = keyOf(actor.user, checkMemoryId(id));
        const checked = checkMemoryText(text);
        requireTenant(rows, actor.tenant);
        if (rows.get(MEMORIES, actor.tenant, key) !== undefined) return "already";
        if (memoriesOf(rows, actor).length >= MAX_MEMORIES) return "full";
        const now = env.now();
        const row = { id, text: checked, pinned, createdAt: now, updatedAt: now, user: actor.user };
        rows.put(MEMORIES, actor.tenant, key, row);
        return "saved";
      }),
    list: (actor) => tables.run((rows) => memoriesOf(rows, actor).toSorted(inOrder).map(memoryOf)),
    change: (actor, id, change) =>
      tables.run((rows) => {
        const row = rows.get(MEMORIES, actor.tenant, keyOf(actor.user, id));
        const text = change.text === undefined ? undefined : checkMemoryText(change.text);
        if (row === undefined) return null;
        const changed: MemoryRow = {
          ...row,
          text: text ?? row.text,
          pinned: change.pinned ?? row.pinned,
          updatedAt: env.now(),
        };
        rows.put(MEMORIES, actor.tenant, keyOf(actor.user, id), changed);
        return memoryOf(changed);
      }),
    remove: (actor, id) => tables.run((rows) => rows.remove(MEMORIES, actor.tenant, keyOf(actor.user, id))),
    removeAll: (actor) => tables.run((rows) => removeMemories(rows, actor)),
  };
}

/** @returns how many */
export function removeMemories(rows: Rows, actor: Actor): number {
  const own = memoriesOf(rows, actor);
  for (const { id } of own) rows.remove(MEMORIES, actor.tenant, keyOf(actor.user, id));
  return own.length;
}

function memoriesOf(rows: Rows, actor: Actor): MemoryRow[] {
  return rows.of(MEMORIES, actor.tenant).filter(({ user }) => user === actor.user);
}

function inOrder(a: Memory, b: Memory): number {
  return Number(b.pinned) - Number(a.pinned) || b.updatedAt - a.updatedAt || compareText(a.id, b.id);
}

function memoryOf({ user: _, ...memory }: MemoryRow): Memory {
  return memory;
}

function keyOf(user: string, id: string): string {
  return `${user}\0${id}`;
}
