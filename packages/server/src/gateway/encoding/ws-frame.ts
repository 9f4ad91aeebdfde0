/**
 * `encodeTextFrames` and `encodeCompressedFrame` build unmasked WebSocket text frames, so that the same bytes can be
 * written to any number of sockets.
 * Invariant: each text is one final frame, never fragmented, with a length below 4 GiB. A compressed frame uses no
 * window of earlier frames, and only a socket that has negotiated `permessage-deflate` may get one.
 */
import { promisify } from "node:util";
import { constants, deflateRaw } from "node:zlib";

const FINAL_TEXT_FRAME = 0x81;
/** RSV1: the payload is compressed (RFC 7692). */
const COMPRESSED = 0x40;
/** The end of a flushed block, which a compressed message leaves out. */
const FLUSH_TRAILER_BYTES = 4;

const deflate = promisify(deflateRaw);

export function encodeTextFrame(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const bytes = Buffer.allocUnsafe(headerLength(length) + length);
  bytes.write(text, writeHeader(bytes, 0, length));
  return bytes;
}

/** Compresses in another thread, so that a large text does not block the event loop. */
export async function encodeCompressedFrame(text: string): Promise<Buffer> {
  const flushed = await deflate(text, { finishFlush: constants.Z_SYNC_FLUSH });
  const length = flushed.length - FLUSH_TRAILER_BYTES;
  const bytes = Buffer.allocUnsafe(headerLength(length) + length);
  flushed.copy(bytes, writeHeader(bytes, 0, length), 0, length);
  bytes.writeUInt8(FINAL_TEXT_FRAME | COMPRESSED, 0);
  return bytes;
}

/** Encodes several frames into one buffer. */
export function encodeTextFrames(texts: readonly string[]): Buffer {
  const lengths = texts.map((text) => Buffer.byteLength(text));
  const bytes = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + headerLength(length) + length, 0));
  let offset = 0;
  for (const [n, text] of texts.entries()) {
    const length = lengths[n] ?? 0;
    offset = writeHeader(bytes, offset, length);
    offset += bytes.write(text, offset);
  }
  return bytes;
}

function headerLength(length: number): number {
  return length < 126 ? 2 : length < 65_536 ? 4 : 10;
}

/** @returns the offset of the text */
function writeHeader(bytes: Buffer, offset: number, length: number): number {
  bytes[offset] = FINAL_TEXT_FRAME;
  if (length < 126) {
    bytes[offset + 1] = length;
    return offset + 2;
  }
  if (length < 65_536) {
    bytes[offset + 1] = 126;
    return bytes.writeUInt16BE(length, offset + 2);
  }
  bytes[offset + 1] = 127;
  bytes.writeUInt32BE(0, offset + 2);
  return bytes.writeUInt32BE(length, offset + 6);
}
