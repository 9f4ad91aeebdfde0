/**
 * `encodeApng` writes pictures as an animated PNG, which browsers play in an `<img>`.
 * Invariant: the pictures have the same size. A frame has only the rectangle that changed, and pixels in it that did not
 * change are transparent. All frames share one palette: the most frequent colors, and the nearest one for any other.
 */
import { crc32, deflateSync } from "node:zlib";
import type { Picture } from "./decode-png.ts";

export interface Frame {
  readonly picture: Picture;
  /** How long it is shown. */
  readonly ms: number;
}

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const MAX_COLORS = 255;
/** The entry of the palette for pixels that stay as they are. */
const UNCHANGED = 0;

export function encodeApng(frames: readonly Frame[]): Buffer {
  const [first] = frames;
  if (first === undefined) throw new Error("There are no frames.");
  const { width, height } = first.picture;
  const palette = choosePalette(frames.map(({ picture }) => picture));
  const find = createColorFinder(palette);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  const colors = Buffer.alloc(3 * (palette.length + 1));
  for (const [n, color] of palette.entries()) colors.writeUIntBE(color, 3 * (n + 1), 3);
  const chunks = [
    chunk("IHDR", header),
    chunk("acTL", numbers(frames.length, 0)),
    chunk("PLTE", colors),
    chunk("tRNS", Buffer.of(0)),
  ];
  let sequence = 0;
  let before: Picture | null = null;
  for (const { picture, ms } of frames) {
    const area = before === null ? { left: 0, top: 0, width, height } : findChange(before, picture);
    const control = Buffer.alloc(26);
    for (const [n, value] of [sequence++, area.width, area.height, area.left, area.top].entries())
      control.writeUInt32BE(value, 4 * n);
    control.writeUInt16BE(Math.min(65_535, Math.round(ms)), 20);
    control.writeUInt16BE(1_000, 22);
    // Stays for the next frame, and is drawn over the one before.
    control.set([0, before === null ? 0 : 1], 24);
    const data = deflateSync(rowsOf(picture, before, area, find), { level: 9 });
    chunks.push(chunk("fcTL", control));
    if (before === null) chunks.push(chunk("IDAT", data));
    else chunks.push(chunk("fdAT", Buffer.concat([numbers(sequence++), data])));
    before = picture;
  }
  return Buffer.concat([SIGNATURE, ...chunks, chunk("IEND", Buffer.alloc(0))]);
}

function numbers(...values: readonly number[]): Buffer {
  const buffer = Buffer.alloc(4 * values.length);
  for (const [n, value] of values.entries()) buffer.writeUInt32BE(value, 4 * n);
  return buffer;
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, "latin1"), data]);
  return Buffer.concat([numbers(data.length), named, numbers(crc32(named))]);
}

interface Area {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** At least one pixel, because a frame can't be empty. */
function findChange(before: Picture, { width, pixels }: Picture): Area {
  let [left, right, top, bottom] = [width, -1, -1, 0];
  for (const [n, color] of pixels.entries()) {
    if (before.pixels[n] === color) continue;
    const x = n % width;
    bottom = (n - x) / width;
    if (top < 0) top = bottom;
    left = Math.min(left, x);
    right = Math.max(right, x);
  }
  if (top < 0) return { left: 0, top: 0, width: 1, height: 1 };
  return { left, top, width: right - left + 1, height: bottom - top + 1 };
}

function rowsOf(
  { width, pixels }: Picture,
  before: Picture | null,
  area: Area,
  find: (color: number) => number,
): Buffer {
  const rows = Buffer.alloc((area.width + 1) * area.height);
  for (let y = 0, to = 0; y < area.height; y++) {
    // The first byte of a row is 0: no filter, because the pixels are entries of a palette.
    to++;
    for (let x = 0; x < area.width; x++) {
      const at = (area.top + y) * width + area.left + x;
      const color = pixels[at] ?? 0;
      rows[to++] = before?.pixels[at] === color ? UNCHANGED : find(color);
    }
  }
  return rows;
}

function choosePalette(pictures: readonly Picture[]): number[] {
  const counts = new Map<number, number>();
  for (const { pixels } of pictures)
    for (const color of pixels) counts.set(color, (counts.get(color) ?? 0) + 1);
  return [...counts]
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, MAX_COLORS)
    .map(([color]) => color);
}

/** Returns the entry of the nearest color. Entry 0 is no color. */
function createColorFinder(palette: readonly number[]): (color: number) => number {
  const known = new Map(palette.map((color, n) => [color, n + 1]));
  return (color) => {
    const found = known.get(color);
    if (found !== undefined) return found;
    const distances = palette.map((other) => distance(color, other));
    const nearest = distances.indexOf(Math.min(...distances)) + 1;
    known.set(color, nearest);
    return nearest;
  };
}

function distance(one: number, other: number): number {
  const by = (shift: number): number => (((one >> shift) & 255) - ((other >> shift) & 255)) ** 2;
  return by(16) + by(8) + by(0);
}
