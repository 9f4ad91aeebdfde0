/**
 * `blobUrl` and `parseBlobUrl` convert between blob ids and stable addresses, `turnstream:blob/<id>`, that no client
 * can load. `resolveBlobUrls` replaces these on delivery with addresses that work for a limited time.
 * Invariant: the log never contains a signed address, so every replay delivers fresh ones. Only addresses of images,
 * files and artifacts are replaced. Text of users and models stays as written. Pure; does not sign.
 */

const BLOB = "turnstream:blob/";

export function blobUrl(id: string): string {
  return `${BLOB}${encodeURIComponent(id)}`;
}

/** Matches the ids that the store accepts. */
function isBlobId(id: unknown): id is string {
  return typeof id === "string" && id !== "" && id.length <= 256 && !/[\0\p{Surrogate}]/u.test(id);
}

/** Returns the id of a blob, or null for any other address and for an id that no blob can have. */
export function parseBlobUrl(address: string): string | null {
  if (!address.startsWith(BLOB)) return null;
  try {
    const id = decodeURIComponent(address.slice(BLOB.length));
    return isBlobId(id) ? id : null;
  } catch {
    return null;
  }
}

/**
 * Fields with text from users or models. Their content is shown as written and can return in answers, so addresses in
 * it stay unchanged.
 */
const AS_WRITTEN: ReadonlySet<string> = new Set([
  "input",
  "args",
  "arguments",
  "actions",
  "action_requests",
  "schema",
  "form_schema",
  "questions",
  "answers",
  "values",
  "details",
  "structured",
  "__proto__",
]);

/**
 * Replaces stable blob addresses with addresses that clients can load: in images, files and artifacts. A `whole` field
 * gets a `url`.
 * A value without blob addresses is returned unchanged.
 * @param addressOf returns the address of a blob; it should return the same one as long as possible, for the benefit of
 * caches
 */
export function resolveBlobUrls<T>(value: T, addressOf: (blob: string) => string): T {
  return swap(value, addressOf, "", false, 0) as T;
}

/** Returns the ids of all blobs that events, frames or snapshots refer to. */
export function findBlobIds(value: unknown): string[] {
  const blobs = new Set<string>();
  resolveBlobUrls(value, (blob) => {
    blobs.add(blob);
    return "";
  });
  return [...blobs];
}

/** Turnstream writes no blob address below this depth. The limit also protects the stack. */
const MAX_DEPTH = 200;

function swap(
  value: unknown,
  addressOf: (blob: string) => string,
  key: string,
  isImage: boolean,
  depth: number,
): unknown {
  if (typeof value === "string") {
    const mayBe = key === "url" || key === "content_urls" || (key === "data" && isImage);
    const blob = mayBe ? parseBlobUrl(value) : null;
    return blob === null ? value : addressOf(blob);
  }
  if (typeof value !== "object" || value === null || AS_WRITTEN.has(key) || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) {
    const list = value.map((item) => swap(item, addressOf, key, isImage, depth + 1));
    return list.some((item, n) => item !== value[n]) ? list : (value as unknown);
  }
  const fields = value as Readonly<Record<string, unknown>>;
  const blob = key === "whole" ? fields["blob"] : undefined;
  if (isBlobId(blob)) return { ...fields, url: addressOf(blob) };
  let changed: Record<string, unknown> | null = null;
  for (const [name, field] of Object.entries(fields)) {
    const next = swap(field, addressOf, name, fields["media"] === "image", depth + 1);
    if (next === field) continue;
    changed ??= { ...fields };
    changed[name] = next;
  }
  return changed ?? value;
}
