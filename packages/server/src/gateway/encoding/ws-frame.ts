/** WebSocket text frames from a server, as bytes: built once, written to any number of sockets. Pure. */

const TEXT_WHOLE = 0x81;

export function textFrame(text: string): Buffer {
  return textFrames([text]);
}

/** Frames one after the other, in one piece. */
export function textFrames(texts: readonly string[]): Buffer {
  const lengths = texts.map((text) => Buffer.byteLength(text));
  const bytes = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + headOf(length) + length, 0));
  let at = 0;
  for (const [n, text] of texts.entries()) {
    const length = lengths[n] ?? 0;
    at = writeHead(bytes, at, length);
    at += bytes.write(text, at);
  }
  return bytes;
}

function headOf(length: number): number {
  return length < 126 ? 2 : length < 65_536 ? 4 : 10;
}

/** @returns where the text begins */
function writeHead(bytes: Buffer, at: number, length: number): number {
  bytes[at] = TEXT_WHOLE;
  if (length < 126) {
    bytes[at + 1] = length;
    return at + 2;
  }
  if (length < 65_536) {
    bytes[at + 1] = 126;
    return bytes.writeUInt16BE(length, at + 2);
  }
  bytes[at + 1] = 127;
  bytes.writeUInt32BE(0, at + 2);
  return bytes.writeUInt32BE(length, at + 6);
}
