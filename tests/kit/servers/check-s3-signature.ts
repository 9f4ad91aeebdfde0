/**
 * `checkS3Signature` verifies the signature of version 4 of a request to S3, in its headers or in its URL, as AWS
 * documents it. Written from the documentation, not from the SDK, so that both can't have the same mistake.
 *
 * Invariant: all of method, path, query, host and every signed header is covered. `x-amz-*` headers and the content type
 * must be signed.
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

export interface SignatureOptions {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

const ALGORITHM = "AWS4-HMAC-SHA256";
const MAX_SKEW_MS = 15 * 60 * 1_000;
const UNSIGNED = "UNSIGNED-PAYLOAD";

interface Signed {
  readonly credential: string;
  readonly headers: readonly string[];
  readonly signature: string;
  readonly date: string;
  readonly payload: string;
  /** Null for a signature in the headers. */
  readonly expiresMs: number | null;
}

/** @returns the error code of S3, or null if the signature is valid */
export function checkS3Signature(
  request: IncomingMessage,
  body: Buffer,
  { accessKeyId, secretAccessKey, region, now }: SignatureOptions,
): string | null {
  const url = new URL(request.url ?? "", "http://host");
  const signed = readHeader(request) ?? readQuery(url.searchParams);
  if (signed === null) return "AccessDenied";
  const [key, day, ...scope] = signed.credential.split("/");
  if (key !== accessKeyId) return "InvalidAccessKeyId";
  if (scope.join("/") !== `${region}/s3/aws4_request`) return "AuthorizationHeaderMalformed";
  const time = parseDate(signed.date);
  if (!signed.date.startsWith(day ?? "-") || Number.isNaN(time)) return "AccessDenied";
  const { expiresMs } = signed;
  if (
    expiresMs === null
      ? Math.abs(now - time) > MAX_SKEW_MS
      : now > time + expiresMs || now < time - MAX_SKEW_MS
  )
    return expiresMs === null ? "RequestTimeTooSkewed" : "AccessDenied";
  const required = Object.keys(request.headers).filter(
    (name) => name.startsWith("x-amz-") || name === "host" || name === "content-type",
  );
  if (required.some((name) => !signed.headers.includes(name))) return "AccessDenied";
  const canonical = [
    request.method,
    url.pathname,
    canonicalQuery(url.searchParams),
    ...signed.headers.map((name) => `${name}:${String(request.headers[name] ?? "").trim()}`),
    "",
    signed.headers.join(";"),
    signed.payload,
  ].join("\n");
  const text = [signed.date, `${day}/${scope.join("/")}`, sha256(canonical)];
  const secret = [day ?? "", ...scope].reduce<Buffer | string>(
    (previous, part) => hmac(previous, part),
    `AWS4${secretAccessKey}`,
  );
  const expected = hmac(secret, [ALGORITHM, ...text].join("\n"));
  const given = Buffer.from(signed.signature, "hex");
  if (given.byteLength !== expected.byteLength || !timingSafeEqual(given, expected))
    return "SignatureDoesNotMatch";
  return signed.payload === UNSIGNED || signed.payload === sha256(body) ? null : "XAmzContentSHA256Mismatch";
}

function readHeader({ headers }: IncomingMessage): Signed | null {
  const fields = /^AWS4-HMAC-SHA256 Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=(\w+)$/.exec(
    headers.authorization ?? "",
  );
  if (fields === null) return null;
  const [, credential = "", names = "", signature = ""] = fields;
  return {
    credential,
    headers: names.split(";"),
    signature,
    date: String(headers["x-amz-date"]),
    payload: String(headers["x-amz-content-sha256"]),
    expiresMs: null,
  };
}

function readQuery(query: URLSearchParams): Signed | null {
  if (query.get("X-Amz-Algorithm") !== ALGORITHM) return null;
  return {
    credential: query.get("X-Amz-Credential") ?? "",
    headers: (query.get("X-Amz-SignedHeaders") ?? "").split(";"),
    signature: query.get("X-Amz-Signature") ?? "",
    date: query.get("X-Amz-Date") ?? "",
    payload: UNSIGNED,
    expiresMs: Number(query.get("X-Amz-Expires")) * 1_000,
  };
}

function canonicalQuery(query: URLSearchParams): string {
  return [...query]
    .filter(([name]) => name !== "X-Amz-Signature")
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .toSorted()
    .join("&");
}

function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function parseDate(date: string): number {
  return Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
}

function sha256(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}
