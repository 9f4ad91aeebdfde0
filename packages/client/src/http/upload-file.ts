/**
 * `uploadFile` uploads a file: a large one to the object storage of the server, if it has one, any other to the gateway.
 * It reports progress if XMLHttpRequest is available, otherwise only the end.
 * Invariant: the repeat after a 401 has the same idempotency key, so the file is not stored twice. There is no timeout,
 * because an upload lasts as long as bytes flow; `signal` cancels it with ABORTED. The object storage never gets our
 * credentials.
 */
import type { RestReply } from "@turnstream/protocol/schema";
import { credentialHeaders, type Credentials } from "../auth/auth.ts";
import { ClientError } from "../errors.ts";
import type { UploadedFile, UploadOptions } from "../session/session.ts";
import { type Api, jsonInit } from "./api.ts";
import { errorFromResponse, errorFromText, MAX_CAUSE_CHARS, parseObject } from "./error-response.ts";

/** For a smaller file, one request is faster than three. */
const MIN_DIRECT_BYTES = 256 * 1024;

/** Servers without an object storage, which are not asked again. */
const withoutStorage = new WeakSet<Api>();

/** @param key idempotency key: a second upload with the same key does not store the file twice */
export async function uploadFile(
  api: Api,
  session: string,
  file: Blob,
  options: UploadOptions,
  key: string,
): Promise<UploadedFile> {
  const path = `/sessions/${encodeURIComponent(session)}`;
  const started =
    file.size < MIN_DIRECT_BYTES || withoutStorage.has(api)
      ? null
      : await startUpload(api, path, file, options, key);
  if (started?.file) return started.file;
  if (started?.send) {
    const { url, method, headers } = started.send;
    await sendBytes(url, { method, headers, body: file }, options);
    const init = { method: "POST", ...signalOf(options) };
    return (await api.json(
      `${path}/uploads/${encodeURIComponent(started.id)}/complete`,
      init,
    )) as UploadedFile;
  }
  const headers = { "content-type": typeOf(file), "idempotency-key": key };
  const target = `${path}/files?name=${encodeURIComponent(options.name)}`;
  const init = { method: "POST", headers, body: file };
  if (!reportsProgress(options)) {
    const answer = (await api.json(target, { ...init, ...signalOf(options) }, null)) as UploadedFile;
    options.onProgress?.(file.size, file.size);
    return answer;
  }
  const once = async (credentials: Credentials): Promise<UploadedFile> => {
    const all = { ...headers, ...credentialHeaders(credentials) };
    const url = `${api.base}${target}`;
    const text = await sendByXhr(url, { ...init, headers: all }, options);
    const answer = parseObject(text);
    if (answer === null)
      throw new ClientError("SERVER_ERROR", "The response can't be parsed.", {
        canRetry: true,
        url,
        cause: new Error(text.slice(0, MAX_CAUSE_CHARS)),
      });
    return answer as unknown as UploadedFile;
  };
  const first = await api.auth.get();
  try {
    return await once(first);
  } catch (error) {
    if (!(error instanceof ClientError) || error.code !== "UNAUTHENTICATED") throw error;
    api.auth.reject(first);
    return once(await api.auth.get());
  }
}

/** Returns null if the server has no object storage. */
async function startUpload(
  api: Api,
  path: string,
  file: Blob,
  options: UploadOptions,
  key: string,
): Promise<RestReply<"upload"> | null> {
  // Only pages with HTTPS can hash.
  if (globalThis.crypto?.subtle === undefined) return null;
  const hash = await crypto.subtle.digest("SHA-256", await file.arrayBuffer());
  const sha256 = btoa(String.fromCharCode(...new Uint8Array(hash)));
  const body = { name: options.name, media_type: typeOf(file), size: file.size, sha256 };
  const init = { ...jsonInit("POST", body, { "idempotency-key": key }), ...signalOf(options) };
  const started = (await api.json(`${path}/uploads`, init)) as RestReply<"upload">;
  if (started.send === null && started.file === null) withoutStorage.add(api);
  return started;
}

function typeOf({ type }: Blob): string {
  return type === "" ? "application/octet-stream" : type;
}

function signalOf({ signal }: UploadOptions): { signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}

function reportsProgress({ onProgress }: UploadOptions): boolean {
  return typeof XMLHttpRequest !== "undefined" && onProgress !== undefined;
}

interface FileRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Blob;
}

/** Sends a file to the object storage. */
async function sendBytes(url: string, request: FileRequest, options: UploadOptions): Promise<void> {
  if (reportsProgress(options)) return void (await sendByXhr(url, request, options));
  const init: RequestInit = { ...request, credentials: "omit", ...signalOf(options) };
  const response = await fetch(url, init).catch((error: unknown) => {
    throw options.signal?.aborted === true ? cancelled(error) : lost(url, error);
  });
  if (!response.ok) throw await errorFromResponse(response);
  options.onProgress?.(request.body.size, request.body.size);
}

const cancelled = (cause?: unknown) => new ClientError("ABORTED", "The upload was cancelled.", { cause });
const lost = (url: string, cause?: unknown) =>
  new ClientError("UNSURE", "The connection was lost. Send the file again.", { canRetry: true, url, cause });

/** @returns the text of a successful response */
function sendByXhr(
  url: string,
  { method, headers, body: file }: FileRequest,
  { signal, onProgress }: UploadOptions,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const xhr = new XMLHttpRequest();
    const abort = (): void => xhr.abort();
    xhr.open(method, url);
    for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value);
    xhr.upload.addEventListener("progress", ({ loaded }) =>
      onProgress?.(Math.min(loaded, file.size), file.size),
    );
    xhr.addEventListener("abort", () => reject(cancelled(signal?.reason)));
    xhr.addEventListener("error", () => reject(lost(url)));
    xhr.addEventListener("load", () => {
      const { status, responseText: text } = xhr;
      if (status >= 200 && status < 300) resolve(text);
      else reject(errorFromText({ status, url, text, getHeader: (name) => xhr.getResponseHeader(name) }));
    });
    xhr.addEventListener("loadend", () => signal?.removeEventListener("abort", abort));
    signal?.addEventListener("abort", abort);
    if (signal?.aborted === true) reject(cancelled());
    else xhr.send(file);
  });
}
