/** Tests that the decoders read every example that the documents print, without our fields, and report no problem. */
import { type Decoder, type Decoding } from "@turnstream/conformance/support/codecs.ts";
import { blocksDecoder } from "../src/blocks/decode.ts";
import { responsesDecoder } from "../src/responses/decode.ts";
import { tasksDecoder } from "../src/tasks/decode.ts";
import { describe, expect, test } from "vitest";
import { blocksIn, read } from "@turnstream/conformance/suites/frames.ts";
import { decodeAll } from "@turnstream/conformance/support/replay.ts";
import { PRINTED, type PrintedCase } from "@turnstream/conformance/printed/examples.ts";

function expectShown<D extends Decoding, F>(decoder: Decoder<D, F>, { frames, shows }: PrintedCase): void {
  expect(decodeAll(decoder, frames as readonly F[]).problems).toEqual([]);
  const { state, problems } = read(decoder, frames);
  expect(problems).toEqual([]);
  expect(blocksIn(state)).toMatchObject(shows);
  expect(blocksIn(state)).toHaveLength(shows.length);
}

describe("W01 T01 S02 the decoders read what the documents print", () => {
  test.each(PRINTED.map((each) => [each.document, each.lines, each.about, each] as const))(
    "%s:%s %s",
    (_document, _lines, _about, example) => {
      if (example.dialect === "blocks") expectShown(blocksDecoder, example);
      else if (example.dialect === "tasks") expectShown(tasksDecoder, example);
      else expectShown(responsesDecoder, example);
    },
  );
});
