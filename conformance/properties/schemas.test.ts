/** Every event and every frame validates against the published JSON Schema, by a validator that isn't ours. */
import { readFileSync } from "node:fs";
import { emptyState, type Event } from "@turnstream/protocol";
import { blocks } from "@turnstream/protocol/blocks";
import { responses } from "@turnstream/protocol/responses";
import { tasks } from "@turnstream/protocol/tasks";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { expect, test } from "vitest";
import { framesFrom } from "../support/replay.ts";
import { atEveryCut } from "../support/sizes.ts";

interface SchemaFile {
  readonly $defs: Readonly<Record<string, object>>;
}

/** A validator for each `type` of a set. */
function validators(name: string): Map<string, ValidateFunction> {
  const url = new URL(`../../packages/protocol/schemas/${name}.json`, import.meta.url);
  const file = JSON.parse(readFileSync(url, "utf8")) as SchemaFile;
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
  return new Map(Object.entries(file.$defs).map(([type, schema]) => [type, ajv.compile(schema)]));
}

function validate(known: ReadonlyMap<string, ValidateFunction>, value: { readonly type: string }): void {
  const check = known.get(value.type);
  if (check === undefined) throw new Error(`no schema for ${value.type}`);
  // As it is on the wire.
  if (check(JSON.parse(JSON.stringify(value)))) return;
  throw new Error(`not valid: ${JSON.stringify(value)}: ${JSON.stringify(check.errors)}`);
}

test("S02 T01 W01 generated events and their frames validate against the JSON Schemas", () => {
  const events = validators("events");
  const sets = [
    { known: validators("blocks-frames"), frames: (log: Event[]) => framesFrom(blocks, emptyState, log) },
    { known: validators("tasks-frames"), frames: (log: Event[]) => framesFrom(tasks, emptyState, log) },
    {
      known: validators("responses-frames"),
      frames: (log: Event[]) => framesFrom(responses, emptyState, log),
    },
  ];
  const seen = new Set<string>();
  atEveryCut((log) => {
    for (const event of log) validate(events, event);
    for (const { known, frames } of sets) {
      for (const frame of frames(log)) {
        seen.add(frame.type);
        validate(known, frame);
      }
    }
  });
  // The logs reach every frame there is.
  expect(sets.flatMap(({ known }) => [...known.keys()]).filter((type) => !seen.has(type))).toEqual([]);
});

test("a frame with a field too many or too few is noticed", () => {
  const known = validators("blocks-frames");
  const stop = { type: "message_stop", message_id: "t", duration_ms: 1 };
  expect(() => validate(known, stop)).not.toThrow();
  expect(() => validate(known, { type: "message_stop", message_id: "t" } as typeof stop)).toThrow(
    "not valid",
  );
  expect(() => validate(known, { ...stop, more: 1 } as typeof stop)).toThrow("not valid");
});
