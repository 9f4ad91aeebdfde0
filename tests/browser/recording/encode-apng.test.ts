/** Tests `encodeApng` and `decodePng`: the frames of an animated picture show what was recorded. */
import { deflateSync, inflateSync } from "node:zlib";
import { expect, test } from "vitest";
import { decodePng, type Picture, readChunks } from "./decode-png.ts";
import { encodeApng } from "./encode-apng.ts";

const picture = (width: number, ...pixels: readonly number[]): Picture => ({
  width,
  height: pixels.length / width,
  pixels: Uint32Array.from(pixels),
});

/** Plays an animated picture as a browser does. Returns the pixels after each frame. */
function play(file: Buffer): number[][] {
  const chunks = readChunks(file);
  const find = (wanted: string) => chunks.find(({ type }) => type === wanted)?.data ?? Buffer.alloc(0);
  const width = find("IHDR").readUInt32BE(0);
  const palette = find("PLTE");
  const screen: number[] = [];
  const shown: number[][] = [];
  let area: readonly number[] = [];
  for (const { type, data } of chunks) {
    if (type === "fcTL") area = [4, 8, 12, 16].map((at) => data.readUInt32BE(at));
    if (type !== "IDAT" && type !== "fdAT") continue;
    const [areaWidth = 0, , left = 0, top = 0] = area;
    const rows = inflateSync(type === "IDAT" ? data : data.subarray(4));
    for (const [n, entry] of rows.entries()) {
      const x = (n % (areaWidth + 1)) - 1;
      if (x < 0 || entry === 0) continue;
      screen[(top + Math.floor(n / (areaWidth + 1))) * width + left + x] = palette.readUIntBE(3 * entry, 3);
    }
    shown.push([...screen]);
  }
  return shown;
}

test("each frame shows its picture, also one that changes nothing or little", () => {
  const pictures = [
    picture(3, 1, 1, 1, 1, 1, 1),
    picture(3, 1, 1, 1, 1, 0xff8000, 1),
    picture(3, 1, 1, 1, 1, 0xff8000, 1),
    picture(3, 2, 1, 1, 1, 0xff8000, 3),
  ];
  const file = encodeApng(pictures.map((one) => ({ picture: one, ms: 100 })));
  expect(play(file)).toEqual(pictures.map(({ pixels }) => [...pixels]));
  const areas = readChunks(file).flatMap(({ type, data }) =>
    type === "fcTL" ? [[4, 8, 12, 16].map((at) => data.readUInt32BE(at))] : [],
  );
  expect(areas).toEqual([
    [3, 2, 0, 0],
    [1, 1, 1, 1],
    [1, 1, 0, 0],
    [3, 2, 0, 0],
  ]);
});

test("a color that is not among the most frequent is drawn as the nearest one", () => {
  const frequent = Array.from({ length: 255 }, (_, n) => n << 16);
  const all = picture(1, ...frequent, ...frequent, 0x0a0003);
  expect(play(encodeApng([{ picture: all, ms: 1 }]))[0]?.at(-1)).toBe(0x0a0000);
});

test("a picture of Chromium with every filter is decoded", () => {
  // 2 x 5 pixels, one row for each filter. Made by hand: each row has the colors 0x010203 and 0x040506.
  const rows = [
    [0, 1, 2, 3, 4, 5, 6],
    [1, 1, 2, 3, 3, 3, 3],
    [2, 0, 0, 0, 0, 0, 0],
    [3, 1, 1, 2, 2, 2, 2],
    [4, 0, 0, 0, 0, 0, 0],
  ];
  expect([...decodePng(wrap(2, 5, Buffer.from(rows.flat()))).pixels]).toEqual(
    rows.flatMap(() => [0x010203, 0x040506]),
  );
});

/** Without the checksum. */
function toChunk(type: string, data: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  return Buffer.concat([length, Buffer.from(type), data, Buffer.alloc(4)]);
}

/** Writes a PNG file with 8 bits and three channels. */
function wrap(width: number, height: number, rows: Buffer): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.alloc(8),
    toChunk("IHDR", header),
    toChunk("IDAT", deflateSync(rows)),
    toChunk("IEND", Buffer.alloc(0)),
  ]);
}
