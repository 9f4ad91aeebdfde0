/**
 * `redirectToObject` returns the headers of a redirect to a file in the object storage.
 *
 * Invariant: the storage answers with the content type and disposition of `safeDownloadHeaders`, so a browser never
 * treats a file as a page. The URL is valid for a short time, and caches must forget it before it expires.
 */
import type { Store } from "../../store/store.ts";

/** How long a URL of the object storage is valid. */
const DOWNLOAD_URL_MS = 5 * 60 * 1_000;
const MAX_CACHE_SECONDS = DOWNLOAD_URL_MS / 2_000;

/**
 * @param key of the object, or null if the store has the bytes
 * @param headers of the download
 * @param maxAgeSeconds how long a cache may use the redirect; null for not at all
 * @returns null if the server must send the bytes
 */
export async function redirectToObject(
  store: Pick<Store, "objects">,
  key: string | null,
  headers: Readonly<Record<string, string>>,
  maxAgeSeconds: number | null,
): Promise<Record<string, string> | null> {
  if (key === null) return null;
  const {
    "content-type": contentType = "",
    "content-disposition": contentDisposition = "",
    "cache-control": cacheControl = "",
    "content-length": _,
    ...rest
  } = headers;
  const signed = { contentType, contentDisposition, cacheControl };
  const location = await store.objects.signDownload(key, signed, DOWNLOAD_URL_MS);
  if (location === null) return null;
  const cached = `private, max-age=${Math.min(maxAgeSeconds ?? 0, MAX_CACHE_SECONDS)}`;
  return { ...rest, location, "cache-control": maxAgeSeconds === null ? "no-store" : cached };
}
