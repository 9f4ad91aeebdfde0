/**
 * `readFiles` reads the files of a message before the first model call: it loads each file, stores its text in pieces
 * and shows one files block.
 *
 * Invariants: each file's record and text are committed together under the turn's epoch, so a later attempt reads only
 * the missing files. A failed file is shown as failed and never fails the turn. A fetch holds no slot of `fileSlots`,
 * because a slow server would keep files of other tenants from being read.
 */
import type { FileRef } from "@turnstream/protocol";
import { blobUrl, truncateText } from "@turnstream/protocol/writer";
import { uploadIdOf } from "../../session/blobs/upload.ts";
import { extract, ExtractError } from "../../text-extraction/extract.ts";
import type { TurnAttempt } from "../attempt/attempt.ts";
import { type FileRecord, fileKey, FILES_KEY } from "../attempt/journal-entries.ts";
import { MAIN_RUN, type BlockRef } from "../events/turn-writer.ts";
import type { RunContext } from "../attempt/run-context.ts";
import { FairSemaphore } from "../../util/fair-semaphore.ts";
import { allOrAbort } from "../../util/concurrency.ts";
import type { RuntimeStrings } from "../strings/runtime-strings.ts";
import { EXTRACT_MEMORY_MB } from "../define/file-limits.ts";
import { FileError, type LoadedFile, loadFile, nameOf } from "./load-file.ts";
import { retryStore } from "../attempt/retry-store.ts";
import { detectImageType } from "../../text-extraction/image-type.ts";
import { turnFiles } from "./turn-files.ts";

const MAX_MESSAGE = 500;
/** How long all files of a message may take together; files beyond it are shown as timed out. */
const TOTAL_TIMEOUT_MS = 180_000;
/** Characters of one file that the prompt quotes. */
const PREVIEW_CHARS = 8_000;
/** Characters of all files of a message together that the prompt quotes. */
const TOTAL_PREVIEW_CHARS = 40_000;

export async function readFiles({ attempt, agent, pinned }: RunContext): Promise<void> {
  // The body of a stream agent gets the message and can read the files itself.
  if (attempt.fromJournal(FILES_KEY) !== undefined || (agent.body !== null && !agent.attachments)) return;
  const { files, known } = await turnFiles(attempt);
  if (files.length === 0 || known.size === files.length) return;
  const { strings } = attempt;
  const { env, fileLimits: limits } = attempt.context;
  const reading: Reading = {
    attempt,
    known,
    // A half-written block of an earlier attempt is superseded. This block repeats the files that were already read.
    place: await attempt.writer.start({ type: "files.start", run: MAIN_RUN, files: [...files] }),
    until: env.now() + TOTAL_TIMEOUT_MS,
    shownChars: Math.min(PREVIEW_CHARS, Math.floor(TOTAL_PREVIEW_CHARS / files.length)),
    bytesLeft: limits.maxTotalBytes - bytesRead(attempt, files),
    maxImageBytes: pinned.images?.maxImageBytes ?? 0,
  };
  const slots = new FairSemaphore(limits.maxParallel);
  const branches = files.map((file, n) =>
    slots.run(attempt.row, attempt.signal, () => readFile(reading, file, n)),
  );
  const records = await allOrAbort(branches, (error) => attempt.abort(error));
  const read = records.filter(({ problem }) => problem === null).length;
  const cut = records.filter(({ isCut }) => isCut).length;
  const message = truncateText(strings.filesRead(read, files.length, cut), MAX_MESSAGE);
  const status = read > 0 ? "completed" : "failed";
  await attempt.writer.write({ type: "files.end", ...reading.place, status, message });
  await attempt.commitStep(FILES_KEY, { blocks: [reading.place.block] });
}

interface Reading {
  readonly attempt: TurnAttempt;
  /** Records of files that the retried turn has already read. */
  readonly known: ReadonlyMap<number, FileRecord>;
  readonly place: BlockRef;
  readonly until: number;
  readonly shownChars: number;
  /** Larger images are not stored; 0 if the model sees no images. */
  readonly maxImageBytes: number;
  bytesLeft: number;
}

function bytesRead(attempt: TurnAttempt, files: readonly FileRef[]): number {
  return files.reduce((sum, _, n) => sum + (attempt.fromJournal(fileKey(n))?.size ?? 0), 0);
}

async function readFile(reading: Reading, file: FileRef, n: number): Promise<FileRecord> {
  const { attempt, place } = reading;
  const { writer, strings } = attempt;
  let record = attempt.fromJournal(fileKey(n)) ?? reading.known.get(n);
  if (record === undefined) {
    const message = truncateText(strings.readingFile(nameOf(file)), MAX_MESSAGE);
    await writer.write({ type: "files.delta", ...place, status: "processing", message, file: n });
    record = await loadAndStore(reading, file, n);
  }
  const { problem } = record;
  const status = problem === null ? "completed" : "failed";
  const message = truncateText(describeOutcome(strings, record), MAX_MESSAGE);
  await writer.write({ type: "files.delta", ...place, status, message, file: n });
  return record;
}

function describeOutcome(strings: RuntimeStrings, { name, problem, isCut }: FileRecord): string {
  if (problem !== null) return strings.fileFailed(name, problem);
  return isCut ? strings.fileCut(name) : "";
}

/** A fetched file keeps its fetch slot until it is read, which bounds the bytes that wait. Uploads are not fetched. */
async function loadAndStore(reading: Reading, file: FileRef, n: number): Promise<FileRecord> {
  const { context, row, signal } = reading.attempt;
  if (uploadIdOf(file.url) !== null)
    return context.fileSlots.run(row, signal, async () =>
      storeFile(reading, file, n, await load(reading, file, n)),
    );
  return context.fetchSlots.run(row, signal, async (fetchSlot) => {
    const loaded = await load(reading, file, n);
    return context.fileSlots.run(row, signal, async () => {
      fetchSlot.release();
      return storeFile(reading, file, n, loaded);
    });
  });
}

async function storeFile(
  reading: Reading,
  file: FileRef,
  n: number,
  loaded: LoadedFile | FileError,
): Promise<FileRecord> {
  const { attempt } = reading;
  const { record, text } = await tryFile(reading, file, n, loaded);
  await attempt.commitStep(fileKey(n), record, {
    isRetained: true,
    alsoCommit: async (tx) => {
      const { attachment: id, name, mediaType, size, isCut } = record;
      if (id === null) return;
      const { turn } = attempt.row;
      await tx.attachments.add(attempt.ref, { id, name, url: file.url, mediaType, size, isCut, turn, text });
    },
  });
  return record;
}

interface Read {
  readonly record: FileRecord;
  readonly text: readonly string[];
}

async function tryFile(
  reading: Reading,
  file: FileRef,
  n: number,
  loaded: LoadedFile | FileError,
): Promise<Read> {
  const { attempt } = reading;
  const { context, signal } = attempt;
  const nothing = {
    url: file.url,
    mediaType: "",
    size: 0,
    chars: 0,
    isCut: false,
    attachment: null,
    head: "",
  };
  try {
    if (loaded instanceof FileError) throw loaded;
    return await extractFile(reading, file, n, loaded);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (!(error instanceof FileError) && !(error instanceof ExtractError)) throw error;
    if (error instanceof ExtractError)
      context.onError(error, { during: `file ${n} of turn ${attempt.row.turn}` });
    const problem = error instanceof FileError ? error.problem : BY_CODE[error.code];
    return { record: { ...nothing, name: nameOf(file), problem }, text: [] };
  }
}

const BY_CODE = {
  TIMEOUT: "TIMEOUT",
  MEMORY: "TOO_LARGE",
  UNREADABLE: "UNREADABLE",
  NO_PACKAGE: "UNSUPPORTED",
} as const;

/** Returns the bytes of a file, or why it can't be loaded. */
async function load(reading: Reading, file: FileRef, n: number): Promise<LoadedFile | FileError> {
  const { attempt } = reading;
  const { context, signal } = attempt;
  const { fileLimits: limits, env } = context;
  const timeoutMs = Math.min(limits.fileTimeoutMs, reading.until - env.now());
  if (n >= limits.maxFiles) return new FileError("TOO_MANY");
  if (timeoutMs <= 0) return new FileError("TIMEOUT");
  // Parallel reads share one limit. Each file reserves the bytes that it has received, not its maximum.
  let reserved = 0;
  const reach = (bytes: number): void => {
    const more = bytes - reserved;
    if (bytes > limits.maxFileBytes || more > reading.bytesLeft) throw new FileError("TOO_LARGE");
    if (more <= 0) return;
    reserved = bytes;
    reading.bytesLeft -= more;
  };
  let size = 0;
  try {
    const loaded = await loadFile(attempt, file, { maxBytes: limits.maxFileBytes, reach, timeoutMs, signal });
    size = loaded.bytes.byteLength;
    return loaded;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (!(error instanceof FileError)) throw error;
    return error;
  } finally {
    reading.bytesLeft += reserved - size;
  }
}

async function extractFile(reading: Reading, file: FileRef, n: number, loaded: LoadedFile): Promise<Read> {
  const { context, signal, turn } = reading.attempt;
  const { maxChars, extractTimeoutMs: timeoutMs } = context.fileLimits;
  const { name } = loaded;
  const size = loaded.bytes.byteLength;
  const image = await storeImage(reading, file, n, loaded.bytes);
  const extracted = await extract(loaded, { maxChars, timeoutMs, memoryMb: EXTRACT_MEMORY_MB }, signal);
  const { kind, mediaType, pieces, isCut } = extracted;
  if (kind === "other") throw new FileError("UNSUPPORTED");
  const chars = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const attachment = `file-${turn.number}-${n + 1}`;
  const head = truncateText(pieces[0] ?? "", reading.shownChars);
  const record = { name, url: file.url, mediaType, size, chars, isCut, attachment, head, problem: null };
  return { record: image === null ? record : { ...record, image }, text: pieces };
}

/**
 * Stores a fetched image for the model, because its URL may return something else later. Uploads are already stored.
 * @returns a stable URL of the bytes, or null if the model doesn't see the file
 */
async function storeImage(
  { attempt, maxImageBytes }: Reading,
  file: FileRef,
  n: number,
  bytes: Uint8Array,
): Promise<string | null> {
  const mediaType = detectImageType(bytes);
  if (mediaType === null || bytes.byteLength > maxImageBytes || uploadIdOf(file.url) !== null) return null;
  const { context, ref, row, epoch } = attempt;
  // The id contains the epoch, so attempts never overwrite each other's blobs.
  const id = `image.${row.turn}.${n}.${epoch}`;
  await retryStore(context, () => context.store.blobs.put(ref, { id, mediaType, body: bytes }));
  return blobUrl(id);
}
