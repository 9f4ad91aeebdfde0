/**
 * `loadFile` returns the bytes of one file: an upload of the same session, or the response of a public URL. It stores
 * nothing.
 *
 * Invariant: URLs are fetched with `safeFetch` under the worker's policy, and uploads of other sessions are not found.
 * `reach` can stop a file before its bytes are buffered. A file that can't be loaded throws a `FileError`, whose code
 * has a text for the user and one for the model.
 */
import type { FileRef } from "@turnstream/protocol";
import { isFetchError, type FetchErrorCode } from "../../safe-fetch/errors.ts";
import { safeFetch, type SafeResponse } from "../../safe-fetch/safe-fetch.ts";
import { readUpload, uploadIdOf } from "../../session/blobs/upload.ts";
import type { AgentTurn } from "../run/agent-turn.ts";
import type { FileErrorCode } from "../../strings/runtime-strings.ts";

export class FileError extends Error {
  readonly problem: FileErrorCode;

  constructor(problem: FileErrorCode, cause?: unknown) {
    super(problem, cause === undefined ? {} : { cause });
    this.name = "FileError";
    this.problem = problem;
  }
}

export interface LoadedFile {
  readonly name: string;
  /** As the sender declares it; "" if it declares none. */
  readonly mediaType: string;
  readonly charset: string;
  readonly bytes: Uint8Array;
}

const BY_CODE: Readonly<Record<FetchErrorCode, FileErrorCode>> = {
  BAD_URL: "NOT_ALLOWED",
  BLOCKED: "NOT_ALLOWED",
  TOO_LARGE: "TOO_LARGE",
  TIMEOUT: "TIMEOUT",
  TOO_MANY_REDIRECTS: "UNREACHABLE",
  UNREACHABLE: "UNREACHABLE",
  BAD_RESPONSE: "UNREACHABLE",
};

interface GetLimits {
  readonly maxBytes: number;
  /**
   * Called with the file's size as soon as it is known, or with the bytes received so far. Throws if that is too much.
   */
  readonly reach: (bytes: number) => void;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** @throws FileError, or the signal's reason */
export async function loadFile(
  { attempt: { context, ref }, host: { fetchPolicy } }: Pick<AgentTurn, "attempt" | "host">,
  file: FileRef,
  limits: GetLimits,
): Promise<LoadedFile> {
  const { maxBytes, reach, timeoutMs, signal } = limits;
  const id = uploadIdOf(file.url);
  if (id !== null) {
    const upload = await readUpload(context, ref, id);
    if (upload === null) throw new FileError("NOT_FOUND");
    reach(upload.size);
    const { name, mediaType } = upload;
    return { name, mediaType, charset: "", bytes: await joined(upload.body, upload.size, signal) };
  }
  try {
    const { maxBytes: most = Infinity, timeoutMs: longest = Infinity } = fetchPolicy;
    const policy = {
      ...fetchPolicy,
      maxBytes: Math.min(most, maxBytes),
      timeoutMs: Math.min(longest, timeoutMs),
    };
    const answer = await safeFetch(file.url, { policy, signal });
    if (answer.status < 200 || answer.status > 299) {
      answer.cancel();
      throw new FileError("NOT_FOUND");
    }
    const charset = /charset\s*=\s*"?([\w:.-]{1,40})/i.exec(answer.headers["content-type"] ?? "")?.[1] ?? "";
    const bytes = await fetched(answer, reach);
    return { name: nameOf(file), mediaType: answer.mediaType, charset, bytes };
  } catch (error) {
    throw isFetchError(error) ? new FileError(BY_CODE[error.code], error) : error;
  }
}

async function fetched(answer: SafeResponse, reach: GetLimits["reach"]): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let come = 0;
  try {
    reach(Number(answer.headers["content-length"] ?? 0) || 0);
    for await (const chunk of answer.body) {
      come += chunk.byteLength;
      reach(come);
      chunks.push(chunk);
    }
  } catch (error) {
    answer.cancel();
    throw error;
  }
  return Buffer.concat(chunks);
}

async function joined(
  body: AsyncIterable<Uint8Array>,
  size: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const whole = new Uint8Array(size);
  let at = 0;
  for await (const chunk of body) {
    signal.throwIfAborted();
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}

const MAX_NAME = 200;

/** Returns the name of a file from the message or, without one, from its URL. */
export function nameOf({ name, url }: FileRef): string {
  const parsed = URL.parse(url);
  const last = parsed?.pathname.split("/").findLast((part) => part !== "") ?? "";
  return (name ?? (decoded(last) || parsed?.hostname || "file"))
    .replaceAll(/[\p{Cc}\u2028\u2029]/gu, " ")
    .slice(0, MAX_NAME);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
