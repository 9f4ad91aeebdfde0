/** Blobs on PostgreSQL, as bytea: erased with their session, backed up with everything else. */
import { type Blobs, checkBlob } from "../ports/blobs.ts";
import { sql } from "kysely";
import { StoreError } from "../errors.ts";
import type { Db } from "./database.ts";
import { inTransaction, isTenants, requireSession } from "./session-row.ts";

export function postgresBlobs(db: Db): Blobs {
  return {
    async put(ref, blob) {
      const { mediaType, name = null } = checkBlob(blob);
      await requireSession(db, ref);
      const { numInsertedOrUpdatedRows } = await db
        .insertInto("blobs")
        .values({
          session_id: ref.session,
          id: blob.id,
          media_type: mediaType,
          name,
          size: blob.body.byteLength,
          body: blob.body,
        })
        .onConflict((oc) => oc.columns(["session_id", "id"]).doNothing())
        .executeTakeFirst();
      return numInsertedOrUpdatedRows === 1n ? "stored" : "already";
    },
    async get(ref, id) {
      const row = await db
        .selectFrom("blobs")
        .select(["media_type", "name", "body"])
        .where("session_id", "=", ref.session)
        .where("id", "=", id)
        .where(isTenants(ref))
        .executeTakeFirst();
      if (row === undefined) return null;
      const named = row.name === null ? {} : { name: row.name };
      return { id, mediaType: row.media_type, ...named, body: bytesOf(row.body) };
    },
    copy: (from, to, ids) =>
      inTransaction(db, async (tx) => {
        if (from.tenant !== to.tenant) throw new StoreError("NOT_FOUND", `session ${from.session}`);
        await requireSession(tx, from);
        await requireSession(tx, to);
        const { numInsertedOrUpdatedRows } = await tx
          .insertInto("blobs")
          .columns(["session_id", "id", "media_type", "name", "size", "body"])
          .expression((eb) =>
            eb
              .selectFrom("blobs")
              .select((of) => [
                of.val(to.session).as("session_id"),
                "id",
                "media_type",
                "name",
                "size",
                "body",
              ])
              .where("session_id", "=", from.session)
              .where("id", "=", sql<string>`any(${[...ids]}::text[])`),
          )
          .onConflict((oc) => oc.columns(["session_id", "id"]).doNothing())
          .executeTakeFirst();
        return Number(numInsertedOrUpdatedRows ?? 0n);
      }),
  };
}

/** As it is when it has its memory for itself; small ones share theirs with others and are copied out of it. */
function bytesOf(body: Buffer): Uint8Array {
  return body.byteLength === body.buffer.byteLength ? new Uint8Array(body.buffer) : new Uint8Array(body);
}
