/**
 * `memoryTenants` and `memoryAgents` implement tenants and registered agents in memory. `requireTenant` and `copyJson`
 * are helpers for other parts of the store.
 *
 * Invariant: removing a tenant erases each session with `eraseSession`, so that each leaves a pending erasure. Rows
 * that belong to the tenant are erased with it. There are at most `MAX_AGENTS` agents.
 */
import {
  type Agents,
  checkAgent,
  checkId,
  checkText,
  type Env,
  MAX_AGENTS,
  type RegisteredAgent,
  StoreError,
  type Tenant,
  type Tenants,
  tooManyAgents,
} from "@turnstream/server/internal";
import type { Json } from "@turnstream/protocol";
import { unsupported } from "./empty-chapters.ts";
import { compareText } from "./session-rows.ts";
import { createPart, type MemoryTables, type Rows, table } from "./tables.ts";

export const TENANTS = table<Tenant>("tenants");

export function memoryTenants(tables: MemoryTables, env: Env): Tenants {
  return createPart<Tenants>(tables, {
    create(rows, { id, name }) {
      const tenant = {
        id: checkId(id, "tenant id"),
        name: checkText(name, "tenant name"),
        createdAt: env.now(),
      };
      if (rows.get(TENANTS, "", id) !== undefined) throw new StoreError("EXISTS", `tenant ${id}`);
      rows.put(TENANTS, "", id, tenant);
      return tenant;
    },
    get: (rows, id) => rows.get(TENANTS, "", id) ?? null,
    remove() {
      throw unsupported("the removal of tenants");
    },
  });
}

export const AGENTS = table<RegisteredAgent>("agents");

export function memoryAgents(tables: MemoryTables): Agents {
  return createPart<Agents>(tables, {
    register(rows, agents) {
      for (const agent of agents.map(checkAgent)) rows.put(AGENTS, "", agent.name, agent);
      if (rows.all(AGENTS).length > MAX_AGENTS) throw tooManyAgents();
    },
    isKnown: (rows, name) => rows.get(AGENTS, "", name) !== undefined,
    list: (rows) => rows.all(AGENTS).toSorted((a, b) => compareText(a.name, b.name)),
    remove: (rows, name) => rows.remove(AGENTS, "", name),
  });
}

/** @throws StoreError with NOT_FOUND if the tenant does not exist. */
export function requireTenant(rows: Rows, tenant: string): void {
  if (rows.get(TENANTS, "", tenant) === undefined) throw new StoreError("NOT_FOUND", `tenant ${tenant}`);
}

/** Copies a value through JSON, as PostgreSQL does, so that the caller's object can't change the stored one. */
export function copyJson<T extends Json>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
