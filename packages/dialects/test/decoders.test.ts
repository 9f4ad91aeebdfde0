/** Checks that every decoder accepts any frame: each frame is changed, one field at a time, and no decoder throws. */
import {
  blocks,
  type Codec,
  type Decoding,
  responses,
  tasks,
} from "@turnstream/conformance/support/codecs.ts";
import { expect, test } from "vitest";
import { everyEvent } from "@turnstream/conformance/suites/every-event.ts";
import { framesOf } from "@turnstream/conformance/suites/frames.ts";

type Data = Record<string, unknown>;

interface Spoilt {
  readonly what: string;
  readonly value: unknown;
}

/**
 * Returns copies of a value in which one field, at any depth, is missing or of another type. The frame's type stays.
 */
function spoil(value: unknown, path = ""): Spoilt[] {
  if (typeof value !== "object" || value === null) return [];
  const from = value as Data;
  return Object.keys(from).flatMap((field) => {
    const at = `${path}.${field}`;
    if (at === ".type") return [];
    const { [field]: inner, ...rest } = from;
    const put = (what: string, instead: unknown): Spoilt => {
      const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...from }) as Data;
      copy[field] = instead;
      return { what, value: copy };
    };
    const removed = Array.isArray(value) ? [] : [{ what: `${at} removed`, value: rest }];
    const changed = [null, 7, "x", [], {}].map((bad) => put(`${at} = ${JSON.stringify(bad)}`, bad));
    return [...removed, ...changed, ...spoil(inner, at).map((s) => put(s.what, s.value))];
  });
}

/** Returns the changed frames on which the decoder throws, each tried after the unchanged frames before it. */
function throwing<E, D extends Decoding, F extends { readonly type: string }, O>(
  dialect: Codec<E, D, F, O>,
): { tried: number; thrown: string[] } {
  const thrown = new Set<string>();
  let tried = 0;
  let decoder = dialect.start;
  for (const frame of framesOf(dialect, everyEvent())) {
    for (const { what, value } of spoil(frame)) {
      tried++;
      try {
        const after = dialect.decode(decoder, value as F).decoder;
        dialect.decode(after, frame);
      } catch (error) {
        thrown.add(`${frame.type}${what}: ${String(error)}`);
      }
    }
    decoder = dialect.decode(decoder, frame).decoder;
  }
  return { tried, thrown: [...thrown] };
}

test("W01 the decoder of blocks throws for no damaged frame", () => {
  const { tried, thrown } = throwing(blocks);
  expect(tried).toBeGreaterThan(1000);
  expect(thrown).toEqual([]);
});

test("T01 the decoder of tasks throws for no damaged frame", () => {
  const { tried, thrown } = throwing(tasks);
  expect(tried).toBeGreaterThan(1000);
  expect(thrown).toEqual([]);
});

test("S02 the decoder of responses throws for no damaged frame", () => {
  const { tried, thrown } = throwing(responses);
  expect(tried).toBeGreaterThan(1000);
  expect(thrown).toEqual([]);
});
