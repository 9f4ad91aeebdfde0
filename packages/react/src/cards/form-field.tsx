/**
 * `Field` shows one form field: its label, the input for its type, its hint and its problem. `formatProblem` is the text
 * of a problem.
 * Invariant: `INPUTS` has an input for every field type of the protocol; an unknown type of a newer server gets a text
 * input. Ids link the input to its label, hint and problem, for screen readers.
 */
import type { FormField, FormProblem } from "@turnstream/protocol";
import type { ComponentType, ReactNode } from "react";
import { formatNumber, MAX_DIGITS } from "../format.ts";
import type { CardStrings } from "../strings/cards.ts";
import { visibleText } from "../visible-text.ts";
import { FileInput } from "./file-input.tsx";
import {
  CheckboxInput,
  ChoicesInput,
  DateInput,
  type InputProps,
  LongTextInput,
  NumberInput,
  SelectInput,
  textInput,
} from "./form-inputs.tsx";
import type { FormRequest } from "./use-form-request.ts";
import { useCardStrings } from "../hooks/use-card-strings.ts";

/** The input component of each field type. */
const INPUTS: Readonly<Record<FormField["type"], ComponentType<InputProps>>> = {
  text: textInput("text"),
  shortText: textInput("text"),
  longText: LongTextInput,
  number: NumberInput,
  email: textInput("email"),
  phone: textInput("tel"),
  date: DateInput,
  select: SelectInput,
  multiSelect: ChoicesInput,
  checkbox: CheckboxInput,
  file: FileInput,
};

interface FieldProps {
  readonly id: string;
  readonly field: FormField;
  readonly view: FormRequest;
}

export function Field({ id, field, view }: FieldProps): ReactNode {
  const strings = useCardStrings();
  const cardStrings = strings.cards;
  // A newer server can send field types that this version doesn't know.
  const Input = Object.hasOwn(INPUTS, field.type) ? INPUTS[field.type] : INPUTS.text;
  const problem = view.getProblem(field);
  const isGroup = field.type === "multiSelect";
  const label = (
    <>
      <bdi>{visibleText(field.label)}</bdi>
      {field.required && <span className="ts-required"> {cardStrings.required}</span>}
    </>
  );
  return (
    <div className="ts-field" data-type={field.type}>
      {isGroup ? (
        <span id={`${id}l`} className="ts-label">
          {label}
        </span>
      ) : (
        <label id={`${id}l`} htmlFor={id}>
          {label}
        </label>
      )}
      {field.help !== undefined && (
        <span className="ts-help" id={`${id}h`}>
          {visibleText(field.help)}
        </span>
      )}
      <Input
        field={field}
        value={view.getValue(field)}
        onValue={(value) => view.setValue(field, value)}
        onLeave={() => view.leaveField(field)}
        isDisabled={view.isSending}
        id={id}
        isInvalid={problem !== null}
        describedBy={field.help === undefined ? `${id}p` : `${id}h ${id}p`}
      />
      <p className="ts-field-problem" id={`${id}p`}>
        {problem === null ? "" : formatProblem(problem, field, strings)}
      </p>
    </div>
  );
}

export function formatProblem(
  problem: Pick<FormProblem, "problem">,
  { min = 0, max = 0 }: Pick<FormField, "min" | "max">,
  strings: CardStrings,
): string {
  const bounds = {
    min: formatNumber(strings, min, MAX_DIGITS),
    max: formatNumber(strings, max, MAX_DIGITS),
  };
  return strings.fieldProblem(problem, bounds);
}
