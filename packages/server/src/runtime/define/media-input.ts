/** Reads a picture as a tool gives it: an address, a small picture in itself, or one that has to be kept. Pure. */
import { type Artifact, findArtifactProblem, type Json } from "@turnstream/protocol";
import { blobUrl, type ArtifactProblem } from "@turnstream/protocol/writer";
import { isJsonObject } from "../../util/json.ts";
import type { FileInput, ArtifactInput, ImageInput } from "./tool.ts";

/** Of an address, or of a small picture in itself. An event takes 64 kB. */
const MAX_URL = 20_000;
const MAX_BYTES = 20 * 1024 * 1024;
const IMAGE_TYPE = /^image\/[a-z0-9][a-z0-9.+-]{0,100}$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
/** Nothing that a page could run. */
const SCHEMES: ReadonlySet<string> = new Set(["http", "https", "turnstream", "data"]);
const DATA_URL = /^data:([^;,]+);base64,(.*)$/s;

/** One that no event takes. */
export interface LargeImage {
  readonly mediaType: string;
  readonly body: Uint8Array;
}

/** Throws a TypeError that says what is wrong with it. */
export function parseImage(picture: string | ImageInput): { readonly url: string } | LargeImage {
  if (typeof picture === "string") return fromAddress(picture);
  const { data, mediaType } = picture;
  const type = typeof mediaType === "string" ? mediaType.toLowerCase() : "";
  if (!IMAGE_TYPE.test(type)) throw new TypeError("a picture's mediaType has to be image/…");
  const body = typeof data === "string" ? imageBytes(data) : data;
  if (!(body instanceof Uint8Array) || body.byteLength === 0)
    throw new TypeError("a picture's data has to be bytes, or base64");
  if (body.byteLength > MAX_BYTES) throw new TypeError(`a picture has to be under ${MAX_BYTES} bytes`);
  const url = `data:${type};base64,${Buffer.from(body).toString("base64")}`;
  // A copy: the tool goes on while it is being kept, and may use its buffer again.
  return url.length <= MAX_URL ? { url } : { mediaType: type, body: body.slice() };
}

function fromAddress(url: string): ReturnType<typeof parseImage> {
  const scheme = /^\s*([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase();
  // Browsers leave control characters out, and then read the scheme.
  if (
    url === "" ||
    (scheme !== "data" && /\p{Cc}/u.test(url)) ||
    (scheme !== undefined && !SCHEMES.has(scheme))
  )
    throw new TypeError("a picture's address has to be http:, https: or data:image/…");
  if (scheme !== "data") {
    if (url.length > MAX_URL)
      throw new TypeError(`a picture's address has to be under ${MAX_URL} characters`);
    return { url };
  }
  const [, mediaType, data] = DATA_URL.exec(url) ?? [];
  if (mediaType === undefined || data === undefined || !IMAGE_TYPE.test(mediaType.toLowerCase()))
    throw new TypeError("a picture's address has to be data:image/…;base64,… where it holds the picture");
  return url.length <= MAX_URL ? { url } : parseImage({ data, mediaType });
}

function imageBytes(data: string): Uint8Array {
  if (!BASE64.test(data)) throw new TypeError("a picture's data has to be base64");
  return Buffer.from(data, "base64");
}

/** Reads an artifact as a tool gives it: one that can be told, or a file that has to be kept first. Pure. */
const MEDIA_TYPE = /^[a-z0-9][a-z0-9.+-]{0,90}\/[a-z0-9][a-z0-9.+-]{0,90}$/;
const OPTIONAL_BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** An artifact that no client could show. The model reads which field is wrong. */
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
  /** What is told of it, once it is kept. */
  artifact(blob: string): Artifact;
}

/** Null for an artifact that is told as it is. Throws an ArtifactError for one that can't be shown. */
export function parseArtifact(given: ArtifactInput): GivenFile | null {
  if (!isFile(given)) {
    const problem = findArtifactProblem(given);
    if (problem !== null) throw new ArtifactError(problem);
    return null;
  }
  const { name, data, mediaType, ...odd } = given.data;
  const [unknown] = Object.keys(odd);
  if (unknown !== undefined) throw wrong(unknown, "is not known here");
  const type = typeof mediaType === "string" ? mediaType.toLowerCase() : "";
  if (!MEDIA_TYPE.test(type)) throw wrong("mediaType", "has to be one such as application/pdf");
  const body = typeof data === "string" ? fileBytes(data) : data;
  if (!(body instanceof Uint8Array)) throw wrong("data", "has to be bytes, or base64");
  if (body.byteLength > MAX_BYTES) throw wrong("data", `has to be at most ${MAX_BYTES} bytes`);
  const artifact = (blob: string): Artifact => {
    const file = { name, url: blobUrl(blob), media_type: type, size: body.byteLength };
    return { ...given, data: file };
  };
  const problem = findArtifactProblem(artifact("any"));
  if (problem !== null) throw new ArtifactError(problem);
  // A copy: the tool goes on, and may use its buffer again.
  return { name, mediaType: type, body: typeof data === "string" ? body : body.slice(), artifact };
}

function isFile(
  given: ArtifactInput,
): given is Exclude<ArtifactInput, Artifact> & { readonly data: FileInput } {
  // A tool may be plain JavaScript.
  const { type, data } = isJsonObject(given as Json) ? given : { type: "", data: null };
  return type === "file" && isJsonObject(data as Json) && Object.hasOwn(data as object, "data");
}

function wrong(field: string, problem: string): ArtifactError {
  return new ArtifactError({ field: `artifact.data.${field}`, problem });
}

function fileBytes(data: string): Uint8Array {
  if (!OPTIONAL_BASE64.test(data)) throw wrong("data", "has to be base64");
  return Buffer.from(data, "base64");
}
