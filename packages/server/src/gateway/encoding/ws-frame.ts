/**
 * `encodeTextFrames` builds unmasked WebSocket text frames, so that the same bytes can be written to any number of
 * sockets. Pure.
 * Invariant: each text is one final frame, never compressed or fragmented, with a length below 4 GiB. The sockets must
 * therefore not negotiate compression; see ws/upgrade.ts.
 */

const FINAL_TEXT_FRAME = 0x81;

export function encodeTextFrame(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const bytes = Buffer.allocUnsafe(headerLength(length) + length);
  bytes.write(text, writeHeader(bytes, 0, length));
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
