/**
 * `putRequest` and its helpers store idempotent requests in memory and delete them with their user or session.
 *
 * Invariant: requests belong to the tenant, so erasing a session or a user does not delete them by itself. Every such
 * erasure must call `deleteRequestsOfSession` or `deleteRequestsOfUser`.
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

export const REQUESTS = table<RequestRow>("idempotency_keys", "tenant");

export function deleteRequestsOfUser(rows: Rows, { tenant, user }: Actor): void {
  removeRequests(
    rows,
    rows.of(REQUESTS, tenant).filter((row) => row.user === user),
  );
}

export function deleteRequestsOfSession(rows: Rows, { tenant, session }: SessionRef): void {
  removeRequests(
    rows,
    rows.of(REQUESTS, tenant).filter((row) => row.session === session),
  );
}

export function removeRequests(rows: Rows, removed: readonly RequestRow[]): number {
  for (const row of removed) rows.remove(REQUESTS, row.tenant, requestKey(row, row));
  return removed.length;
}

export function putRequest(rows: Rows, row: RequestRow): void {
  rows.put(REQUESTS, row.tenant, requestKey(row, row), row);
}

export function requestKey({ user }: Pick<Actor, "user">, { route, key }: RequestKey): string {
  return JSON.stringify([user, route, key]);
}
