/**
 * This file is the worker thread that reads one file: it answers a `ThreadTask` with one `ThreadAnswer`.
 * Invariant: only `extract` starts it; it must not be imported. It can be terminated at any time, so it has no effects
 * outside of the thread. An error ends the thread and becomes an ExtractError. It has a lower priority than the threads
 * that respond to users.
 */
import { constants, setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { fileTypeFromBuffer } from "file-type";
import type { ThreadAnswer, ThreadTask } from "./extract.ts";
import { detectFileKind } from "./file-kind.ts";
import { chunkText } from "./chunk-text.ts";
import { toText } from "./to-text.ts";

const task = workerData as ThreadTask;

async function answer(): Promise<ThreadAnswer> {
  const { bytes, charset, maxChars } = task;
  const sniffed = await fileTypeFromBuffer(bytes);
  const kind = detectFileKind(bytes, sniffed?.mime ?? null, task);
  const { title, text, isCut } = await toText(bytes, kind, charset, maxChars);
  return { ...kind, title, pieces: chunkText(text), isCut };
}

// A file can take seconds of CPU time, and the other threads of the process must respond to all users meanwhile. Only
// on Linux does this call change one thread instead of the process.
if (process.platform === "linux") setPriority(constants.priority.PRIORITY_LOW);

const answered = await answer();
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has one parent, and no origin
parentPort?.postMessage(answered);
