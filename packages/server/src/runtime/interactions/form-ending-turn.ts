/**
 * `requestForm` and `formRecord` build the outcome of a call that ends the turn with a form; `writeForm` writes and
 * commits the form. Nothing here waits for the user.
 *
 * Invariant: the outcome of the call records the form, and a step has at most one. When all calls of the step are done,
 * the form is written outside of groups and committed before the turn ends.
 */
import { type Block, listBlocks, type FormBlock, type FormSchema } from "@turnstream/protocol";
import { MAX_LABEL, outlivesTurn } from "@turnstream/protocol/writer";
import { FIELD_TYPES } from "@turnstream/protocol/schema";
import type { JsonSchema } from "../../models/model.ts";
import type { TurnAttempt } from "../attempt/attempt.ts";
import { MAX_FIELDS, MAX_OPTIONS, parseForm } from "../define/form.ts";
import type { ToolCallRecord } from "../attempt/journal-entries.ts";
import { MAIN_RUN } from "../events/turn-writer.ts";
import { closeGroup } from "../events/groups.ts";
import { failedResult, successResult } from "../attempt/tool-result.ts";
import type { RunContext } from "../attempt/run-context.ts";
import type { StepCall } from "../events/step-writer.ts";
import { commitRequest } from "./await-decision.ts";
import { formIdFor } from "./form-id.ts";

const SHORT = { type: "string", maxLength: MAX_LABEL } as const;

export const FORM_SCHEMA: JsonSchema = {
  type: "object",
  properties: {
    title: { ...SHORT, description: "What the form is called." },
    description: { type: "string", description: "What it is for." },
    fields: {
      type: "array",
      minItems: 1,
      maxItems: MAX_FIELDS,
      items: {
        type: "object",
        properties: {
          name: { type: "string", description: "The key of its value, such as email." },
          label: { ...SHORT, description: "The label that the user reads." },
          type: { type: "string", enum: [...FIELD_TYPES] },
          required: { type: "boolean" },
          help: { ...SHORT, description: "A hint." },
          options: {
            type: "array",
            maxItems: MAX_OPTIONS,
            items: { type: "string" },
            description: "What can be chosen, for select and multiSelect.",
          },
          min: { type: "number", description: "Least number, length or count of choices." },
          max: { type: "number", description: "Greatest number, length or count of choices." },
        },
        required: ["name", "label", "type"],
        additionalProperties: false,
      },
    },
  },
  required: ["title", "fields"],
  additionalProperties: false,
};

/** The result that the model reads if it continues before the form is submitted. */
const SHOWN = "The form is shown to the user. The submitted values will be the result of this call.";
const ONE_AT_A_TIME =
  "Only one form can be requested at a time, and another one is pending. Request this one later.";

/** Thrown by `requestForm` of a tool's context to end the tool. */
export class FormRequested extends Error {
  readonly schema: FormSchema;

  constructor(schema: FormSchema) {
    super("the tool requests a form: don't catch this error");
    this.name = "FormRequested";
    this.schema = schema;
  }
}

/** Returns the outcome of the tool `request_form`. */
export function requestForm(scope: RunContext, call: StepCall): ToolCallRecord {
  const read = parseForm(call.input);
  if (!read.ok) return failedResult(`The form is invalid: ${read.problem}.`);
  return formRecord(scope, call, read.schema, { preview: "", parts: 0 });
}

/** @param shown preview of the call's result, and how many parts of it are already written */
export function formRecord(
  { attempt, formSlot }: RunContext,
  { call }: StepCall,
  schema: FormSchema,
  { preview, parts }: { readonly preview: string; readonly parts: number },
): ToolCallRecord {
  if (formSlot?.take(call) !== true) return failedResult(ONE_AT_A_TIME, preview, parts);
  const form = { form: formIdFor(attempt.row.turn, call), schema };
  return { ...successResult({ content: SHOWN, preview }, parts), form };
}

/** Writes the form of a call if it is not in the log, and commits it. */
export async function writeForm(
  scope: RunContext,
  call: StepCall,
  form: string,
  schema: FormSchema,
): Promise<void> {
  const { attempt, run, path } = scope;
  const { writer, context } = attempt;
  if (formsOf(attempt).every((block) => block.form !== form)) {
    const group = path === MAIN_RUN ? closeGroup(writer.turn, context.strings.thinkingLabel) : null;
    const closed = group === null ? null : writer.write(group);
    const asked = writer.startSync({ type: "form.request", run, form, call: call.call, schema });
    await Promise.all([closed, asked.written]);
    await writer.flush();
  }
  await commitForms(attempt);
}

/** Commits every form that outlives the turn. Repeating it changes nothing. */
export async function commitForms(attempt: TurnAttempt): Promise<void> {
  const { agent, mode } = attempt.turn;
  for (const block of formsOf(attempt))
    await commitRequest(attempt, block, { schema: block.schema, agent, mode });
}

/** Includes forms that were submitted before their turn ended. */
function formsOf({ turn }: TurnAttempt): FormBlock[] {
  return listBlocks(turn).filter(
    (block: Block): block is FormBlock => block.kind === "form" && outlivesTurn(block),
  );
}
