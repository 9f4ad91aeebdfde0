/**
 * This program stops turns as a gateway would: with its own connections to PostgreSQL and Redis, and many calls at
 * once. It reports the receipts and when it started. Does not run or follow turns.
 */
import { type SessionRef, stopTurn } from "@turnstream/server";
import type { StopReceipt } from "@turnstream/server/ports";
import { openBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { connectParent, readSettings } from "@turnstream/testkit/processes/parent-process.ts";

export interface StopperSettings {
  readonly name: string;
  readonly databaseUrl: string;
  readonly redisUrl: string;
}

export interface StopRequest {
  readonly ref: SessionRef;
  readonly count: number;
}

export interface StopResult {
  readonly session: string;
  /** When the calls started, on the machine's clock. */
  readonly at: number;
  readonly receipts: readonly StopReceipt[];
  readonly failures: number;
}

export type StopperMessage = { readonly ready: true } | StopResult;

const settings = readSettings() as StopperSettings;
const parent = connectParent<StopRequest, StopperMessage>();
/** Many calls wait for the same row, and what is tested is not how long. */
const PATIENT = { connectMs: 60_000, lockMs: 60_000 };
const backend = await openBackend({ ...settings, database: { max: 10, timeouts: PATIENT } });
await backend.store.leases.expired(1);

async function stopAll({ ref, count }: StopRequest): Promise<void> {
  const at = Date.now();
  const calls = Array.from({ length: count }, () => stopTurn(backend, ref, { userId: settings.name }));
  const settled = await Promise.allSettled(calls);
  const receipts = settled.flatMap((each) => (each.status === "fulfilled" ? [each.value.receipt] : []));
  parent.send({ session: ref.session, at, receipts, failures: count - receipts.length });
}

parent.onMessage((request) => void stopAll(request));
parent.send({ ready: true });
