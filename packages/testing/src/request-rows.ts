/**
 * `putRequest` and its helpers store idempotent requests in memory.
 *
 * Invariant: requests belong to the tenant, so the erasure of a session must call `deleteRequestsOfSession`.
 */
import type { Actor, RequestKey, SessionRef } from "@turnstream/server/internal";
import { type Rows, table } from "./tables.ts";

export interface RequestRow extends Actor, RequestKey {
  readonly digest: string;
  readonly id: string;
  readonly claim: string | null;
  readonly claimedUntil: number;
  readonly status: number | null;
  readonly body: string | null;
  readonly session: string | null;
  readonly startedAt: number;
}

export const REQUESTS = table<RequestRow>("idempotency_keys");

export function deleteRequestsOfSession(rows: Rows, { tenant, session }: SessionRef): void {
  for (const row of rows.of(REQUESTS, tenant))
    if (row.session === session) rows.remove(REQUESTS, tenant, requestKey(row, row));
}

export function putRequest(rows: Rows, row: RequestRow): void {
  rows.put(REQUESTS, row.tenant, requestKey(row, row), row);
}

export function requestKey({ user }: Pick<Actor, "user">, { route, key }: RequestKey): string {
  return JSON.stringify([user, route, key]);
}
