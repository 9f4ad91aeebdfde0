/**
 * `startS3` starts a server in this process that speaks the part of the S3 API that we use, with objects in memory. Tests
 * make it fail and answer slowly.
 *
 * Invariant: like Amazon S3, it refuses a request without a valid signature of version 4, a signed URL that expired, and
 * a body whose length, hash or checksum differs from what the client declared. It does not pass what it can't check: an
 * unknown request gets 501.
 */
import { once } from "node:events";
import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { HOST } from "../network/free-port.ts";
import { checkS3Signature } from "./check-s3-signature.ts";

interface S3Object {
  readonly body: Buffer;
  readonly type: string;
  readonly sha256: string | null;
  readonly changedAt: Date;
}

interface S3Request {
  readonly method: string;
  readonly key: string;
  readonly query: URLSearchParams;
}

export interface S3Server {
  /** Options for `createS3Storage`. */
  readonly options: {
    readonly bucket: string;
    readonly region: string;
    readonly endpoint: string;
    readonly forcePathStyle: true;
    readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  };
  readonly objects: ReadonlyMap<string, S3Object>;
  /** The keys of writes in parts that have not ended. */
  openParts(): string[];
  /** Every request that had a valid signature, such as `PUT key`. */
  readonly requests: readonly S3Request[];
  /** Answers 503 to matching requests until it is called again. */
  failIf(matches: ((request: S3Request) => boolean) | null): void;
  /** Holds the response of each request, after its effect, until the returned function is called. */
  hold(): () => void;
  /** Moves the clock against which signatures are checked. */
  advance(ms: number): void;
  /** The objects whose key or content contains the text, as `key`. */
  search(needle: string): string[];
  stop(): Promise<void>;
}

interface Parts {
  readonly key: string;
  readonly type: string;
  readonly parts: Map<number, Buffer>;
}

class S3Error extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string) {
    super(code);
    this.status = status;
    this.code = code;
  }
}

const BUCKET = "files";
const REGION = "eu-test-1";
const MIN_PART_BYTES = 5 * 1024 * 1024;
const CORS = {
  "access-control-allow-origin": "*",
  "access-control-allow-methods": "GET, PUT",
  "access-control-allow-headers": "content-type, x-amz-checksum-sha256",
};

export async function startS3(): Promise<S3Server> {
  const objects = new Map<string, S3Object>();
  const open = new Map<string, Parts>();
  const requests: S3Request[] = [];
  const credentials = { accessKeyId: "test-key", secretAccessKey: randomUUID() };
  let fails: ((request: S3Request) => boolean) | null = null;
  let paused: Promise<unknown> | null = null;
  let aheadMs = 0;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === "OPTIONS") return void response.writeHead(200, CORS).end();
    const body = await readBody(request);
    const check = { ...credentials, region: REGION, now: Date.now() + aheadMs };
    const problem = checkS3Signature(request, body, check);
    if (problem !== null) throw new S3Error(403, problem);
    const url = new URL(request.url ?? "", `http://${HOST}`);
    const [, bucket, ...path] = url.pathname.split("/").map(decodeURIComponent);
    if (bucket !== BUCKET) throw new S3Error(404, "NoSuchBucket");
    const { method = "" } = request;
    const wanted = { method, key: path.join("/"), query: url.searchParams };
    requests.push(wanted);
    if (fails?.(wanted) === true) throw new S3Error(503, "SlowDown");
    const answer = execute(wanted, request, body);
    await paused;
    const { status = 200, headers = {}, content = "" } = answer;
    response.writeHead(status, { ...CORS, "content-length": Buffer.byteLength(content), ...headers });
    response.end(method === "HEAD" ? undefined : content);
  }

  interface Answer {
    readonly status?: number;
    readonly headers?: Record<string, string | number>;
    readonly content?: string | Buffer;
  }

  function execute({ method, key, query }: S3Request, request: IncomingMessage, body: Buffer): Answer {
    const type = request.headers["content-type"] ?? "binary/octet-stream";
    if (key === "") return executeOnBucket(method, query, body);
    const upload = query.get("uploadId");
    if (upload !== null) return executeOnParts(method, key, upload, query, body);
    if (method === "POST" && query.has("uploads")) {
      const id = randomUUID();
      open.set(id, { key, type, parts: new Map() });
      return xml("InitiateMultipartUploadResult", `<UploadId>${id}</UploadId>`);
    }
    const source = request.headers["x-amz-copy-source"];
    if (method === "PUT" && typeof source === "string") {
      const copied = objects.get(decodeURIComponent(source).split("/").slice(1).join("/"));
      if (copied === undefined) throw new S3Error(404, "NoSuchKey");
      objects.set(key, { ...copied, changedAt: new Date() });
      return xml("CopyObjectResult", `<ETag>"${etag(copied.body)}"</ETag>`);
    }
    if (method === "PUT") {
      const sha256 = checkChecksum(request, body);
      objects.set(key, { body, type, sha256, changedAt: new Date() });
      return { headers: { etag: `"${etag(body)}"` } };
    }
    if (method === "GET" || method === "HEAD") return readObject(key, query, request);
    throw new S3Error(501, "NotImplemented");
  }

  function readObject(key: string, query: URLSearchParams, request: IncomingMessage): Answer {
    const found = objects.get(key);
    if (found === undefined) throw new S3Error(404, "NoSuchKey");
    const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "");
    const content = range === null ? found.body : found.body.subarray(Number(range[1]), Number(range[2]) + 1);
    const headers: Record<string, string> = {
      "content-type": query.get("response-content-type") ?? found.type,
    };
    for (const name of ["content-disposition", "cache-control"]) {
      const value = query.get(`response-${name}`);
      if (value !== null) headers[name] = value;
    }
    if (found.sha256 !== null && range === null && request.headers["x-amz-checksum-mode"] === "ENABLED")
      headers["x-amz-checksum-sha256"] = found.sha256;
    return { status: range === null ? 200 : 206, headers, content };
  }

  function executeOnParts(
    method: string,
    key: string,
    id: string,
    query: URLSearchParams,
    body: Buffer,
  ): Answer {
    const found = open.get(id);
    if (found?.key !== key) throw new S3Error(404, "NoSuchUpload");
    if (method === "PUT") {
      found.parts.set(Number(query.get("partNumber")), body);
      return { headers: { etag: `"${etag(body)}"` } };
    }
    open.delete(id);
    if (method === "DELETE") return { status: 204 };
    const parts = [...found.parts].toSorted(([a], [b]) => a - b).map(([, part]) => part);
    if (parts.slice(0, -1).some((part) => part.byteLength < MIN_PART_BYTES))
      throw new S3Error(400, "EntityTooSmall");
    objects.set(key, { body: Buffer.concat(parts), type: found.type, sha256: null, changedAt: new Date() });
    return xml("CompleteMultipartUploadResult", `<Key>${key}</Key>`);
  }

  function executeOnBucket(method: string, query: URLSearchParams, body: Buffer): Answer {
    if (method === "POST" && query.has("delete")) {
      for (const [, key = ""] of body.toString().matchAll(/<Key>([^<]*)<\/Key>/g)) objects.delete(key);
      return xml("DeleteResult", "");
    }
    const prefix = query.get("prefix") ?? "";
    if (method === "GET" && query.has("uploads")) {
      const found = [...open].filter(([, { key }]) => key.startsWith(prefix));
      const listed = found.map(
        ([id, { key }]) => `<Upload><Key>${key}</Key><UploadId>${id}</UploadId></Upload>`,
      );
      return xml("ListMultipartUploadsResult", listed.join(""));
    }
    if (method !== "GET" || query.get("list-type") !== "2") throw new S3Error(501, "NotImplemented");
    const after = query.get("start-after") ?? "";
    const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).toSorted();
    const page = keys.slice(0, Number(query.get("max-keys") ?? 1_000));
    const listed = page.map((key) => {
      const time = objects.get(key)?.changedAt.toISOString() ?? "";
      return `<Contents><Key>${key}</Key><LastModified>${time}</LastModified></Contents>`;
    });
    return xml("ListBucketResult", listed.join(""));
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      const { status, code } = error instanceof S3Error ? error : { status: 500, code: "InternalError" };
      const { content } = xml("Error", `<Code>${code}</Code><Message>${String(error)}</Message>`);
      response.writeHead(status, { ...CORS, "content-type": "application/xml" });
      response.end(request.method === "HEAD" ? undefined : content);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    options: {
      bucket: BUCKET,
      region: REGION,
      endpoint: `http://${HOST}:${port}`,
      forcePathStyle: true,
      credentials,
    },
    objects,
    openParts: () => [...open.values()].map(({ key }) => key),
    requests,
    failIf: (matches) => (fails = matches),
    hold() {
      const released = new AbortController();
      paused = once(released.signal, "abort");
      return () => {
        paused = null;
        released.abort();
      };
    },
    advance: (ms) => (aheadMs += ms),
    search: (needle) =>
      [
        ...[...objects].filter(([key, { body }]) => key.includes(needle) || body.includes(needle)),
        ...[...open.values()].flatMap(({ key, parts }) =>
          [...parts.values()].filter((part) => part.includes(needle)).map(() => [key] as const),
        ),
      ].map(([key]) => key),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function xml(root: string, content: string) {
  const text = `<?xml version="1.0"?><${root}>${content}</${root}>`;
  return { headers: { "content-type": "application/xml" }, content: text };
}

function etag(body: Buffer): string {
  return createHash("md5").update(body).digest("hex");
}

/** @returns the SHA-256 that the client declared, which the body has */
function checkChecksum(request: IncomingMessage, body: Buffer): string | null {
  const declared = request.headers["x-amz-checksum-sha256"];
  if (typeof declared !== "string") return null;
  if (createHash("sha256").update(body).digest("base64") !== declared) throw new S3Error(400, "BadDigest");
  return declared;
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
}
