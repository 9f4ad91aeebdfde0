/**
 * `runAs` runs work on behalf of a user, and `currentOwner` returns that user inside it, so that shared parts such as
 * the pool of database connections can let tenants take turns.
 * Invariant: the owner only decides the order of work, never access. Work without an owner, such as a periodic task,
 * belongs to the process itself and takes turns with the tenants.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Owner } from "./fair-queue.ts";

const PROCESS: Owner = { tenant: "", user: "" };

const owners = new AsyncLocalStorage<Owner>();

/** Also for everything that `work` starts and does not wait for. */
export function runAs<T>({ tenant, user }: Owner, work: () => T): T {
  return owners.run({ tenant, user }, work);
}

export function currentOwner(): Owner {
  return owners.getStore() ?? PROCESS;
}
