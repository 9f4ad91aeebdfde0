/** Tests that the decoders read every example that the documents print, without our fields, and report no problem. */
import type { SessionState } from "@turnstream/protocol";
import { blocks } from "@turnstream/protocol/blocks";
import { responses } from "@turnstream/protocol/responses";
import { tasks } from "@turnstream/protocol/tasks";
import type { Dialect } from "@turnstream/protocol/writer";
import { describe, expect, test } from "vitest";
import { blocksIn, read } from "../suites/frames.ts";
import { decodeAll } from "../support/replay.ts";
import { PRINTED, type PrintedCase } from "./examples.ts";

function expectShown<E, D extends { readonly state: SessionState; readonly cursor: string | null }, F, O>(
  dialect: Dialect<E, D, F, O>,
  { frames, shows }: PrintedCase,
): void {
  expect(decodeAll(dialect, frames as readonly F[]).problems).toEqual([]);
  const { state, problems } = read(dialect, frames);
  expect(problems).toEqual([]);
  expect(blocksIn(state)).toMatchObject(shows);
  expect(blocksIn(state)).toHaveLength(shows.length);
}

describe("W01 T01 S02 the decoders read what the documents print", () => {
  test.each(PRINTED.map((each) => [each.document, each.lines, each.about, each] as const))(
    "%s:%s %s",
    (_document, _lines, _about, example) => {
      if (example.dialect === "blocks") expectShown(blocks, example);
      else if (example.dialect === "tasks") expectShown(tasks, example);
      else expectShown(responses, example);
    },
  );
});
