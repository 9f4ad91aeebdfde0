/** Blobs in memory. */
import { type Blob, type Blobs, checkBlob } from "../ports/blobs.ts";
import { StoreError } from "../errors.ts";
import { requireSession, sessionRow } from "./session-rows.ts";
import { type MemoryTables, table } from "./tables.ts";

const BLOBS = table<Blob>("blobs", "session");

export function memoryBlobs(tables: MemoryTables): Blobs {
  return {
    put: (ref, blob) =>
      tables.run((rows) => {
        const { id, body } = blob;
        const checked = checkBlob(blob);
        requireSession(rows, ref);
        if (rows.get(BLOBS, ref.session, id) !== undefined) return "already";
        rows.put(BLOBS, ref.session, id, { id, ...checked, body: new Uint8Array(body) });
        return "stored";
      }),
    get: (ref, id) =>
      tables.run((rows) => {
        const blob = sessionRow(rows, ref) === undefined ? undefined : rows.get(BLOBS, ref.session, id);
        return blob ?? null;
      }),
    copy: (from, to, ids) =>
      tables.run((rows) => {
        if (from.tenant !== to.tenant) throw new StoreError("NOT_FOUND", `session ${from.session}`);
        requireSession(rows, from);
        requireSession(rows, to);
        const missing = rows
          .of(BLOBS, from.session)
          .filter(({ id }) => ids.includes(id) && rows.get(BLOBS, to.session, id) === undefined);
        for (const blob of missing) rows.put(BLOBS, to.session, blob.id, blob);
        return missing.length;
      }),
  };
}
