/**
 * `postgresShares` implements the sub-port of shares on PostgreSQL.
 *
 * Invariant: the clock of the database decides whether a share is open. Only open shares are found.
 */
import { type Selectable, sql } from "kysely";
import { formatCursor } from "@turnstream/protocol";
import type { Env } from "../../util/env.ts";
import type { Share, Shares } from "../ports/access.ts";
import { MAX_BATCH, MAX_PAGE } from "../ports/sessions.ts";
import { checkDuration, checkId, checkLimit } from "../rules/arguments.ts";
import { formatPageToken, parsePageToken } from "../rules/page-token.ts";
import { formatShareKey, SHARE_KEY_BYTES } from "../rules/share-token.ts";
import type { Db } from "./database.ts";
import type { CoreTables } from "./schema.ts";
import { ago, bytewiseOrder, clock, clockPlus, inTransaction, sessionNotFound } from "./session-row.ts";

export function postgresShares(db: Db, env: Env): Shares {
  return {
    create: (actor, session, { id = env.id(), expiresInMs } = {}) =>
      inTransaction(db, async (tx) => {
        checkId(id, "share id");
        const key = formatShareKey(env.randomBytes(SHARE_KEY_BYTES));
        const expires =
          expiresInMs === undefined
            ? sql<Date | null>`null::timestamptz`
            : sql<Date | null>`${clockPlus(checkDuration(expiresInMs, "expiresInMs"))}`;
        const row = await tx
          .insertInto("shares")
          .columns([
            "id",
            "key",
            "tenant_id",
            "session_id",
            "up_to_epoch",
            "up_to_seq",
            "owner",
            "expires_at",
          ])
          .expression((eb) =>
            eb
              .selectFrom("sessions")
              .select((of) => [of.val(id).as("id"), of.val(key).as("key"), "tenant_id", "sessions.id as of"])
              .select(["archived_epoch", "archived_seq", "user_id", expires.as("expires_at")])
              .where("sessions.id", "=", session)
              .where("tenant_id", "=", actor.tenant)
              .where("user_id", "=", actor.user),
          )
          .returningAll()
          .executeTakeFirst();
        if (row === undefined) throw sessionNotFound({ tenant: actor.tenant, session });
        return shareOf(row);
      }),
    async revoke(actor, id) {
      const { numUpdatedRows } = await db
        .updateTable("shares")
        .set({ revoked_at: clock })
        .where("id", "=", id)
        .where("tenant_id", "=", actor.tenant)
        .where("owner", "=", actor.user)
        .where("revoked_at", "is", null)
        .executeTakeFirst();
      return numUpdatedRows === 1n;
    },
    async find(id) {
      const row = await openShares(db).where("shares.id", "=", id).executeTakeFirst();
      return row === undefined ? null : shareOf(row);
    },
    async list(actor, session) {
      const rows = await openShares(db)
        .where("shares.tenant_id", "=", actor.tenant)
        .where("session_id", "=", session)
        .where("owner", "=", actor.user)
        .orderBy("shares.created_at", "desc")
        .orderBy(bytewiseOrder("shares.id"), "desc")
        .limit(MAX_BATCH)
        .execute();
      return rows.toReversed().map(shareOf);
    },
    async listOwn(actor, page) {
      const limit = checkLimit(page.limit, MAX_PAGE);
      let query = openShares(db)
        .select("sessions.title")
        .where("shares.tenant_id", "=", actor.tenant)
        .where("owner", "=", actor.user)
        .orderBy("shares.created_at", "desc")
        .orderBy(bytewiseOrder("shares.id"), "desc")
        .limit(limit + 1);
      if (page.session !== undefined) query = query.where("session_id", "=", page.session);
      if (page.before !== undefined) {
        const { time, id } = parsePageToken(page.before);
        const end = sql`(${new Date(time)}::timestamptz, ${id})`;
        query = query.where(sql<boolean>`(shares.created_at, ${bytewiseOrder("shares.id")}) < ${end}`);
      }
      const rows = await query.execute();
      const shares = rows.slice(0, limit).map((row) => ({ ...shareOf(row), title: row.title }));
      const last = rows.length > limit ? shares.at(-1) : undefined;
      return {
        shares,
        next: last === undefined ? null : formatPageToken({ time: last.createdAt, id: last.id }),
      };
    },
    async prune({ olderThanMs, limit }) {
      const before = ago(checkDuration(olderThanMs, "olderThanMs"));
      const { numAffectedRows } = await sql`
        delete from shares where id in (
          select id from shares where least(revoked_at, expires_at) < ${before}
          order by least(revoked_at, expires_at) limit ${checkLimit(limit, MAX_BATCH)}
          for update skip locked)`.execute(db);
      return Number(numAffectedRows ?? 0n);
    },
  };
}

/** The only place that decides which shares are open, by the database's clock. */
function openShares(db: Db) {
  return db
    .selectFrom("shares")
    .innerJoin("sessions", (join) =>
      join
        .onRef("sessions.tenant_id", "=", "shares.tenant_id")
        .onRef("sessions.id", "=", "shares.session_id"),
    )
    .select(["shares.id", "shares.key", "shares.tenant_id", "session_id", "up_to_epoch", "up_to_seq"])
    .select(["shares.created_at", "expires_at"])
    .where("revoked_at", "is", null)
    .where((eb) => eb.or([eb("expires_at", "is", null), eb("expires_at", ">", ago(0))]));
}

type Row = Pick<
  Selectable<CoreTables["shares"]>,
  "id" | "key" | "tenant_id" | "session_id" | "up_to_epoch" | "up_to_seq" | "created_at" | "expires_at"
>;

function shareOf(row: Row): Share {
  return {
    id: row.id,
    tenant: row.tenant_id,
    session: row.session_id,
    upTo: formatCursor({ epoch: row.up_to_epoch, seq: row.up_to_seq }),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    key: row.key,
  };
}
