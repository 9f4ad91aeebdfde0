/**
 * `sse`, `decoders` and `forms` feed the parsers that a client runs: server-sent events, the decoders of the dialects
 * with the fold, and the check of form values.
 * Invariant: none of them throws for any input.
 */
import {
  checkForm,
  checkPartialForm,
  createSseParser,
  emptyState,
  fold,
  type FormSchema,
  type Json,
} from "@turnstream/protocol";
import { responsesFromSse } from "@turnstream/protocol/responses";
import { FIELD_TYPES } from "@turnstream/protocol/schema";
import { blocksFrames } from "../../../packages/protocol/src/dialects/blocks/frames.ts";
import { eventSchemas } from "../../../packages/protocol/src/events/index.ts";
import { responsesFrames } from "../../../packages/protocol/src/dialects/responses/frames.ts";
import { tasksFrames } from "../../../packages/protocol/src/dialects/tasks/frames.ts";
import fc from "fast-check";
import { blocksDecoder } from "../../../packages/dialects/src/blocks/decode.ts";
import { responsesDecoder } from "../../../packages/dialects/src/responses/decode.ts";
import { tasksDecoder } from "../../../packages/dialects/src/tasks/decode.ts";
import { hostileText, valueWith } from "../arbitraries.ts";
import { syncTarget } from "../target.ts";

const line = fc
  .tuple(
    fc.constantFrom("data: ", "data:", "event: ", "id: ", "retry: ", ": ", "", "x: "),
    hostileText(3_000),
  )
  .map(([start, text]) => `${start}${text}`);
const stream = fc
  .tuple(
    fc.array(line, { maxLength: 30 }),
    fc.constantFrom("\n", "\r\n", "\r", "\n\n"),
    fc.array(fc.nat(200), { minLength: 1, maxLength: 20 }),
  )
  .map(([lines, end, cuts]) => ({ text: lines.join(end) + end + end, cuts }));

const MAX_CHUNKS = 500;

export const sse = syncTarget("sse", "the parser of server-sent events", stream, ({ text, cuts }) => {
  const parser = createSseParser((message) => void responsesFromSse(message));
  let at = 0;
  // Chunks of the generated lengths, in turn. A connection delivers each one by itself, so their number is bounded here.
  const shortest = Math.ceil(text.length / MAX_CHUNKS);
  for (let n = 0; at < text.length; n++) {
    const end = at + Math.max(shortest, (cuts[n % cuts.length] ?? 0) + 1);
    parser.push(text.slice(at, end));
    at = end;
  }
});

type Schemas = Readonly<Record<string, object>>;

/** All field names of a set of schemas, two levels deep. */
function fieldsOf(schemas: Schemas): string[] {
  const names = Object.values(schemas).flatMap((schema) => {
    const { shape = {} } = schema as { shape?: Readonly<Record<string, object>> };
    return Object.entries(shape).flatMap(([name, inner]) => [
      name,
      ...Object.keys((inner as { shape?: object }).shape ?? {}),
    ]);
  });
  return [...new Set([...names, "__proto__", "constructor"])];
}

function someFrames(schemas: Schemas): fc.Arbitrary<Record<string, unknown>[]> {
  return fc.array(valueWith(fieldsOf(schemas), Object.keys(schemas)), { maxLength: 30 });
}

const someInput = fc.oneof(
  someFrames(blocksFrames).map((all) => ({ kind: "blocks" as const, all })),
  someFrames(tasksFrames).map((all) => ({ kind: "tasks" as const, all })),
  someFrames(responsesFrames).map((all) => ({ kind: "responses" as const, all })),
  someFrames(eventSchemas).map((all) => ({ kind: "native" as const, all })),
);

const DECODERS = { blocks: blocksDecoder, tasks: tasksDecoder, responses: responsesDecoder };

interface AnyDecoder {
  readonly start: unknown;
  readonly decode: (
    decoder: unknown,
    frame: unknown,
  ) => { readonly decoder: unknown; readonly events: readonly Parameters<typeof fold>[1][] };
}

export const decoders = syncTarget(
  "decoders",
  "the decoders of the dialects, and the fold",
  someInput,
  ({ kind, all }) => {
    let state = emptyState;
    if (kind === "native") {
      for (const event of all) state = fold(state, event as unknown as Parameters<typeof fold>[1]);
      return;
    }
    const { start, decode } = DECODERS[kind] as unknown as AnyDecoder;
    let decoder = start;
    for (const frame of all) {
      const decoded = decode(decoder, frame);
      decoder = decoded.decoder;
      for (const event of decoded.events) state = fold(state, event);
    }
  },
);

const NAMES = ["a", "b", "constructor", "__proto__", ""];
const formField = fc.record({
  name: fc.constantFrom(...NAMES),
  label: fc.constant("x"),
  type: fc.constantFrom(...FIELD_TYPES),
  required: fc.boolean(),
  min: fc.option(fc.integer(), { nil: undefined }),
  max: fc.option(fc.integer(), { nil: undefined }),
  options: fc.option(
    fc.array(fc.record({ value: hostileText(20), label: fc.constant("x") }), { maxLength: 500 }),
    { nil: undefined },
  ),
});
const formValue = fc.oneof(
  hostileText(1_000_000),
  fc.jsonValue({ maxDepth: 4 }),
  fc.array(hostileText(20), { maxLength: 2_000 }),
);
const someForm = fc.record({
  fields: fc.array(formField, { maxLength: 12 }),
  values: fc.oneof(fc.dictionary(fc.constantFrom(...NAMES, "c"), formValue), formValue),
});

export const forms = syncTarget("forms", "the check of form values", someForm, ({ fields, values }) => {
  const schema = { id: "f", title: "x", fields } as unknown as FormSchema;
  checkForm(schema, values as Json);
  checkPartialForm(schema, values as Json);
});
