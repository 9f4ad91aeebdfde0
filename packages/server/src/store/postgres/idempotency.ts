/** Requests that must not be done twice, on PostgreSQL: of several who begin at once, the row of the first decides. */
import { sql } from "kysely";
import type { Env } from "../../util/env.ts";
import {
  type Begun,
  type Idempotency,
  REQUEST_CLAIM_MS,
  REQUEST_KEPT_MS,
  type RequestBegun,
  type RequestKey,
} from "../ports/idempotency.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import type { Actor } from "../refs.ts";
import { checkId, checkLimit } from "../rules/arguments.ts";
import { checkAnswer, checkRequest, judgeRequest } from "../rules/idempotency.ts";
import type { Db } from "./database.ts";
import { ago, clock, clockPlus, holdSession, inTransaction } from "./session-row.ts";

export function postgresIdempotency(db: Db, env: Env): Idempotency {
  return {
    begin: (actor, request) => inTransaction(db, (tx) => begin(tx, env, actor, request)),
    finish: (actor, request, claim, answer) =>
      inTransaction(db, async (tx) => {
        const body = checkAnswer(answer);
        const { status, session } = answer;
        if (session !== undefined) await holdSession(tx, { tenant: actor.tenant, session });
        const { numUpdatedRows } = await only(tx.updateTable("idempotency_keys"), actor, request)
          .set({ status, body, claim: null, ...(session === undefined ? {} : { session_id: session }) })
          .where("claim", "=", claim)
          .executeTakeFirst();
        return numUpdatedRows === 1n;
      }),
    async release(actor, request, claim) {
      await only(db.updateTable("idempotency_keys"), actor, request)
        .set({ claim: null })
        .where("claim", "=", claim)
        .execute();
    },
    async sweep(limit) {
      const most = checkLimit(limit, MAX_BATCH);
      const { numAffectedRows } = await sql`
        delete from idempotency_keys where (tenant_id, user_id, route, key) in (
          select tenant_id, user_id, route, key from idempotency_keys where begun_at < ${ago(REQUEST_KEPT_MS)}
          order by begun_at limit ${most} for update skip locked)`.execute(db);
      return Number(numAffectedRows ?? 0n);
    },
  };
}

async function begin(tx: Db, env: Env, actor: Actor, request: RequestBegun): Promise<Begun> {
  const { route, key } = checkRequest(request);
  const digest = checkId(request.digest, "digest");
  const { session = null } = request;
  if (session !== null) await holdSession(tx, { tenant: actor.tenant, session });
  const [claim, id] = [env.id(), env.id()];
  const claimed_until = clockPlus(REQUEST_CLAIM_MS);
  const row = { digest, made_id: id, claim, claimed_until, session_id: session };
  const added = await tx
    .insertInto("idempotency_keys")
    .values({ tenant_id: actor.tenant, user_id: actor.user, route, key, ...row })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  if (added.numInsertedOrUpdatedRows === 1n) return { state: "yours", claim, id };
  const there = await only(tx.selectFrom("idempotency_keys"), actor, request)
    .select(["digest", "status", "body", "made_id"])
    .select(sql<boolean>`claim is not null and claimed_until > ${clock}`.as("isClaimed"))
    .select(sql<boolean>`begun_at < ${ago(REQUEST_KEPT_MS)}`.as("isOld"))
    .forUpdate()
    .executeTakeFirst();
  // Swept or erased between the two: it was somebody's a moment ago.
  if (there === undefined) return { state: "busy" };
  const judged = there.isOld ? null : judgeRequest(there, digest);
  if (judged !== null) return judged;
  await only(tx.updateTable("idempotency_keys"), actor, request)
    .set(there.isOld ? { ...row, status: null, body: null, begun_at: clock } : { claim, claimed_until })
    .execute();
  return { state: "yours", claim, id: there.isOld ? id : there.made_id };
}

export async function forgetRequestsOf(db: Db, { tenant, user }: Actor): Promise<void> {
  await db
    .deleteFrom("idempotency_keys")
    .where("tenant_id", "=", tenant)
    .where("user_id", "=", user)
    .execute();
}

interface Narrowed<Self> {
  where(column: "tenant_id" | "user_id" | "route" | "key", op: "=", value: string): Self;
}

/** The one row, of whatever is being built. */
function only<Query extends Narrowed<Query>>(
  query: Query,
  { tenant, user }: Actor,
  { route, key }: RequestKey,
): Query {
  return query
    .where("tenant_id", "=", tenant)
    .where("user_id", "=", user)
    .where("route", "=", route)
    .where("key", "=", key);
}
