/**
 * `requestFormTool` is the tool `request_form`: it reads the arguments of the model and returns the outcome of the call,
 * which ends the turn.
 *
 * Invariant: a form that can't be shown never reaches the user. The model reads why, and can correct it.
 */
import { MAX_LABEL } from "@turnstream/protocol/writer";
import { FIELD_TYPES } from "@turnstream/protocol/schema";
import type { JsonSchema } from "../../models/model.ts";
import { asJsonObject } from "../../util/json.ts";
import type { ToolCallRecord } from "../attempt/journal-entries.ts";
import type { RunContext, RuntimeTool } from "../attempt/run-context.ts";
import { failedResult } from "../attempt/tool-result.ts";
import { REQUEST_FORM } from "../define/agent.ts";
import { readTimeoutSeconds, TIMEOUT_PROPERTY } from "../define/answer-timeout.ts";
import { MAX_FIELDS, MAX_OPTIONS, parseForm } from "../define/form.ts";
import type { StepCall } from "../events/step-writer.ts";
import { endingRecord } from "./ending-request.ts";

const SHORT = { type: "string", maxLength: MAX_LABEL } as const;

const FORM_SCHEMA: JsonSchema = {
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
    ...TIMEOUT_PROPERTY,
  },
  required: ["title", "fields"],
  additionalProperties: false,
};

export const requestFormTool: RuntimeTool = {
  name: REQUEST_FORM,
  description:
    "Asks the user to fill in a form, for several things that you need to know at once. Your turn ends with it, and the submitted values are the result of this call.",
  input: FORM_SCHEMA,
  phase: "request",
  isOffered: (agent) => agent.requestForms,
  run: requestForm,
};

function requestForm(scope: RunContext, call: StepCall): ToolCallRecord {
  const { timeout_seconds: _, ...input } = asJsonObject(call.input);
  const read = parseForm(input);
  const { toolFailed } = scope.attempt.strings;
  if (!read.ok) return failedResult(`The form is invalid: ${read.problem}.`, toolFailed);
  const asked = readTimeoutSeconds(call.input);
  if (typeof asked === "object" && asked !== null) return failedResult(asked.problem, toolFailed);
  const timeoutSeconds = asked ?? scope.agent.answerTimeoutSeconds;
  return endingRecord(scope, call, { kind: "form", schema: read.schema, timeoutSeconds });
}
