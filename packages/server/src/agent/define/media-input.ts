/**
 * `parseImage` and `parseArtifact` validate pictures and artifacts of tools, and decide which must be stored as blobs.
 * Pure.
 *
 * Invariant: URLs have no scheme that a page can execute, and data URLs are pictures. A returned URL fits into an
 * event, and a body has at most 20 MiB. Bytes are copied, because a tool may reuse its buffer. Invalid input throws a
 * TypeError with the problem.
 */
import { type Artifact, findArtifactProblem, type Json } from "@turnstream/protocol";
import { blobUrl, type ArtifactProblem } from "@turnstream/protocol/writer";
import { isBase64 } from "../../util/base64.ts";
import { isJsonObject } from "../../util/json.ts";
import type { FileInput, ArtifactInput, ImageInput } from "./tool.ts";

/** Length of a URL, including data URLs. An event holds at most 64 kB. */
const MAX_URL = 20_000;
const MAX_BYTES = 20 * 1024 * 1024;
const IMAGE_TYPE = /^image\/[a-z0-9][a-z0-9.+-]{0,100}$/;
/** Only schemes that a page can't execute. */
const SCHEMES: ReadonlySet<string> = new Set(["http", "https", "turnstream", "data"]);
const DATA_URL_START = /^data:([^;,]{1,200});base64,/;

/** A picture that is too large for an event. */
export interface LargeImage {
  readonly mediaType: string;
  readonly body: Uint8Array;
}

/** @throws TypeError with the problem */
export function parseImage(picture: string | ImageInput): { readonly url: string } | LargeImage {
  if (typeof picture === "string") return fromAddress(picture);
  const { data, mediaType } = picture;
  const type = typeof mediaType === "string" ? mediaType.toLowerCase() : "";
  if (!IMAGE_TYPE.test(type)) throw new TypeError("`mediaType` of a picture must be image/…");
  const body = decodeBytes(data);
  if (body === null) throw new TypeError("`data` of a picture must be base64");
  if (!(body instanceof Uint8Array) || body.byteLength === 0)
    throw new TypeError("`data` of a picture must be bytes or base64");
  if (body.byteLength > MAX_BYTES) throw new TypeError(`a picture must have at most ${MAX_BYTES} bytes`);
  const url = `data:${type};base64,${Buffer.from(body).toString("base64")}`;
  // Copy the bytes, because the tool continues during the upload and may reuse its buffer.
  return url.length <= MAX_URL ? { url } : { mediaType: type, body: body.slice() };
}

function fromAddress(url: string): ReturnType<typeof parseImage> {
  const scheme = /^\s*([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase();
  // Browsers drop control characters before they read the scheme.
  if (
    url === "" ||
    (scheme !== "data" && /\p{Cc}/u.test(url)) ||
    (scheme !== undefined && !SCHEMES.has(scheme))
  )
    throw new TypeError("the URL of a picture must start with http:, https: or data:image/…");
  if (scheme !== "data") {
    if (url.length > MAX_URL)
      throw new TypeError(`the URL of a picture must have at most ${MAX_URL} characters`);
    return { url };
  }
  const [start, mediaType] = DATA_URL_START.exec(url) ?? [];
  if (start === undefined || mediaType === undefined || !IMAGE_TYPE.test(mediaType.toLowerCase()))
    throw new TypeError("the data URL of a picture must have the form data:image/…;base64,…");
  return url.length <= MAX_URL ? { url } : parseImage({ data: url.slice(start.length), mediaType });
}

/** Returns null for a text that is not base64. */
function decodeBytes(data: Uint8Array | string): Uint8Array | null {
  if (typeof data !== "string") return data;
  return isBase64(data) ? Buffer.from(data, "base64") : null;
}

const MEDIA_TYPE = /^[a-z0-9][a-z0-9.+-]{0,90}\/[a-z0-9][a-z0-9.+-]{0,90}$/;

/** An artifact that clients can't show. The model gets the name of the invalid field. */
class ArtifactError extends TypeError {
  readonly code = "BAD_ARTIFACT";
  readonly field: string;

  constructor({ field, problem }: ArtifactProblem) {
    super(`${field} ${problem}`);
    this.name = "ArtifactError";
    this.field = field;
  }
}

interface GivenFile {
  readonly name: string;
  readonly mediaType: string;
  readonly body: Uint8Array;
  /** Returns the artifact for events, once the file is stored. */
  artifact(blob: string): Artifact;
}

/** Returns null for an artifact that fits events as it is. @throws ArtifactError if it can't be shown */
export function parseArtifact(given: ArtifactInput): GivenFile | null {
  if (!isFile(given)) {
    const problem = findArtifactProblem(given);
    if (problem !== null) throw new ArtifactError(problem);
    return null;
  }
  const { name, data, mediaType, ...odd } = given.data;
  const [unknown] = Object.keys(odd);
  if (unknown !== undefined) throw wrong(unknown, "is not a field of a file");
  const type = typeof mediaType === "string" ? mediaType.toLowerCase() : "";
  if (!MEDIA_TYPE.test(type)) throw wrong("mediaType", "must be a media type such as application/pdf");
  const body = decodeBytes(data);
  if (body === null) throw wrong("data", "must be base64");
  if (!(body instanceof Uint8Array)) throw wrong("data", "must be bytes or base64");
  if (body.byteLength > MAX_BYTES) throw wrong("data", `must have at most ${MAX_BYTES} bytes`);
  const artifact = (blob: string): Artifact => {
    const file = { name, url: blobUrl(blob), media_type: type, size: body.byteLength };
    return { ...given, data: file };
  };
  const problem = findArtifactProblem(artifact("any"));
  if (problem !== null) throw new ArtifactError(problem);
  // Copy the bytes, because the tool continues and may reuse its buffer.
  return { name, mediaType: type, body: typeof data === "string" ? body : body.slice(), artifact };
}

function isFile(
  given: ArtifactInput,
): given is Exclude<ArtifactInput, Artifact> & { readonly data: FileInput } {
  // A tool can be plain JavaScript and pass any value.
  const { type, data } = isJsonObject(given as Json) ? given : { type: "", data: null };
  return type === "file" && isJsonObject(data as Json) && Object.hasOwn(data as object, "data");
}

function wrong(field: string, problem: string): ArtifactError {
  return new ArtifactError({ field: `artifact.data.${field}`, problem });
}
