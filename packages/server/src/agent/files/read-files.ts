/**
 * `readFiles` reads the files of a message before the first model call: it loads each file, stores its text in pieces
 * and shows one files block.
 *
 * Invariants: each file's record and text are committed together under the turn's epoch, so a later attempt reads only
 * the missing files. A failed file is shown as failed and never fails the turn. A fetch holds no slot of `fileSlots`,
 * because a slow server would keep files of other tenants from being read.
 */
import { type FileRef, restoreTurn } from "@turnstream/protocol";
import { blobUrl, truncateText } from "@turnstream/protocol/writer";
import { uploadIdOf } from "../../session/blobs/upload.ts";
import { extract, ExtractError } from "../../text-extraction/extract.ts";
import type { TurnAttempt } from "../../engine/attempt/attempt.ts";
import { type FileRecord, fileKey } from "../run/journal-entries.ts";
import { FILES_KEY } from "../../engine/attempt/journal-keys.ts";
import { MAIN_RUN, type BlockRef } from "../../engine/events/turn-writer.ts";
import type { RunContext } from "../run/run-context.ts";
import { defined } from "../../util/defined.ts";
import { FairSemaphore } from "../../util/fair-semaphore.ts";
import { allOrAbort } from "../../util/concurrency.ts";
import type { RuntimeStrings } from "../../strings/runtime-strings.ts";
import { EXTRACT_MEMORY_MB } from "../define/file-limits.ts";
import { FileError, type LoadedFile, loadFile, nameOf } from "./load-file.ts";
import type { AgentHost } from "../run/agent-turn.ts";
import { retryStore } from "../../engine/attempt/retry-store.ts";
import { detectImageType } from "../../text-extraction/image-type.ts";

const MAX_MESSAGE = 500;
/** How long all files of a message may take together; files beyond it are shown as timed out. */
const TOTAL_TIMEOUT_MS = 180_000;
/** Characters of one file that the prompt quotes. */
const PREVIEW_CHARS = 8_000;
/** Characters of all files of a message together that the prompt quotes. */
const TOTAL_PREVIEW_CHARS = 40_000;

export async function readFiles({ attempt, host, agent, pinned }: RunContext): Promise<void> {
  // The body of a stream agent gets the message and can read the files itself.
  if (attempt.fromJournal(FILES_KEY) !== undefined || (agent.body !== null && !agent.attachments)) return;
  const { files, known } = await turnFiles(attempt);
  if (files.length === 0 || known.size === files.length) return;
  const { strings } = attempt;
  const { fileLimits: limits } = host;
  const { env } = attempt.context;
  const bytesRead = files.reduce((sum, _, n) => sum + (attempt.fromJournal(fileKey(n))?.size ?? 0), 0);
  const reading: Reading = {
    attempt,
    host,
    known,
    // A half-written block of an earlier attempt is superseded. This block repeats the files that were already read.
    place: await attempt.writer.start({ type: "files.start", run: MAIN_RUN, files: [...files] }),
    until: env.now() + TOTAL_TIMEOUT_MS,
    shownChars: Math.min(PREVIEW_CHARS, Math.floor(TOTAL_PREVIEW_CHARS / files.length)),
    bytesLeft: limits.maxTotalBytes - bytesRead,
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
  readonly host: AgentHost;
  /** Records of files that the retried turn has already read. */
  readonly known: ReadonlyMap<number, FileRecord>;
  readonly place: BlockRef;
  readonly until: number;
  readonly shownChars: number;
  /** Larger images are not stored; 0 if the model sees no images. */
  readonly maxImageBytes: number;
  bytesLeft: number;
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

async function loadAndStore(reading: Reading, file: FileRef, n: number): Promise<FileRecord> {
  const { host } = reading;
  const { row, signal } = reading.attempt;
  const store = async (loaded: LoadedFile): Promise<FileRecord> =>
    storeFile(reading, file, n, await extractFile(reading, file, n, loaded));
  try {
    // Uploads are not fetched. The `await` keeps the errors of both inside of the `try`.
    if (uploadIdOf(file.url) !== null)
      return await host.fileSlots.run(row, signal, async () => store(await load(reading, file, n)));
    // A fetched file keeps its fetch slot until it is read, which bounds the bytes that wait.
    return await host.fetchSlots.run(row, signal, async (fetchSlot) => {
      const loaded = await load(reading, file, n);
      return host.fileSlots.run(row, signal, async () => {
        fetchSlot.release();
        return store(loaded);
      });
    });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    return storeFile(reading, file, n, { record: failedRecord(reading, file, n, error), text: [] });
  }
}

async function storeFile(
  { attempt }: Reading,
  file: FileRef,
  n: number,
  { record, text }: Read,
): Promise<FileRecord> {
  await attempt.commitStep(fileKey(n), record, async (tx) => {
    const { attachment: id, name, mediaType, size, isCut } = record;
    if (id === null) return;
    const { turn } = attempt.row;
    await tx.attachments.add(attempt.ref, { id, name, url: file.url, mediaType, size, isCut, turn, text });
  });
  return record;
}

interface Read {
  readonly record: FileRecord;
  readonly text: readonly string[];
}

/** @throws the error if it is not about the file */
function failedRecord({ attempt }: Reading, file: FileRef, n: number, error: unknown): FileRecord {
  if (!(error instanceof FileError) && !(error instanceof ExtractError)) throw error;
  if (error instanceof ExtractError)
    attempt.context.onError(error, { during: `file ${n} of turn ${attempt.row.turn}` });
  const problem = error instanceof FileError ? error.problem : BY_CODE[error.code];
  const nothing = { mediaType: "", size: 0, chars: 0, isCut: false, attachment: null, head: "" };
  return { ...nothing, name: nameOf(file), url: file.url, problem };
}

const BY_CODE = {
  TIMEOUT: "TIMEOUT",
  MEMORY: "TOO_LARGE",
  UNREADABLE: "UNREADABLE",
  NO_PACKAGE: "UNSUPPORTED",
} as const;

/** @throws FileError */
async function load(reading: Reading, file: FileRef, n: number): Promise<LoadedFile> {
  const { attempt, host } = reading;
  const { context, signal } = attempt;
  const { env } = context;
  const { fileLimits: limits } = host;
  const timeoutMs = Math.min(limits.fileTimeoutMs, reading.until - env.now());
  if (n >= limits.maxFiles) throw new FileError("TOO_MANY");
  if (timeoutMs <= 0) throw new FileError("TIMEOUT");
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
    const loaded = await loadFile({ attempt, host }, file, {
      maxBytes: limits.maxFileBytes,
      reach,
      timeoutMs,
      signal,
    });
    size = loaded.bytes.byteLength;
    return loaded;
  } finally {
    reading.bytesLeft += reserved - size;
  }
}

async function extractFile(reading: Reading, file: FileRef, n: number, loaded: LoadedFile): Promise<Read> {
  const { signal, turn } = reading.attempt;
  const { maxChars, extractTimeoutMs: timeoutMs } = reading.host.fileLimits;
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

interface FilesToRead {
  readonly files: readonly FileRef[];
  readonly known: ReadonlyMap<number, FileRecord>;
}

/** Only the last turn can be retried, so the turns of a chain of retries are consecutive. */
const PAGE = 20;

/**
 * Returns the files that a turn must read, with the records that earlier turns already have, by the same indexes. A retry
 * reads the files of the message of the turn that it retries, through a chain of retries.
 */
export async function turnFiles({ context, ref, row }: TurnAttempt): Promise<FilesToRead> {
  const { store } = context;
  const chain: string[] = [];
  let tried = row.retries;
  let files = row.message?.files ?? [];
  let before: number | undefined;
  while (tried !== null) {
    const page = await store.turns.list(ref, { limit: PAGE, ...defined({ before }) });
    for (const { id, snapshot } of page) {
      if (id !== tried) continue;
      const { message, retries } = restoreTurn(snapshot);
      chain.push(id);
      files = message?.files ?? [];
      tried = retries;
    }
    before = page.at(-1)?.start;
    if (page.length < PAGE) break;
  }
  const entries = files.length === 0 || chain.length === 0 ? [] : await store.journal.retained(ref, chain);
  const records = new Map(entries.map(({ key, value }) => [key, value as unknown as FileRecord]));
  const known = files.flatMap((_, n) => {
    const record = records.get(fileKey(n));
    return record === undefined ? [] : [[n, record] as const];
  });
  return { files, known: new Map(known) };
}
