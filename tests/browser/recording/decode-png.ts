/**
 * `decodePng` reads the pixels of a picture that Chromium has taken: 8 bits per channel, not interlaced. `readChunks`
 * reads the chunks of any PNG file.
 * Does not read palettes, gray pictures or 16 bits.
 */
import { inflateSync } from "node:zlib";

export interface Picture {
  readonly width: number;
  readonly height: number;
  /** Red, green and blue of each pixel in one number, by rows. */
  readonly pixels: Uint32Array;
}

export interface PngChunk {
  readonly type: string;
  readonly data: Buffer;
}

const SIGNATURE_BYTES = 8;

export function readChunks(file: Buffer): PngChunk[] {
  const chunks: PngChunk[] = [];
  for (let at = SIGNATURE_BYTES; at < file.length;) {
    const length = file.readUInt32BE(at);
    const start = at + 8;
    chunks.push({ type: file.toString("latin1", at + 4, start), data: file.subarray(start, start + length) });
    at = start + length + 4;
  }
  return chunks;
}

export function decodePng(file: Buffer): Picture {
  const chunks = readChunks(file);
  const header = chunks.find(({ type }) => type === "IHDR")?.data ?? Buffer.alloc(13);
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const [bits, color, , , interlace] = header.subarray(8);
  const channels = color === 6 ? 4 : 3;
  if (bits !== 8 || (color !== 2 && color !== 6) || interlace !== 0)
    throw new Error(`The picture has ${bits} bits and color type ${color}, expected 8 bits and type 2 or 6.`);
  const packed = chunks.flatMap(({ type, data }) => (type === "IDAT" ? [data] : []));
  const bytes = unfilter(inflateSync(Buffer.concat(packed)), width * channels, channels);
  const pixels = new Uint32Array(width * height);
  for (let n = 0, at = 0; n < pixels.length; n++, at += channels)
    pixels[n] = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
  return { width, height, pixels };
}

/** Each row starts with the number of its filter, and its bytes are differences to their neighbours. */
function unfilter(filtered: Buffer, rowBytes: number, step: number): Uint8Array {
  const rows = filtered.length / (rowBytes + 1);
  const out = new Uint8Array(rows * rowBytes);
  for (let row = 0; row < rows; row++) {
    const from = row * (rowBytes + 1);
    const filter = filtered[from];
    const to = row * rowBytes;
    for (let n = 0; n < rowBytes; n++) {
      const left = n >= step ? (out[to + n - step] ?? 0) : 0;
      const above = row > 0 ? (out[to + n - rowBytes] ?? 0) : 0;
      const corner = row > 0 && n >= step ? (out[to + n - rowBytes - step] ?? 0) : 0;
      const value = filtered[from + 1 + n] ?? 0;
      out[to + n] = value + predict(filter ?? 0, left, above, corner);
    }
  }
  return out;
}

function predict(filter: number, left: number, above: number, corner: number): number {
  if (filter === 1) return left;
  if (filter === 2) return above;
  if (filter === 3) return (left + above) >> 1;
  if (filter !== 4) return 0;
  const guess = left + above - corner;
  const [byLeft, byAbove, byCorner] = [left, above, corner].map((one) => Math.abs(guess - one)) as [
    number,
    number,
    number,
  ];
  if (byLeft <= byAbove && byLeft <= byCorner) return left;
  return byAbove <= byCorner ? above : corner;
}
