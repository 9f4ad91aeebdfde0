/**
 * `decompress` decodes the body of a response and limits its size.
 * Invariant: bytes are counted before and after decompression, so that a small response can't expand beyond the limit.
 * Data is never buffered as a whole. A response with an unknown encoding or more than one is refused. When the reader
 * stops early, source and decompressor are destroyed.
 */
import { Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib";
import { FetchError } from "./errors.ts";

type Bytes = AsyncIterable<Uint8Array>;

/** @param encoding the `content-encoding` of the response */
export function decompress(body: Bytes, encoding: string, maxBytes: number): Bytes {
  const name = encoding.trim().toLowerCase();
  const counted = bounded(body, maxBytes);
  if (name === "" || name === "identity") return counted;
  if (!["gzip", "x-gzip", "deflate", "br"].includes(name)) throw new FetchError("BAD_RESPONSE");
  return bounded(unpacked(counted, name), maxBytes);
}

async function* bounded(bytes: Bytes, maxBytes: number): Bytes {
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > maxBytes) throw new FetchError("TOO_LARGE");
    yield chunk;
  }
}

async function* unpacked(packed: Bytes, name: string): Bytes {
  const iterator = packed[Symbol.asyncIterator]();
  const first = await iterator.next();
  if (first.done === true) return;
  const unpacker = unpackerFor(name, first.value);
  const source = Readable.from(rest(first.value, iterator), { objectMode: false });
  source.on("error", (error) => unpacker.destroy(error));
  source.pipe(unpacker);
  try {
    for await (const chunk of unpacker) yield chunk as Uint8Array;
  } finally {
    source.destroy();
    unpacker.destroy();
  }
}

async function* rest(first: Uint8Array, iterator: AsyncIterator<Uint8Array>): Bytes {
  try {
    yield first;
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) yield next.value;
  } finally {
    await iterator.return?.();
  }
}

function unpackerFor(name: string, first: Uint8Array) {
  if (name === "br") return createBrotliDecompress();
  if (name !== "deflate") return createGunzip();
  // Some servers send raw deflate data without the zlib header.
  return ((first[0] ?? 0) & 0x0f) === 8 ? createInflate() : createInflateRaw();
}
