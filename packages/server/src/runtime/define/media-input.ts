/** Reads a picture as a tool gives it: an address, a small picture in itself, or one that has to be kept. Pure. */
import type { PictureData } from "./tool.ts";

/** Of an address, or of a small picture in itself. An event takes 64 kB. */
const MAX_URL = 20_000;
const MAX_BYTES = 20 * 1024 * 1024;
const MEDIA_TYPE = /^image\/[a-z0-9][a-z0-9.+-]{0,100}$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
/** Nothing that a page could run. */
const SCHEMES: ReadonlySet<string> = new Set(["http", "https", "turnstream", "data"]);
const DATA_URL = /^data:([^;,]+);base64,(.*)$/s;

/** One that no event takes. */
export interface LargePicture {
  readonly mediaType: string;
  readonly body: Uint8Array;
}

/** Throws a TypeError that says what is wrong with it. */
export function readPicture(picture: string | PictureData): { readonly url: string } | LargePicture {
  if (typeof picture === "string") return fromAddress(picture);
  const { data, mediaType } = picture;
  const type = typeof mediaType === "string" ? mediaType.toLowerCase() : "";
  if (!MEDIA_TYPE.test(type)) throw new TypeError("a picture's mediaType has to be image/…");
  const body = typeof data === "string" ? fromBase64(data) : data;
  if (!(body instanceof Uint8Array) || body.byteLength === 0)
    throw new TypeError("a picture's data has to be bytes, or base64");
  if (body.byteLength > MAX_BYTES) throw new TypeError(`a picture has to be under ${MAX_BYTES} bytes`);
  const url = `data:${type};base64,${Buffer.from(body).toString("base64")}`;
  // A copy: the tool goes on while it is being kept, and may use its buffer again.
  return url.length <= MAX_URL ? { url } : { mediaType: type, body: body.slice() };
}

function fromAddress(url: string): ReturnType<typeof readPicture> {
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
  if (mediaType === undefined || data === undefined || !MEDIA_TYPE.test(mediaType.toLowerCase()))
    throw new TypeError("a picture's address has to be data:image/…;base64,… where it holds the picture");
  return url.length <= MAX_URL ? { url } : readPicture({ data, mediaType });
}

function fromBase64(data: string): Uint8Array {
  if (!BASE64.test(data)) throw new TypeError("a picture's data has to be base64");
  return Buffer.from(data, "base64");
}
