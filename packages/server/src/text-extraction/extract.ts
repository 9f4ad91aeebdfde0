/**
 * Reads the text of a file in a thread of its own, which is ended when it takes too long or too much memory: a file made
 * to harm its reader costs that thread, and nothing else waits for it. Never fetches and never stores.
 */
import { Worker } from "node:worker_threads";
import { defineErrors } from "../util/errors.ts";
import type { FileKind, DeclaredType } from "./file-kind.ts";

export interface ExtractLimits {
  readonly maxChars: number;
  readonly timeoutMs: number;
  /** For what the thread's program holds, and again for the bytes it works on. */
  readonly memoryMb: number;
}

export interface FileBytes extends DeclaredType {
  readonly bytes: Uint8Array;
  /** How its text is written, where whoever sent it says so. */
  readonly charset: string;
}

export interface ThreadTask extends FileBytes {
  readonly maxChars: number;
}

/** What a file is, and its text in pieces: none for a picture, or what nobody here can read. */
export interface ThreadAnswer extends FileKind {
  /** As it calls itself; "" when it doesn't. */
  readonly title: string;
  readonly pieces: readonly string[];
  readonly isCut: boolean;
}

const MEANINGS = {
  TIMEOUT: "Reading the file took too long. Use a smaller or simpler one.",
  MEMORY: "Reading the file took too much memory. Use a smaller or simpler one.",
  UNREADABLE: "The file is damaged, locked by a password, or not what it says. Save it anew and try again.",
} as const;

export class ExtractError extends defineErrors("ExtractError", MEANINGS, (_code, _what, meaning) => meaning) {
  constructor(code: keyof typeof MEANINGS, cause?: unknown) {
    super(code, "", cause);
  }
}

const MEMORY_CHECK_MS = 100;
const MEGABYTE = 1024 * 1024;

/** @param file its bytes go to the thread: they are gone here afterwards. Throws ExtractError, or the signal's reason. */
export async function extract(
  file: FileBytes,
  limits: ExtractLimits,
  signal: AbortSignal,
): Promise<ThreadAnswer> {
  signal.throwIfAborted();
  const { memoryMb, timeoutMs, maxChars } = limits;
  // A view on a part of something larger would take that along.
  const bytes =
    file.bytes.byteLength === file.bytes.buffer.byteLength ? file.bytes : new Uint8Array(file.bytes);
  const workerData: ThreadTask = { ...file, bytes, maxChars };
  const worker = new Worker(new URL(threadFile(import.meta.url), import.meta.url), {
    workerData,
    transferList: [bytes.buffer as ArrayBuffer],
    resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 },
    env: {},
    execArgv: [],
    stdout: true,
    stderr: true,
  });
  worker.stdout.resume();
  worker.stderr.resume();
  let timer: NodeJS.Timeout | undefined;
  let memoryTimer: NodeJS.Timeout | undefined;
  let stop: (() => void) | undefined;
  try {
    return await new Promise<ThreadAnswer>((resolve, reject) => {
      timer = setTimeout(() => reject(new ExtractError("TIMEOUT")), timeoutMs);
      memoryTimer = setInterval(() => {
        void usedMemory(worker).then(
          (used) => used > memoryMb * MEGABYTE && reject(new ExtractError("MEMORY")),
        );
      }, MEMORY_CHECK_MS);
      stop = () => reject(signal.reason as Error);
      signal.addEventListener("abort", stop, { once: true });
      worker.once("message", resolve);
      worker.once("error", (error: Error & { code?: string }) =>
        reject(new ExtractError(error.code === "ERR_WORKER_OUT_OF_MEMORY" ? "MEMORY" : "UNREADABLE", error)),
      );
      worker.once("exit", () => reject(new ExtractError("UNREADABLE")));
    });
  } finally {
    clearTimeout(timer);
    clearInterval(memoryTimer);
    if (stop !== undefined) signal.removeEventListener("abort", stop);
    await worker.terminate();
  }
}

/** From source it is run as it is; what is published is JavaScript. */
function threadFile(self: string): string {
  return self.endsWith(".ts") ? "./thread.ts" : "./thread.js";
}

/** The bytes it works on: those are outside of what `resourceLimits` counts. */
async function usedMemory(worker: Worker): Promise<number> {
  try {
    return (await worker.getHeapStatistics()).external_memory;
  } catch {
    // It has ended meanwhile.
    return 0;
  }
}
