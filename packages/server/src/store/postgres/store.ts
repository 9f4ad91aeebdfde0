/**
 * The store on PostgreSQL: every sub-port on the pool, and the same ones again on each transaction.
 * Never migrates: see migrate.ts.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Env, systemEnv } from "../env.ts";
import { isStoreError } from "../errors.ts";
import type { OpenStore, Store, StorePorts } from "../store.ts";
import { postgresArchive } from "./archive.ts";
import { postgresAudit } from "./audit.ts";
import { postgresInteractions } from "./interactions.ts";
import { postgresKeys } from "./keys.ts";
import { postgresPayments } from "./payments.ts";
import { postgresPeople } from "./people.ts";
import { postgresUsage } from "./usage.ts";
import { postgresBlobs } from "./blobs.ts";
import type { Db } from "./database.ts";
import { postgresEpochs } from "./epochs.ts";
import { guarded, toStoreError } from "./guard.ts";
import { postgresLeases } from "./leases.ts";
import { postgresOutbox } from "./outbox.ts";
import { ATTEMPTS } from "./session-row.ts";
import { postgresSessions } from "./sessions.ts";
import { postgresShares } from "./shares.ts";
import { postgresTenants } from "./tenants.ts";
import { postgresTurns } from "./turns.ts";
import { postgresWaiting } from "./waiting.ts";

export function postgresStore(db: Db, env: Env = systemEnv): OpenStore {
  const store: Store = {
    ...portsOn(db, env),
    transaction: (work) => transaction(db, env, work),
  };
  return { ...store, close: () => db.destroy() };
}

function portsOn(db: Db, env: Env): StorePorts {
  const ports: StorePorts = {
    tenants: postgresTenants(db),
    sessions: postgresSessions(db, env),
    epochs: postgresEpochs(db),
    turns: postgresTurns(db),
    waiting: postgresWaiting(db),
    archive: postgresArchive(db),
    outbox: postgresOutbox(db),
    blobs: postgresBlobs(db),
    leases: postgresLeases(db),
    shares: postgresShares(db, env),
    keys: postgresKeys(db, env),
    people: postgresPeople(db),
    interactions: postgresInteractions(db),
    payments: postgresPayments(db),
    usage: postgresUsage(db),
    audit: postgresAudit(db),
  };
  const safe = Object.entries(ports).map(([name, port]) => [name, guarded(name, port as object)]);
  return Object.fromEntries(safe) as StorePorts;
}

async function transaction<T>(db: Db, env: Env, work: (tx: Store) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await once(db, env, work);
    } catch (error) {
      if (attempt >= ATTEMPTS || !isStoreError(error, "BUSY")) throw error;
      // Those who deadlocked together should not come back together.
      await sleep(2 ** attempt * 5 * (1 + (env.randomBytes(1)[0] ?? 0) / 255));
    }
  }
}

async function once<T>(db: Db, env: Env, work: (tx: Store) => Promise<T>): Promise<T> {
  let thrown: { error: unknown } | null = null;
  try {
    return await db.transaction().execute(async (tx) => {
      const store: Store = { ...portsOn(tx, env), transaction: (inner) => inner(store) };
      try {
        return await work(store);
      } catch (error) {
        thrown = { error };
        throw error;
      }
    });
  } catch (error) {
    // What `work` threw goes to its caller as it is; the rest is the database's, from begin or commit.
    const own = thrown as { error: unknown } | null;
    throw own === null ? toStoreError(error, "transaction") : own.error;
  }
}
