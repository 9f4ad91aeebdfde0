/**
 * `formRequest` is the form that ends its turn: a tool of the model or of the app requests it, and its values are the
 * result of that call in a later turn.
 *
 * Invariant: a form that can't be shown never reaches the user. The model reads why, and can correct it.
 */
import { type FormBlock, type FormField, type FormSchema, isPending, type Json } from "@turnstream/protocol";
import { MAX_LABEL, REQUEST_FORM, truncateText } from "@turnstream/protocol/writer";
import { FIELD_TYPES } from "@turnstream/protocol/schema";
import { z } from "zod";
import { toJsonSchema } from "../../models/tool-schema.ts";
import { asJsonObject } from "../../util/json.ts";
import type { EndingRequest } from "../../engine/attempt/journal-keys.ts";
import type { RequestKind } from "../../engine/attempt/request-kind.ts";
import { stringifyContent } from "../run/tool-result.ts";
import { deadlineFields, readTimeoutSeconds, timeoutProperty } from "../define/answer-timeout.ts";
import { MAX_FIELDS, MAX_OPTIONS, parseForm } from "../define/form.ts";

/**
 * Returns the id of a form, unique in its session. It follows from the call, so that a later attempt finds the form. The
 * store and clients keep ids, so the format must not change.
 * @param nth number of the form within its call, because a tool that waits for a form can request another one
 */
export function formIdFor(turn: string, call: string, nth = 0): string {
  return `form_${turn}_${call}${nth === 0 ? "" : `.${nth}`}`;
}

const VALUE_CHARS = 2_000;
const short = z.string().max(MAX_LABEL);
const choices = z.array(z.string()).max(MAX_OPTIONS).optional();

/** What the model reads. `parseForm` accepts more. */
const formInput = z.strictObject({
  title: short.describe("What the form is called."),
  description: z.string().optional().describe("What it is for."),
  fields: z
    .array(
      z.strictObject({
        name: z.string().describe("The key of its value, such as email."),
        label: short.describe("The label that the user reads."),
        type: z.enum(FIELD_TYPES),
        required: z.boolean().optional(),
        help: short.optional().describe("A hint."),
        options: choices.describe("What can be chosen, for select and multiSelect."),
        min: z.number().optional().describe("Least number, length or count of choices."),
        max: z.number().optional().describe("Greatest number, length or count of choices."),
      }),
    )
    .min(1)
    .max(MAX_FIELDS),
  timeout_seconds: timeoutProperty,
});

interface FormRequest extends EndingRequest {
  readonly kind: "form";
  readonly schema: FormSchema;
  readonly timeoutSeconds: number | null;
}

type FormOutcome = Pick<FormBlock, "kind" | "schema" | "status" | "values" | "reason">;

export const formRequest: RequestKind = {
  kind: "form",
  tool: {
    name: REQUEST_FORM,
    description:
      "Asks the user to fill in a form, for several things that you need to know at once. Your turn ends with it, and the submitted values are the result of this call.",
    input: toJsonSchema(formInput, REQUEST_FORM),
    parse(given, timeoutSeconds) {
      const { timeout_seconds: _, ...form } = asJsonObject(given);
      const read = parseForm(form);
      if (!read.ok) return { ok: false, problem: `The form is invalid: ${read.problem}.` };
      const asked = readTimeoutSeconds(given);
      if (typeof asked === "object" && asked !== null) return { ok: false, problem: asked.problem };
      const request = { kind: "form", schema: read.schema, timeoutSeconds: asked ?? timeoutSeconds } as const;
      return { ok: true, request };
    },
  },
  shown: "The form is shown to the user. The submitted values will be the result of this call.",
  continued: "(I have dealt with the form.)",
  preview: ({ strings }) => strings.formRequested,
  idFor: (turn, call) => formIdFor(turn, String(call)),
  async draft({ context }, form, request) {
    const { schema, timeoutSeconds } = request as FormRequest;
    return { type: "form.request", form, schema, ...deadlineFields(timeoutSeconds, context.env.now()) };
  },
  stored({ turn: { agent, mode } }, block) {
    const { schema } = block as FormBlock;
    return { request: { schema, agent, mode } };
  },
  canChange: isPending,
  async readOutcome(store, ref, { id, request }): Promise<FormOutcome> {
    const { schema } = request as unknown as Pick<FormOutcome, "schema">;
    const change = (await store.interactions.changes(ref, id)).at(-1);
    if (change === undefined) return { kind: "form", schema, status: "pending", values: null, reason: null };
    const { values = null } = (change.body ?? {}) as { readonly values?: FormOutcome["values"] };
    const { status, reason } = change;
    return { kind: "form", schema, status: status as FormOutcome["status"], values, reason };
  },
  resultJson: (outcome) => formResult(outcome as FormOutcome),
  describe(outcome) {
    const { schema, status, values, reason } = outcome as FormOutcome;
    const filled = status === "submitted" ? formatFormValues(schema.fields, values ?? {}) : [];
    const why = reason === null || reason === "" ? "" : `, because: ${reason}`;
    return [
      `Form "${schema.title}": ${status}${why}`,
      ...filled.map(({ label, value }) => `User filled in ${label}: ${formatValue(value)}`),
    ];
  },
};

/** What the model reads of a form without values. */
const WITHOUT_VALUES: Readonly<Record<Exclude<FormOutcome["status"], "submitted">, string>> = {
  declined: "the user declined to fill it in",
  expired: "it was not submitted in time",
  cancelled: "it was withdrawn",
  pending: "the user has not filled it in",
};

function formResult({ schema, status, values, reason }: FormOutcome): Json {
  const form = schema.title;
  if (status === "submitted") return { form, status, values: formatFormValues(schema.fields, values ?? {}) };
  const why = status === "declined" && reason !== null ? { reason } : {};
  return { form, status: WITHOUT_VALUES[status], ...why };
}

/** Returns the filled-in values with labels instead of option values, without empty fields. */
function formatFormValues(
  fields: readonly FormField[],
  values: Readonly<Record<string, Json>>,
): { readonly name: string; readonly label: string; readonly value: Json }[] {
  return fields.flatMap((field) => {
    const value = Object.hasOwn(values, field.name) ? (values[field.name] ?? null) : null;
    if (value === null || value === "") return [];
    return [{ name: field.name, label: field.label, value: toLabels(field, value) }];
  });
}

function toLabels({ options = [] }: FormField, value: Json): Json {
  const labelOf = (choice: Json): Json => options.find((option) => option.value === choice)?.label ?? choice;
  return Array.isArray(value) ? (value as readonly Json[]).map(labelOf) : labelOf(value);
}

function formatValue(value: Json): string {
  const text = Array.isArray(value)
    ? (value as readonly Json[]).map(stringifyContent).join("; ")
    : stringifyContent(value);
  return truncateText(text, VALUE_CHARS);
}
