/**
 * `uploadFile` uploads a file. It reports progress if XMLHttpRequest is available, otherwise only the end.
 * Invariant: the repeat after a 401 has the same idempotency key, so the file is not stored twice. There is no timeout,
 * because an upload lasts as long as bytes flow; `signal` cancels it with ABORTED.
 */
import { credentialHeaders } from "../auth/auth.ts";
import { ClientError } from "../errors.ts";
import type { UploadedFile, UploadOptions } from "../session/session.ts";
import type { Api } from "./api.ts";
import { errorFromStatus } from "./error-response.ts";

/** @param key idempotency key: a second upload with the same key does not store the file twice */
export async function uploadFile(
  api: Api,
  session: string,
  file: Blob,
  options: UploadOptions,
  key: string,
): Promise<UploadedFile> {
  const path = `/sessions/${encodeURIComponent(session)}/files?name=${encodeURIComponent(options.name)}`;
  const headers = {
    "content-type": file.type === "" ? "application/octet-stream" : file.type,
    "idempotency-key": key,
  };
  const { signal, onProgress } = options;
  if (typeof XMLHttpRequest === "undefined" || onProgress === undefined) {
    const init = { method: "POST", headers, body: file, ...(signal === undefined ? {} : { signal }) };
    const answer = (await api.json(path, init, null)) as UploadedFile;
    onProgress?.(file.size, file.size);
    return answer;
  }
  const first = await api.auth.get();
  const once = (credentials: typeof first) =>
    uploadByXhr(`${api.base}${path}`, { ...headers, ...credentialHeaders(credentials) }, file, options);
  try {
    return await once(first);
  } catch (error) {
    if (!(error instanceof ClientError) || error.code !== "UNAUTHENTICATED") throw error;
    api.auth.reject(first);
    return once(await api.auth.get());
  }
}

function uploadByXhr(
  url: string,
  headers: Readonly<Record<string, string>>,
  file: Blob,
  { signal, onProgress }: UploadOptions,
): Promise<UploadedFile> {
  return new Promise((resolve, reject) => {
    const xhr = new XMLHttpRequest();
    const abort = (): void => xhr.abort();
    xhr.open("POST", url);
    for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value);
    xhr.upload.addEventListener("progress", ({ loaded }) =>
      onProgress?.(Math.min(loaded, file.size), file.size),
    );
    xhr.addEventListener("abort", () => reject(new ClientError("ABORTED", "The upload was cancelled.")));
    xhr.addEventListener("error", () =>
      reject(new ClientError("UNSURE", "The connection was lost. Send the file again.", { canRetry: true })),
    );
    xhr.addEventListener("load", () => {
      const body = parseObject(xhr.responseText);
      if (xhr.status >= 200 && xhr.status < 300 && body !== null) resolve(body as unknown as UploadedFile);
      else reject(errorFromStatus(xhr.status, body, xhr.getResponseHeader("retry-after")));
    });
    xhr.addEventListener("loadend", () => signal?.removeEventListener("abort", abort));
    signal?.addEventListener("abort", abort);
    if (signal?.aborted === true) reject(new ClientError("ABORTED", "The upload was cancelled."));
    else xhr.send(file);
  });
}

function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
