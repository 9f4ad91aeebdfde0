/**
 * `formResultText` renders the outcome of a form as the result of the call that requested it; `findForms` finds the
 * forms of a call. Pure.
 *
 * Invariant: every status has a text for the model. Values appear with labels instead of option values, and empty
 * fields are left out. `findForms` returns only forms that outlive their turn.
 */
import {
  type Block,
  listBlocks,
  findRun,
  type FormBlock,
  type FormField,
  type Json,
  type Turn,
} from "@turnstream/protocol";
import { outlivesTurn, findSubAgentRun } from "@turnstream/protocol/writer";

export type FormOutcome = Pick<FormBlock, "schema" | "status" | "values" | "reason">;

/** Returns the forms that a call requested, directly or through its sub-agent. */
export function findForms(turn: Turn, call: string): FormBlock[] {
  const sub = findSubAgentRun(turn, call)?.id;
  return listBlocks(turn).filter(
    (block: Block): block is FormBlock =>
      block.kind === "form" &&
      outlivesTurn(block) &&
      (block.call === call || (sub !== undefined && isBelow(turn, block.run, sub))),
  );
}

function isBelow(turn: Turn, run: string, above: string): boolean {
  for (let id: string | null = run; id !== null; id = findRun(turn, id)?.parent ?? null)
    if (id === above) return true;
  return false;
}

export function formResultText({ schema, status, values, reason }: FormOutcome): Json {
  const { title } = schema;
  switch (status) {
    case "submitted":
      return { form: title, status, values: formatFormValues(schema.fields, values ?? {}) };
    case "declined":
      return {
        form: title,
        status: "the user declined to fill it in",
        ...(reason === null ? {} : { reason }),
      };
    case "expired":
      return { form: title, status: "it was not filled in in time" };
    case "cancelled":
      return { form: title, status: "it was withdrawn" };
    case "pending":
      return { form: title, status: "the user has not filled it in" };
  }
}

/** Returns the filled-in values with labels, without empty fields. */
export function formatFormValues(
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
