/**
 * This program decides approvals and stops turns as a gateway would: with its own connections, and all at once. It
 * reports which of its decisions won. Does not run or follow turns.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type ApprovalDecision, decideApproval, type SessionRef, stopTurn } from "@turnstream/server";
import { isStoreError } from "@turnstream/server/internal";
import { type BackendOptions, openBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { connectParent, readSettings } from "@turnstream/testkit/processes/parent-process.ts";

export type DeciderSettings = BackendOptions & { readonly name: string };

export interface DecideRequest {
  readonly id: number;
  readonly ref: SessionRef;
  /** Each decision at its own time on the machine's clock; 0 for now. */
  readonly decisions: readonly { readonly at: number; readonly decision: ApprovalDecision }[];
  /** When to stop the turn too; null for never. */
  readonly stopAt: number | null;
}

export interface DecideResult {
  readonly id: number;
  readonly won: readonly ApprovalDecision[];
  readonly failures: readonly string[];
}

export type DeciderMessage = { readonly ready: true } | DecideResult;

const TRIES = 20;
const settings = readSettings() as DeciderSettings;
const parent = connectParent<DecideRequest, DeciderMessage>();
const backend = await openBackend({ ...settings, database: { max: 10 } });
await backend.store.leases.expired(1);

async function decideAll({ id, ref, decisions, stopAt }: DecideRequest): Promise<void> {
  const stopped =
    stopAt === null ? null : sleepUntil(stopAt).then(() => stopTurn(backend, ref, { userId: settings.name }));
  const settled = await Promise.allSettled(
    decisions.map(async ({ at, decision }) => {
      await sleepUntil(at);
      return (await retry(() => decideApproval(backend, ref, decision))).applied ? [decision] : [];
    }),
  );
  await stopped;
  const won = settled.flatMap((each) => (each.status === "fulfilled" ? each.value : []));
  const failures = settled.flatMap((each) => (each.status === "rejected" ? [String(each.reason)] : []));
  parent.send({ id, won, failures });
}

/** Retries: sixty decisions at once wait for a connection, on a busy machine longer than the pool's timeout. */
async function retry<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (tries === TRIES || !isStoreError(error, "UNAVAILABLE")) throw error;
    }
  }
}

async function sleepUntil(time: number): Promise<void> {
  const ms = time - Date.now();
  if (ms > 0) await sleep(ms);
}

parent.onMessage((request) => void decideAll(request));
parent.send({ ready: true });
