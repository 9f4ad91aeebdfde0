/** Tests that a journaled outcome refers to its archived result, and is the same again when it is read. */
import type { Json, ToolResultBlock } from "@turnstream/protocol";
import { truncateText, MAX_PREVIEW } from "@turnstream/protocol/writer";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { failedResult, successResult } from "../../../src/agent/run/tool-result.ts";
import type { ResultPart, ToolCallRecord } from "../../../src/agent/run/journal-entries.ts";
import {
  isResultReference,
  resolveResult,
  toResultReference,
} from "../../../src/session/history/result-reference.ts";

/** The result that the events of a record fold to, after `written` parts of progress. */
function blockOf(record: ToolCallRecord, written: readonly ResultPart[] = []): ToolResultBlock {
  const { status, preview, artifact, structured, results, whole, usage, blocks } = record;
  const parts = [...written, ...blocks].map((part) => ({
    media: part.type,
    data: part.type === "text" ? part.text : part.url,
    reference: part.reference ?? null,
    done: true,
    pictures: 0,
  }));
  const published = structured === undefined ? {} : { structured };
  return {
    status,
    preview,
    artifact,
    ...published,
    results,
    whole,
    usage,
    parts,
  } as unknown as ToolResultBlock;
}

const asJson = (record: ToolCallRecord): Json => record as unknown as Json;
const bytes = (value: Json): number => JSON.stringify(value).length;

describe("a reference to a result", () => {
  test("has no copy of a text, of an object or of blocks", () => {
    const text = "long ".repeat(800);
    const rows = Array.from({ length: 40 }, (_, n) => ({ n, text: `row ${n}` }));
    const progress: ResultPart = { type: "text", text: "half" };
    for (const [record, written] of [
      [successResult({ content: text }, 0), []],
      [successResult({ content: rows }, 0), []],
      [failedResult(text.slice(0, 3_000)), []],
      [{ ...successResult({ content: "ok" }, 0), structured: rows }, []],
      [successResult({ content: "", blocks: [{ type: "text", text }] }, 1), [progress]],
    ] as const) {
      const block = blockOf(record, written);
      const reference = toResultReference(asJson(record), block);
      expect(isResultReference(reference)).toBe(true);
      expect(bytes(reference)).toBeLessThan(120);
      expect(resolveResult(reference, block)).toEqual(record);
    }
  });

  test("keeps what the event doesn't have", () => {
    const record: ToolCallRecord = {
      ...successResult({ content: "x".repeat(MAX_PREVIEW + 1) }, 0),
      pool: [{ type: "text", text: "cited", id: 1 }],
      isRefusal: true,
      structured: { id: "o1" },
      ending: { id: "form", request: null },
    };
    const { structured: _, ...unpublished } = record;
    const hidden = blockOf({ ...unpublished, preview: "", blocks: [], artifact: null });
    for (const block of [blockOf(record), hidden])
      expect(resolveResult(toResultReference(asJson(record), block), block)).toEqual(record);
  });

  test("resolves to an equal record, whatever the tool returned", () => {
    const part: fc.Arbitrary<ResultPart> = fc.oneof(
      fc.record({ type: fc.constant("text" as const), text: fc.string() }),
      fc.record({ type: fc.constant("image" as const), url: fc.webUrl() }),
    );
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.jsonValue()),
        fc.array(part, { maxLength: 3 }),
        fc.array(part, { maxLength: 2 }),
        fc.option(fc.string(), { nil: undefined }),
        fc.boolean(),
        (content, blocks, written, preview, isHidden) => {
          const plain = JSON.parse(JSON.stringify(content)) as Json;
          const record = successResult(
            { content: plain, blocks, ...(preview === undefined ? {} : { preview }) },
            written.length,
          );
          const shown = isHidden ? { ...record, preview: "", blocks: [] } : record;
          const block = blockOf(shown, written);
          const stored = JSON.parse(JSON.stringify(toResultReference(asJson(record), block))) as Json;
          expect(resolveResult(stored, block)).toEqual(record);
        },
      ),
    );
  });

  test("a record that has no reference stays as it is, and a superseded result resolves to nothing", () => {
    const record = asJson(successResult({ content: truncateText("text", 4) }, 0));
    const block = blockOf(record as unknown as ToolCallRecord);
    expect(resolveResult(record, block)).toBe(record);
    expect(resolveResult(record, undefined)).toBe(record);
    expect(resolveResult(toResultReference(record, block), undefined)).toBeUndefined();
  });
});
