/**
 * `extract` reads the text of a file in its own thread. Does not fetch or store files.
 * Invariant: a malicious file can block or crash only that thread, which is terminated at its time or memory limit and
 * after every result. The thread gets no environment variables, and its output is discarded. Every failure is an
 * ExtractError with a fixed message, or the signal's reason. The bytes are transferred and can't be used afterwards.
 */
import { Worker } from "node:worker_threads";
import { defineErrors } from "../util/errors.ts";
import type { FileKind, DeclaredType } from "./file-kind.ts";
import { importFilesPackage } from "./import-files-package.ts";

export interface ExtractLimits {
  readonly maxChars: number;
  readonly timeoutMs: number;
  /** Limit for the heap of the thread, and separately for its buffers outside the heap. */
  readonly memoryMb: number;
}

export interface FileBytes extends DeclaredType {
  readonly bytes: Uint8Array;
  /** The charset that the sender declared, or "". */
  readonly charset: string;
}

export interface ThreadTask extends FileBytes {
  readonly maxChars: number;
  /** The URL of the package that reads PDF and HTML, or null if it is not installed. */
  readonly filesPackage: string | null;
}

/** The type of a file and its text in chunks. Images and unsupported formats have no chunks. */
export interface ThreadAnswer extends FileKind {
  /** The title in the document, or "". */
  readonly title: string;
  readonly pieces: readonly string[];
  readonly isCut: boolean;
}

const MEANINGS = {
  TIMEOUT: "Reading the file took too long. Use a smaller or simpler one.",
  MEMORY: "Reading the file took too much memory. Use a smaller or simpler one.",
  UNREADABLE:
    "The file is damaged, protected by a password, or not of its declared type. Save it again and retry.",
  NO_PACKAGE: "PDF and HTML can't be read here. Install @turnstream/files to read them.",
} as const;

export class ExtractError extends defineErrors("ExtractError", MEANINGS, (_code, _what, meaning) => meaning) {
  constructor(code: keyof typeof MEANINGS, cause?: unknown) {
    super(code, "", cause);
  }
}

const MEMORY_CHECK_MS = 100;
const MEGABYTE = 1024 * 1024;

/**
 * @param file its bytes are transferred to the thread and can't be used afterwards
 * @throws ExtractError, or the signal's reason if it is aborted
 */
export async function extract(
  file: FileBytes,
  limits: ExtractLimits,
  signal: AbortSignal,
): Promise<ThreadAnswer> {
  const filesPackage = (await importFilesPackage())?.moduleUrl ?? null;
  signal.throwIfAborted();
  const { memoryMb, timeoutMs, maxChars } = limits;
  // Copy a view on a larger buffer, because the transfer would move the whole buffer.
  const bytes =
    file.bytes.byteLength === file.bytes.buffer.byteLength ? file.bytes : new Uint8Array(file.bytes);
  const workerData: ThreadTask = { ...file, bytes, maxChars, filesPackage };
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
  const { promise, resolve, reject } = Promise.withResolvers<ThreadAnswer>();
  const timer = setTimeout(() => reject(new ExtractError("TIMEOUT")), timeoutMs);
  const checkMemory = async (): Promise<void> => {
    if ((await usedMemory(worker)) > memoryMb * MEGABYTE) reject(new ExtractError("MEMORY"));
  };
  const memoryTimer = setInterval(() => void checkMemory(), MEMORY_CHECK_MS);
  const stop = (): void => reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  worker.once("message", resolve);
  worker.once("error", (error: Error & { code?: string }) =>
    reject(new ExtractError(error.code === "ERR_WORKER_OUT_OF_MEMORY" ? "MEMORY" : "UNREADABLE", error)),
  );
  worker.once("exit", () => reject(new ExtractError("UNREADABLE")));
  try {
    const answer = await promise;
    if (filesPackage === null && (answer.kind === "pdf" || answer.kind === "html"))
      throw new ExtractError("NO_PACKAGE");
    return answer;
  } finally {
    clearTimeout(timer);
    clearInterval(memoryTimer);
    signal.removeEventListener("abort", stop);
    await worker.terminate();
  }
}

/** The source runs as TypeScript, the published package as JavaScript. */
function threadFile(self: string): string {
  return self.endsWith(".ts") ? "./thread.ts" : "./thread.js";
}

/** Returns the size of the thread's buffers, which `resourceLimits` does not cover. */
async function usedMemory(worker: Worker): Promise<number> {
  try {
    return (await worker.getHeapStatistics()).external_memory;
  } catch {
    // The thread has ended.
    return 0;
  }
}
