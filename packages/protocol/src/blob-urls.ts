/**
 * Addresses of what is kept beside the log. Events hold stable ones, `turnstream:blob/<id>`, which nobody can load;
 * whoever delivers them puts an address in their place that can be loaded for a while. So a replay renews them, and the
 * log holds no signature. Works on events, frames and snapshots alike. Pure; never signs.
 */

const BLOB = "turnstream:blob/";

export function blobUrl(id: string): string {
  return `${BLOB}${encodeURIComponent(id)}`;
}

/** As the store takes them. */
function isBlobId(id: unknown): id is string {
  return typeof id === "string" && id !== "" && id.length <= 256 && !/[\0\p{Surrogate}]/u.test(id);
}

/** The id of a blob; null for any other address, and for an id that no blob can have. */
export function parseBlobUrl(address: string): string | null {
  if (!address.startsWith(BLOB)) return null;
  try {
    const id = decodeURIComponent(address.slice(BLOB.length));
    return isBlobId(id) ? id : null;
  } catch {
    return null;
  }
}

/** What people and models wrote themselves: it is shown as it is, and comes back in answers. */
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
  "__proto__",
]);

/**
 * Puts addresses that can be loaded in place of stable ones: pictures, files, artifacts, and `whole`, which gets a `url`.
 * What holds none is given back as it is.
 * @param addressOf the address of a blob; the same as long as it may be, so that caches know it
 */
export function resolveBlobUrls<T>(value: T, addressOf: (blob: string) => string): T {
  return swap(value, addressOf, "", false, 0) as T;
}

/** The blobs that events, frames or snapshots refer to. */
export function findBlobIds(value: unknown): string[] {
  const blobs = new Set<string>();
  resolveBlobUrls(value, (blob) => {
    blobs.add(blob);
    return "";
  });
  return [...blobs];
}

/** Deeper there is nothing of ours, and the stack has an end. */
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
