/**
 * `ApprovalEdit` edits the arguments of a call: plain values field by field, each with the input for its type, and
 * everything else as JSON.
 * Invariant: an edit is sent only if every field is valid, and arguments stay an object. It edits the first action
 * only, because `canEdit` requires exactly one.
 */
import {
  type EditField,
  type EditProblem,
  findEditProblem,
  parseArguments,
  toArguments,
} from "@turnstream/client/view";
import { type ComponentType, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { useThreadContext } from "../context.ts";
import { visibleText } from "../visible-text.ts";
import { formatProblem } from "./form-field.tsx";
import {
  CheckboxInput,
  DateInput,
  type InputProps,
  LongTextInput,
  NumberInput,
  SelectInput,
  textInput,
} from "./form-inputs.tsx";
import { nameArgument, nameOption } from "./format-argument.ts";
import type { CardStrings } from "../strings/cards.ts";
import type { ApprovalRequest } from "./use-approval-request.ts";
import { useCardStrings } from "../hooks/use-card-strings.ts";
import { Button } from "../ui/button.tsx";

interface ApprovalEditProps {
  readonly approval: ApprovalRequest;
  readonly onCancel: () => void;
}

export function ApprovalEdit({ approval, onCancel }: ApprovalEditProps): ReactNode {
  const cardStrings = useCardStrings().cards;
  const { actions, editFields, isSending, edit } = approval;
  const input = actions[0]?.input ?? {};
  const [fields, setFields] = useState(editFields);
  const [json, setJson] = useState(() => JSON.stringify(input, null, 2));
  const form = useRef<HTMLFormElement>(null);
  const id = useId();
  useEffect(() => form.current?.querySelector<HTMLElement>("input, textarea, select")?.focus(), []);
  const isGood =
    fields === null
      ? parseArguments(json) !== null
      : fields.every((field) => findEditProblem(field) === null);
  return (
    <form
      ref={form}
      className="ts-edit"
      onSubmit={(event) => {
        event.preventDefault();
        if (isGood) edit(fields === null ? parseArguments(json) : toArguments(fields));
      }}
      onKeyDown={(event) => {
        // During composition, Escape only cancels the text of the input method.
        if (event.key === "Escape" && !event.nativeEvent.isComposing) onCancel();
      }}
    >
      {fields === null ? (
        <div className="ts-field" data-type="json">
          <label htmlFor={id}>{cardStrings.asJson}</label>
          <textarea
            id={id}
            className="ts-input"
            rows={Math.min(16, json.split("\n").length + 1)}
            value={json}
            aria-invalid={!isGood}
            aria-describedby={`${id}p`}
            spellCheck={false}
            onChange={(event) => setJson(event.target.value)}
          />
          <p className="ts-field-problem" id={`${id}p`}>
            {isGood ? "" : cardStrings.notJson}
          </p>
        </div>
      ) : (
        fields.map((field, n) => (
          <ArgumentField
            key={field.name}
            field={field}
            isDisabled={isSending}
            onText={(text) => setFields(fields.with(n, { ...field, text }))}
          />
        ))
      )}
      <div className="ts-row">
        <button type="submit" className="ts-button ts-primary" disabled={isSending || !isGood}>
          {isSending ? cardStrings.sending : cardStrings.approveEdited}
        </button>
        <Button disabled={isSending} onClick={onCancel}>
          {cardStrings.cancel}
        </Button>
      </div>
    </form>
  );
}

interface ArgumentFieldProps {
  readonly field: EditField;
  readonly isDisabled: boolean;
  readonly onText: (text: string) => void;
}

const INPUTS: Readonly<Record<EditField["type"], ComponentType<InputProps>>> = {
  text: textInput("text"),
  number: NumberInput,
  boolean: CheckboxInput,
  date: DateInput,
  select: SelectInput,
  json: LongTextInput,
};
/** From this length on, a text gets several lines. */
const LONG_CHARS = 80;

function ArgumentField({ field, isDisabled, onText }: ArgumentFieldProps): ReactNode {
  const { argumentNames } = useThreadContext();
  const strings = useCardStrings();
  const { name, type, text, about } = field;
  const id = useId();
  const problem = findEditProblem(field);
  // Another input while the user types would lose the focus.
  const [isLong] = useState(type === "text" && (text.includes("\n") || text.length > LONG_CHARS));
  const Input = isLong ? LongTextInput : INPUTS[type];
  const options = about?.options?.map((option) => ({
    value: option.value,
    label: nameOption(name, option, argumentNames),
  }));
  const label = nameArgument(name, about?.label, argumentNames);
  return (
    <div className="ts-field" data-type={isLong ? "long" : type === "boolean" ? "checkbox" : type}>
      <label id={`${id}l`} htmlFor={id}>
        <bdi>{visibleText(label)}</bdi>
        {type === "number" && about?.unit !== undefined && (
          <span className="ts-required"> {visibleText(about.unit)}</span>
        )}
      </label>
      <Input
        field={{ name, label, type: "text", required: false, ...(options === undefined ? {} : { options }) }}
        value={type === "boolean" ? text === "true" : text}
        onValue={(value) => onText(typeof value === "string" ? value : JSON.stringify(value))}
        onLeave={() => {}}
        isDisabled={isDisabled}
        id={id}
        isInvalid={problem !== null}
        describedBy={`${id}p`}
      />
      <p className="ts-field-problem" id={`${id}p`}>
        {problem === null ? "" : formatEditProblem(problem, strings)}
      </p>
    </div>
  );
}

function formatEditProblem(problem: EditProblem, strings: CardStrings): string {
  if (problem === "not_json") return strings.cards.notJson;
  return problem === "not_a_number" ? strings.cards.notNumber : formatProblem({ problem }, {}, strings);
}
