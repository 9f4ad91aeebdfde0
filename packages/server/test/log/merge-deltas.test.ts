/** Tests that merging entries by their text equals merging their events. */
import { coalesce, type EventDraft } from "@turnstream/protocol/writer";
import fc from "fast-check";
import { expect, test } from "vitest";
import { formatLine, LogEntry } from "../../src/log/entry.ts";
import { mergeDeltas } from "../../src/log/raw-deltas.ts";

const NOTE = [{ type: "citation", url: "https://example.com" }];

const draft = fc.record({
  type: fc.constantFrom("text.delta", "thinking.delta", "text.end"),
  block: fc.constantFrom("b1", "b1", "b1", "b2"),
  text: fc.oneof(fc.string({ unit: "binary" }), fc.constant("x".repeat(3_000))),
  hasNote: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  /** Sometimes an entry is missing, or another epoch starts. */
  step: fc.constantFrom("next", "next", "next", "next", "next", "next", "gap", "epoch"),
});

test("merges any entries equally, also with a gap or a new epoch between them", () => {
  fc.assert(
    fc.property(fc.array(draft, { maxLength: 40 }), (drafts) => {
      let [epoch, seq] = [1, 0];
      const make = () =>
        drafts.map(({ type, block, text, hasNote, step }, n) => {
          if (step === "epoch") epoch++;
          seq += step === "gap" ? 2 : 1;
          const place = { type, turn: "t", run: "t", block, index: 0 };
          const content = type === "text.end" ? { final: true } : { text };
          const noted = hasNote && type === "text.delta" ? { annotations: NOTE } : {};
          const event = { ...place, ...content, ...noted } as unknown as EventDraft;
          return new LogEntry(epoch, seq, formatLine("w:1", event, 1_000 + n));
        });
      const entries = make();
      const expected = coalesce(entries.map(({ event }) => event));
      for (const entry of entries) entry.releaseParsed();
      expect(mergeDeltas(entries)).toEqual(expected);
    }),
    { numRuns: 500 },
  );
});
