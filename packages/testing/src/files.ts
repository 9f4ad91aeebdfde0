/**
 * `memoryUploads`, `memoryAttachments`, `memoryBlobs` and `memoryObjects` implement the parts for files in memory.
 * There is no object storage.
 *
 * Invariant: bytes are copied when they are stored, so a caller can't change them later. Only the newest attempt can
 * change an upload, until it is complete.
 */
import {
  type Attachment,
  type Attachments,
  type Blobs,
  checkAttachment,
  checkBlob,
  checkChunk,
  checkCount,
  checkLimit,
  checkSessionBytes,
  checkTextPosition,
  checkUpload,
  type Env,
  locateText,
  MAX_LISTED,
  MAX_PAGE,
  type SessionRef,
  type StoredBlob,
  type StoredObjects,
  StoreError,
  type TextChunk,
  type TextPosition,
  type Upload,
  type Uploads,
  uploadSuperseded,
} from "@turnstream/server/internal";
import { requireSession } from "./session-rows.ts";
import { createPart, type MemoryTables, type Rows, sessionTable } from "./tables.ts";

interface UploadRow extends SessionRef {
  readonly upload: Upload;
  readonly apiKey: string | null;
  readonly attempt: number;
}

const UPLOADS = sessionTable<UploadRow>("uploads");
const CHUNKS = sessionTable<Uint8Array>("upload_chunks");

export function countUploadedBytes(
  rows: Rows,
  sessions: readonly SessionRef[],
  isCounted: (row: Pick<UploadRow, "apiKey">) => boolean,
): number {
  return sessions
    .flatMap((ref) => rows.of(UPLOADS, ref).filter(isCounted))
    .reduce((sum, { upload }) => sum + upload.size, 0);
}

export function memoryUploads(tables: MemoryTables, env: Env): Uploads {
  return createPart<Uploads>(tables, {
    begin(rows, ref, given) {
      const { apiKey, ...wanted } = checkUpload(given);
      requireSession(rows, ref);
      const there = rows.get(UPLOADS, ref, wanted.id);
      if (there?.upload.isComplete === true) return "already";
      if (there !== undefined) removeChunks(rows, ref, there.upload);
      const attempt = (there?.attempt ?? 0) + 1;
      const createdAt = env.now();
      const upload = { ...wanted, size: 0, chunks: 0, isComplete: false, object: null, createdAt };
      put(rows, ref, { upload, apiKey, attempt });
      return { attempt, object: null };
    },
    add(rows, ref, id, chunk) {
      checkChunk(chunk);
      const { upload, ...row } = open(rows, ref, id, chunk.attempt);
      const total = rows.of(UPLOADS, ref).reduce((sum, other) => sum + other.upload.size, 0);
      checkSessionBytes(id, total + chunk.bytes.byteLength, chunk);
      rows.put(CHUNKS, ref, key(id, upload.chunks), new Uint8Array(chunk.bytes));
      const size = upload.size + chunk.bytes.byteLength;
      put(rows, ref, { ...row, upload: { ...upload, size, chunks: upload.chunks + 1 } });
    },
    complete(rows, ref, id, attempt) {
      checkCount(attempt, "attempt");
      const { upload, ...row } = open(rows, ref, id, attempt);
      return put(rows, ref, { ...row, upload: { ...upload, isComplete: true } });
    },
    completeDeclared(rows, ref, id) {
      const row = rows.get(UPLOADS, ref, id);
      if (row === undefined) throw new StoreError("NOT_FOUND", `upload ${id}`);
      if (!row.upload.isComplete) throw uploadSuperseded(id);
      return row.upload;
    },
    get: (rows, ref, id) => rows.get(UPLOADS, ref, id)?.upload ?? null,
    chunk(rows, ref, id, n) {
      checkCount(n, "n");
      if (rows.get(UPLOADS, ref, id)?.upload.isComplete !== true) return null;
      return rows.get(CHUNKS, ref, key(id, n)) ?? null;
    },
    remove(rows, ref, id) {
      const row = rows.get(UPLOADS, ref, id);
      if (row === undefined) return false;
      removeChunks(rows, ref, row.upload);
      return rows.remove(UPLOADS, ref, id);
    },
    prune: () => 0,
  });
}

function key(id: string, n: number): string {
  return `${n} ${id}`;
}

function open(rows: Rows, ref: SessionRef, id: string, attempt: number): UploadRow {
  const row = rows.get(UPLOADS, ref, id);
  if (row === undefined) throw new StoreError("NOT_FOUND", `upload ${id}`);
  if (row.attempt !== attempt || row.upload.isComplete) throw uploadSuperseded(id);
  return row;
}

function put(rows: Rows, { tenant, session }: SessionRef, row: Omit<UploadRow, keyof SessionRef>): Upload {
  rows.put(UPLOADS, { tenant, session }, row.upload.id, { ...row, tenant, session });
  return row.upload;
}

function removeChunks(rows: Rows, ref: SessionRef, { id, chunks }: Upload): void {
  for (let n = 0; n < chunks; n++) rows.remove(CHUNKS, ref, key(id, n));
}

interface AttachmentRow {
  readonly n: number;
  readonly attachment: Attachment;
  readonly pieces: readonly TextChunk[];
}

const ATTACHMENTS = sessionTable<AttachmentRow>("attachments");

export function memoryAttachments(tables: MemoryTables, env: Env): Attachments {
  return createPart<Attachments>(tables, {
    add(rows, ref, given) {
      const { text, ...rest } = checkAttachment(given);
      requireSession(rows, ref);
      if (rows.get(ATTACHMENTS, ref, rest.id) !== undefined) return "already";
      const chars = text.reduce((sum, piece) => sum + piece.length, 0);
      const attachment = { ...rest, chars, pieces: text.length, addedAt: env.now() };
      rows.put(ATTACHMENTS, ref, rest.id, {
        n: rows.next("attachments"),
        attachment,
        pieces: locateText(text),
      });
      return "added";
    },
    get(rows, ref, id) {
      return rows.get(ATTACHMENTS, ref, id)?.attachment ?? null;
    },
    list(rows, ref, query) {
      const limit = checkLimit(query.limit, MAX_LISTED);
      const found = rows.of(ATTACHMENTS, ref).toSorted((a, b) => b.n - a.n);
      return found.slice(0, limit).map(({ attachment }) => attachment);
    },
    pieces(rows, ref, id, range) {
      const from = checkCount(range.from, "from");
      const limit = checkLimit(range.limit, MAX_PAGE);
      return rows.get(ATTACHMENTS, ref, id)?.pieces.slice(from, from + limit) ?? [];
    },
    pieceAt(rows, ref, id, given) {
      const place = checkTextPosition(given);
      const pieces = rows.get(ATTACHMENTS, ref, id)?.pieces;
      if (pieces === undefined || pieces.length === 0) return null;
      return pieces.findLast((piece) => isBeforeRange(piece, place))?.n ?? 0;
    },
  });
}

const BLOBS = sessionTable<StoredBlob>("blobs");

export function memoryBlobs(tables: MemoryTables): Blobs {
  return createPart<Blobs>(tables, {
    put(rows, ref, blob) {
      const { id, body } = blob;
      const checked = checkBlob(blob);
      requireSession(rows, ref);
      if (rows.get(BLOBS, ref, id) !== undefined) return "already";
      rows.put(BLOBS, ref, id, { id, ...checked, body: new Uint8Array(body) });
      return "stored";
    },
    get: (rows, ref, id) => rows.get(BLOBS, ref, id) ?? null,
    find(rows, ref, id) {
      const blob = rows.get(BLOBS, ref, id);
      return blob === undefined ? null : { ...blob, size: blob.body.byteLength, object: null };
    },
    stageCopies: (_) => [],
    copy(rows, from, to, ids) {
      if (from.tenant !== to.tenant) throw new StoreError("NOT_FOUND", `session ${from.session}`);
      requireSession(rows, from);
      requireSession(rows, to);
      const missing = rows
        .of(BLOBS, from)
        .filter(({ id }) => ids.includes(id) && rows.get(BLOBS, to, id) === undefined);
      for (const blob of missing) rows.put(BLOBS, to, blob.id, blob);
      return missing.length;
    },
  });
}

export function memoryObjects(): StoredObjects {
  return {
    write: async () => {
      throw new StoreError("UNAVAILABLE", "object storage: the store has none");
    },
    release: async () => undefined,
    signUpload: async () => null,
    signDownload: async () => null,
    sweep: async () => 0,
    findUnknown: async () => ({ keys: [], next: null }),
    deleteUnknown: async () => 0,
  };
}

/** True if a piece does not start after the position. The last such piece contains it. */
function isBeforeRange(piece: Pick<TextChunk, "at" | "line">, place: TextPosition): boolean {
  // A line may start in the piece before the first one whose start is in that line, hence `<`.
  return "char" in place ? piece.at <= place.char : piece.line < place.line;
}
