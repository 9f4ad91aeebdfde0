/**
 * This file is the worker thread that reads one file: it answers a `ThreadTask` with one `ThreadAnswer`.
 * Invariant: only `extract` starts it; it must not be imported. It can be terminated at any time, so it has no effects
 * outside of the thread. An error ends the thread and becomes an ExtractError. It has a lower priority than the threads
 * that respond to users.
 */
import { constants, setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import type * as FilesPackage from "@turnstream/files";
import type { ThreadAnswer, ThreadTask } from "./extract.ts";
import { decode, detectFileKind } from "./file-kind.ts";
import { chunkText } from "./chunk-text.ts";
import { detectImageType } from "./image-type.ts";

const task = workerData as ThreadTask;
const { bytes, charset, maxChars, filesPackage } = task;

async function answer(): Promise<ThreadAnswer> {
  const files = filesPackage === null ? null : ((await import(filesPackage)) as typeof FilesPackage);
  const sniffed = files === null ? detectImageType(bytes) : await files.detectMediaType(bytes);
  const kind = detectFileKind(bytes, sniffed, task);
  const nothing = { ...kind, title: "", pieces: [], isCut: false };
  if (kind.kind === "text") return { ...nothing, ...cut(decodeStart()) };
  if (kind.kind === "pdf" && files !== null) {
    const { text, isCut } = await files.readPdf(bytes, maxChars);
    return { ...nothing, pieces: chunkText(text), isCut };
  }
  if (kind.kind === "html" && files !== null) {
    const { title, text } = await files.readHtml(decode(bytes, charset), { links: true });
    return { ...nothing, title, ...cut(text) };
  }
  return nothing;
}

/** No encoding uses more bytes for a character. */
const MAX_CHAR_BYTES = 4;

/**
 * Decodes slightly more than `maxChars`, so that `cut` detects a longer text. The rest of a large file is never
 * decoded.
 */
function decodeStart(): string {
  return decode(bytes.subarray(0, (maxChars + 1) * MAX_CHAR_BYTES), charset, bytes.byteLength);
}

function cut(text: string): Pick<ThreadAnswer, "pieces" | "isCut"> {
  const start = text.slice(0, maxChars).replaceAll("\r\n", "\n");
  return { pieces: chunkText(start), isCut: text.length > maxChars };
}

// A file can take seconds of CPU time, and the other threads of the process must respond to all users meanwhile. Only
// on Linux does this call change one thread instead of the process.
if (process.platform === "linux") setPriority(constants.priority.PRIORITY_LOW);

const answered = await answer();
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has one parent, and no origin
parentPort?.postMessage(answered);
