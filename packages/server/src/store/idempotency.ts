/**
 * `Idempotency` is the part of the store for requests that are executed once, `postgresIdempotency` its implementation.
 * `resolveIdempotentRequest` decides what `begin` returns for a known key.
 *
 * Invariant: of concurrent `begin` calls for one request, the one that inserts or first locks the row gets `yours`, and
 * only that permits to execute the request. A key with another digest is neither executed nor answered. A stored
 * response is returned again, and a claimed request is `busy`.
 */
import type { Json } from "@turnstream/protocol";
import { sql } from "kysely";
import { defined } from "../util/defined.ts";
import type { Env } from "../util/env.ts";
import type { Actor } from "../util/refs.ts";
import type { Db } from "./database/database.ts";
import { deleteOldest } from "./database/delete-oldest.ts";
import { inTransaction, lockSessionRow, ago, clockPlus, clock } from "./database/session-row.ts";
import { existingTenant } from "./database/tenant-row.ts";
import { StoreError } from "./errors.ts";
import { checkId, checkJson } from "./rules/arguments.ts";

/** Identifies a request of one user. */
export interface RequestKey {
  /** The same key on another route is another request. */
  readonly route: string;
  readonly key: string;
}

export interface IdempotentRequest extends RequestKey {
  /** Hash of the whole request. The same key with another digest is an error of the client. */
  readonly digest: string;
  /** The session that the request concerns, if any. */
  readonly session?: string;
}

export interface StoredResponse {
  readonly status: number;
  readonly body: Json;
  /** The session that the request created. */
  readonly session?: string;
}

/**
 * - `yours`: execute the request, then call `finish` or `release` with this claim. `id` stays the same if another
 *   process takes over: create things under this id, so that a second execution doesn't create them twice.
 * - `busy`: another process is executing it.
 * - `different`: the key was used for another request.
 */
export type BeginResult =
  | { readonly state: "yours"; readonly claim: string; readonly id: string }
  | { readonly state: "done"; readonly answer: { readonly status: number; readonly body: Json } }
  | { readonly state: "busy" }
  | { readonly state: "different" };

/**
 * The part of the store for idempotent requests. The response to a request is stored for a day under a key that the client chose,
 * and returned for repeats. A request belongs to one user, and is erased with the user or its session.
 *
 *   begin ──▶ yours ──▶ finish ──▶ done …
 *               │
 *               ├──▶ release ──▶ yours (for the next `begin`)
 *               └──▶ no answer within the lease ──▶ yours (for the next `begin`)
 */
export interface Idempotency {
  /** @throws StoreError with NOT_FOUND if the tenant or the session does not exist. */
  begin(actor: Actor, request: IdempotentRequest): Promise<BeginResult>;
  /**
   * Stores the response. Returns false if another process has taken over the request, or if it was erased.
   * @throws StoreError with NOT_FOUND if the session does not exist, with TOO_LARGE above 256 kB.
   */
  finish(actor: Actor, request: RequestKey, claim: string, answer: StoredResponse): Promise<boolean>;
  /** Gives up the claim after a failure. The next `begin` executes the request again, under the same `id`. */
  release(actor: Actor, request: RequestKey, claim: string): Promise<void>;
  /**
   * Deletes requests that started more than a day ago.
   * @returns how many, at most `limit`
   */
  sweep(limit: number): Promise<number>;
}

export const RESPONSE_RETENTION_MS = 24 * 60 * 60 * 1_000;

/** A claim that was neither finished nor released for this long can be taken over. */
export const REQUEST_LEASE_MS = 120_000;

const MAX_BYTES = 256 * 1024;

export interface RequestState {
  readonly digest: string;
  /** Null while there is no response. */
  readonly status: number | null;
  readonly body: Json | null;
  readonly isClaimed: boolean;
}

/** Returns null if the caller may execute the request. */
export function resolveIdempotentRequest(
  row: RequestState,
  digest: string,
): Exclude<BeginResult, { state: "yours" }> | null {
  if (row.digest !== digest) return { state: "different" };
  if (row.status !== null) return { state: "done", answer: { status: row.status, body: row.body } };
  return row.isClaimed ? { state: "busy" } : null;
}

export function checkIdempotentRequest({ route, key }: RequestKey): RequestKey {
  return { route: checkId(route, "route"), key: checkId(key, "idempotency key") };
}

/** @returns the body as it is stored */
export function checkAnswer({ status, body }: StoredResponse): string {
  if (!Number.isInteger(status) || status < 100 || status > 599)
    throw new StoreError("INVALID", "response status must be an HTTP status from 100 to 599");
  return checkJson(body, "response body", MAX_BYTES);
}

/** If several requests begin concurrently, the row of the first one decides. */
export function postgresIdempotency(db: Db, env: Env): Idempotency {
  return {
    begin: (actor, request) => inTransaction(db, (tx) => begin(tx, env, actor, request)),
    finish: (actor, request, claim, answer) =>
      inTransaction(db, async (tx) => {
        const body = checkAnswer(answer);
        const { status, session } = answer;
        if (session !== undefined) await lockSessionRow(tx, { tenant: actor.tenant, session });
        const { numUpdatedRows } = await tx
          .updateTable("idempotency_keys")
          .set({ status, body, claim: null, ...defined({ session_id: session }) })
          .where(isOf(actor, request))
          .where("claim", "=", claim)
          .executeTakeFirst();
        return numUpdatedRows === 1n;
      }),
    async release(actor, request, claim) {
      await db
        .updateTable("idempotency_keys")
        .set({ claim: null })
        .where(isOf(actor, request))
        .where("claim", "=", claim)
        .execute();
    },
    async sweep(limit) {
      const isOld = sql`begun_at < ${ago(RESPONSE_RETENTION_MS)}`;
      const key = ["tenant_id", "user_id", "route", "key"];
      return deleteOldest(db, "idempotency_keys", { key, isOld, by: sql`begun_at`, limit });
    },
  };
}

async function begin(tx: Db, env: Env, actor: Actor, request: IdempotentRequest): Promise<BeginResult> {
  const { route, key } = checkIdempotentRequest(request);
  const digest = checkId(request.digest, "digest");
  const { session = null } = request;
  if (session !== null) await lockSessionRow(tx, { tenant: actor.tenant, session });
  const [claim, id] = [env.id(), env.id()];
  const claimed_until = clockPlus(REQUEST_LEASE_MS);
  const row = { digest, made_id: id, claim, claimed_until, session_id: session };
  const added = await tx
    .insertInto("idempotency_keys")
    .values({ tenant_id: existingTenant(actor.tenant), user_id: actor.user, route, key, ...row })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  if (added.numInsertedOrUpdatedRows === 1n) return { state: "yours", claim, id };
  const there = await tx
    .selectFrom("idempotency_keys")
    .where(isOf(actor, request))
    .select(["digest", "status", "body", "made_id"])
    .select(sql<boolean>`claim is not null and claimed_until > ${clock}`.as("isClaimed"))
    .select(sql<boolean>`begun_at < ${ago(RESPONSE_RETENTION_MS)}`.as("isOld"))
    .forUpdate()
    .executeTakeFirst();
  // The row was deleted between the two statements, so another process had it a moment ago.
  if (there === undefined) return { state: "busy" };
  const judged = there.isOld ? null : resolveIdempotentRequest(there, digest);
  if (judged !== null) return judged;
  await tx
    .updateTable("idempotency_keys")
    .set(there.isOld ? { ...row, status: null, body: null, begun_at: clock } : { claim, claimed_until })
    .where(isOf(actor, request))
    .execute();
  return { state: "yours", claim, id: there.isOld ? id : there.made_id };
}

/** True for the row of one request. */
function isOf({ tenant, user }: Actor, { route, key }: RequestKey) {
  return sql<boolean>`tenant_id = ${tenant} and user_id = ${user} and route = ${route} and key = ${key}`;
}
