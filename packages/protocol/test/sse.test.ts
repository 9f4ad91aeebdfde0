/** Tests that SSE data arrives unchanged, with UTF-8 split at any byte, in our parser and in a minimal one. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json } from "../src/json.ts";
import {
  createSseParser,
  formatSse,
  formatSseComment,
  SseFieldError,
  type SseFrame,
  type SseMessage,
  SseTooLargeError,
  toWireJson,
} from "../src/sse.ts";

const nasty = fc.constantFrom(
  "\r",
  "\n",
  "\r\n",
  "\0",
  "\ud800",
  "\udfff",
  "\u2028",
  "\u0085",
  "\ufeff",
  ":",
  " ",
  "data: ",
);
const anyString = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.array(fc.oneof(nasty, fc.string({ maxLength: 3 }))).map((parts) => parts.join("")),
);
const line = anyString.map((raw) => raw.replaceAll(/[\r\n\0]/g, ""));
const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 8 });

/** What text and bytes have in common. */
interface Sliceable<Part> {
  readonly length: number;
  slice(start: number, end: number): Part;
}

function cut<Part>(whole: Sliceable<Part>, lengths: readonly number[]): Part[] {
  const chunks: Part[] = [];
  for (let at = 0, i = 0; at < whole.length; i += 1) {
    const size = lengths[i % lengths.length] ?? 1;
    chunks.push(whole.slice(at, at + size));
    at += size;
  }
  return chunks;
}

/** Encodes the text as UTF-8, splits it at any bytes, and decodes the chunks as a stream. */
function throughUtf8(wire: string, lengths: readonly number[]): string[] {
  const decoder = new TextDecoder();
  return cut(new TextEncoder().encode(wire), lengths).map((bytes) => decoder.decode(bytes, { stream: true }));
}

function read(chunks: readonly string[]): SseMessage[] {
  const messages: SseMessage[] = [];
  const parser = createSseParser((message) => messages.push(message));
  for (const chunk of chunks) parser.push(chunk);
  return messages;
}

/** The reader that the documentation of the `responses` dialect shows its users. */
function readSimply(chunks: readonly string[]): unknown[] {
  const events: unknown[] = [];
  let buffer = "";
  for (const chunk of chunks) {
    buffer += chunk;
    const lines = buffer.split("\n");
    buffer = lines.pop() ?? "";
    for (const each of lines) if (each.startsWith("data: ")) events.push(JSON.parse(each.slice(6)));
  }
  return events;
}

function readLimited(chunks: readonly string[], maxLength: number): { messages: number; errors: unknown[] } {
  let messages = 0;
  const errors: unknown[] = [];
  const parser = createSseParser(() => (messages += 1), {
    maxLength,
    onError: (error) => errors.push(error),
  });
  for (const chunk of chunks) parser.push(chunk);
  return { messages, errors };
}

describe("formatSse", () => {
  test("writes one space after each colon and an empty line at the end", () => {
    expect(formatSse({ data: "{}" })).toBe("data: {}\n\n");
    expect(formatSse({ event: "a.b", id: "7", retry: 0, data: "x\r\ny\rz\n" })).toBe(
      "event: a.b\nid: 7\nretry: 0\ndata: x\ndata: y\ndata: z\ndata: \n\n",
    );
    expect(formatSseComment("still\nhere")).toBe(": still\n: here\n\n");
  });

  test.each<[field: string, frame: SseFrame]>([
    ["event", { event: "a\nb", data: "" }],
    ["event", { event: "a\0", data: "" }],
    ["id", { id: "1\r", data: "" }],
    ["id", { id: "\0", data: "" }],
    ["retry", { retry: 1.5, data: "" }],
    ["retry", { retry: -1, data: "" }],
    ["retry", { retry: Number.NaN, data: "" }],
  ])("refuses a bad %s", (field, frame) => {
    expect(() => formatSse(frame)).toThrow(SseFieldError);
    expect(() => formatSse(frame)).toThrow(expect.objectContaining({ code: "BAD_REQUEST", field }));
  });
});

describe("createSseParser", () => {
  const json: fc.Arbitrary<Json> = fc.oneof(
    anyString,
    // No backslash in a key: V8's JSON.parse then misreads other escaped keys (nodejs/node#63785).
    fc
      .jsonValue({ stringUnit: "binary" })
      .map((value) => JSON.stringify(value))
      .filter((text) => !text.includes("\\\\"))
      .map((text): Json => JSON.parse(text)),
  );

  test("reads back any JSON, with UTF-8 split at any byte", () => {
    fc.assert(
      fc.property(fc.array(json, { maxLength: 5 }), sizes, (values, lengths) => {
        const wire = values
          .map((value, i) => formatSse({ event: "e", id: `${i}`, data: toWireJson(value) }))
          .join("");
        const chunks = throughUtf8(wire, lengths);
        expect(read(chunks).map(({ data }): unknown => JSON.parse(data))).toStrictEqual(values);
        expect(readSimply(chunks)).toStrictEqual(values);
      }),
      { numRuns: 1000 },
    );
  });

  test("reads back every field, with LF for any newline in the data", () => {
    const frame = fc.record({ event: line, id: line, data: anyString }, { requiredKeys: ["data"] });
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 5 }), sizes, (frames, lengths) => {
        const expected = frames.map(({ event, data, id }) => ({
          // By the standard, an empty event name counts as no event name.
          ...(event !== undefined && event !== "" && { event }),
          data: data.replaceAll(/\r\n?/g, "\n"),
          ...(id !== undefined && { id }),
        }));
        expect(read(cut(frames.map(formatSse).join(""), lengths))).toStrictEqual(expected);
      }),
      { numRuns: 1000 },
    );
  });

  test("accepts CR, LF and CRLF as line ends, split anywhere", () => {
    const ends = fc.constantFrom("\n", "\r\n", "\r");
    fc.assert(
      fc.property(ends, fc.boolean(), sizes, (end, bom, lengths) => {
        const lines = [
          "event: a",
          "data: 1",
          "data: 2",
          "",
          ": hello",
          "",
          "id: 9",
          "data:3",
          "",
          "data: cut off",
          "",
        ];
        const wire = (bom ? "\ufeff" : "") + lines.join(end);
        expect(read(["", ...cut(wire, lengths)])).toEqual([
          { event: "a", data: "1\n2" },
          { data: "3", id: "9" },
        ]);
      }),
    );
  });

  test("reports comments and retry, and ignores unknown fields", () => {
    const seen: unknown[] = [];
    const parser = createSseParser((message) => seen.push(message), {
      onComment: (text) => seen.push(`: ${text}`),
      onRetry: (milliseconds) => seen.push(milliseconds),
      onError: (error) => seen.push(error),
    });
    parser.push(
      `${formatSseComment("ping")}nonsense\nx: y\nretry: soon\n${formatSse({ retry: 1500, data: "1" })}`,
    );
    expect(seen).toEqual([": ping", 1500, { data: "1" }]);
  });

  describe("createSseParser with maxLength", () => {
    test.each([1, 7, 10_000])("accepts data up to the limit and refuses more, in chunks of %i", (size) => {
      const small = formatSse({ event: "e", id: "1", data: "x".repeat(100) });
      const lines = formatSse({ data: "y\n".repeat(50) });
      const large = formatSse({ data: "x".repeat(101) });
      expect(readLimited(cut(small + lines + small, [size]), 100)).toEqual({ messages: 3, errors: [] });
      const { messages, errors } = readLimited(cut(small + large + small, [size]), 100);
      expect(messages).toBe(1);
      expect(errors).toEqual([expect.any(SseTooLargeError)]);
      expect(errors).toEqual([expect.objectContaining({ code: "TOO_LARGE", maxLength: 100 })]);
    });

    test.each(["data: ", "event: ", "id: ", ": "])(
      "refuses a line that starts with %j and never ends",
      (start) => {
        const errors: unknown[] = [];
        const parser = createSseParser(() => undefined, {
          maxLength: 100,
          onComment: () => undefined,
          onError: (error) => errors.push(error),
        });
        for (const chunk of [start, ...Array.from({ length: 300 }, () => "x"), "\n\n"]) parser.push(chunk);
        expect(errors).toHaveLength(1);
      },
    );

    test("has a default of 8 MB", () => {
      const megabyte = "x".repeat(1024 * 1024);
      const parts = ["data: ", ...Array.from({ length: 8 }, () => megabyte)];
      expect(read([...parts, "\n\n"])).toHaveLength(1);
      expect(read([...parts, "x\n\n"])).toHaveLength(0);
    });
  });
});
