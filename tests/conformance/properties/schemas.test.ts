/** Checks every event and frame against the published JSON Schemas with an independent validator. */
import { readFileSync } from "node:fs";
import { emptyState, type SessionEvent } from "@turnstream/protocol";
import { blocks } from "@turnstream/protocol/blocks";
import { responses } from "@turnstream/protocol/responses";
import { tasks } from "@turnstream/protocol/tasks";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { legalLog } from "../generator/legal-log.ts";
import { framesFrom } from "../support/replay.ts";
import { atEveryCut, MAX_EVENTS } from "../support/property-runs.ts";

interface SchemaFile {
  readonly $defs: Readonly<Record<string, object>>;
}

/** The validators of a schema file, by `type`. */
function validators(name: string): Map<string, ValidateFunction> {
  const url = new URL(`../../../packages/protocol/schemas/${name}.json`, import.meta.url);
  const file = JSON.parse(readFileSync(url, "utf8")) as SchemaFile;
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
  return new Map(Object.entries(file.$defs).map(([type, schema]) => [type, ajv.compile(schema)]));
}

function validate(known: ReadonlyMap<string, ValidateFunction>, value: { readonly type: string }): void {
  const check = known.get(value.type);
  if (check === undefined) throw new Error(`no schema for ${value.type}`);
  // JSON text drops undefined fields, as on the wire.
  if (check(JSON.parse(JSON.stringify(value)))) return;
  throw new Error(`not valid: ${JSON.stringify(value)}: ${JSON.stringify(check.errors)}`);
}

const SETS = [
  { name: "events", made: (log: SessionEvent[]): { readonly type: string }[] => log },
  { name: "blocks-frames", made: (log: SessionEvent[]) => framesFrom(blocks, emptyState, log) },
  { name: "tasks-frames", made: (log: SessionEvent[]) => framesFrom(tasks, emptyState, log) },
  { name: "responses-frames", made: (log: SessionEvent[]) => framesFrom(responses, emptyState, log) },
];

test.each(SETS)(
  "S02 T01 W01 events and frames of generated logs match the JSON Schemas: $name",
  ({ name, made }) => {
    const known = validators(name);
    atEveryCut((log) => {
      for (const value of made(log)) validate(known, value);
    });
  },
);

describe("generated logs produce every type", () => {
  let logs: readonly SessionEvent[][] = [];
  beforeAll(() => {
    logs = fc.sample(legalLog(MAX_EVENTS), { seed: 17, numRuns: 400 });
  });
  test.each(SETS)("$name", ({ name, made }) => {
    const seen = new Set(logs.flatMap((log) => made(log).map(({ type }) => type)));
    expect([...validators(name).keys()].filter((type) => !seen.has(type))).toEqual([]);
  });
});

test("a frame with an additional or a missing field is rejected", () => {
  const known = validators("blocks-frames");
  const stop = { type: "message_stop", message_id: "t", duration_ms: 1 };
  expect(() => validate(known, stop)).not.toThrow();
  expect(() => validate(known, { type: "message_stop", message_id: "t" } as typeof stop)).toThrow(
    "not valid",
  );
  expect(() => validate(known, { ...stop, more: 1 } as typeof stop)).toThrow("not valid");
});
