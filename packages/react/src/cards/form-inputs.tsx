/**
 * `textInput`, `NumberInput`, `SelectInput`, `ChoicesInput` and the others are the inputs of form fields, one per kind
 * of value.
 * Invariant: they report what the user entered and don't validate it. A number is reported as text, which `toValues`
 * parses. Each input reports when the user leaves it and is linked to its problem.
 */
import { checkDate } from "@turnstream/client/view";
import type { FormField, Json } from "@turnstream/protocol";
import type { ComponentType, ReactNode } from "react";
import { visibleText } from "../visible-text.ts";
import { useCardStrings } from "../hooks/use-card-strings.ts";

export interface InputProps {
  readonly field: FormField;
  readonly value: Json;
  readonly onValue: (value: Json) => void;
  readonly onLeave: () => void;
  readonly isDisabled: boolean;
  /** Ids that link the input to its label, hint and problem. */
  readonly id: string;
  readonly isInvalid: boolean;
  readonly describedBy: string;
}

const AUTOCOMPLETE = { text: "off", email: "email", tel: "tel" } as const;

function inputProps({ id, field, isInvalid, isDisabled, describedBy, onLeave }: InputProps) {
  return {
    id,
    disabled: isDisabled,
    onBlur: onLeave,
    "aria-invalid": isInvalid,
    "aria-required": field.required,
    "aria-describedby": describedBy,
  };
}

function toText(value: Json): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

export function textInput(type: keyof typeof AUTOCOMPLETE): ComponentType<InputProps> {
  return function TextInput(props: InputProps): ReactNode {
    return (
      <input
        {...inputProps(props)}
        type={type}
        className="ts-input"
        autoComplete={AUTOCOMPLETE[type]}
        value={toText(props.value)}
        onChange={(event) => props.onValue(event.target.value)}
      />
    );
  };
}

export function LongTextInput(props: InputProps): ReactNode {
  return (
    <textarea
      {...inputProps(props)}
      className="ts-input"
      rows={4}
      value={toText(props.value)}
      onChange={(event) => props.onValue(event.target.value)}
    />
  );
}

/** A text input, because a browser's number input hides invalid text, so that the problem can't be explained. */
export function NumberInput(props: InputProps): ReactNode {
  return (
    <input
      {...inputProps(props)}
      type="text"
      inputMode="decimal"
      className="ts-input ts-number"
      autoComplete="off"
      value={toText(props.value)}
      onChange={(event) => props.onValue(event.target.value)}
    />
  );
}

/** Stands for a date that has no value, because a part is missing or the day doesn't exist. */
const NO_DATE = "?";

/** The browser's own input, with the order and the names of the browser's language. Its value is `YYYY-MM-DD`. */
export function DateInput(props: InputProps): ReactNode {
  const { value, onValue, onLeave } = props;
  return (
    <input
      {...inputProps(props)}
      type="date"
      className="ts-input ts-date"
      value={checkDate(toText(value)) === null ? toText(value) : ""}
      onChange={({ target }) => onValue(target.value)}
      // Without these two, half a date would be left out without a word. Enter submits without leaving the field.
      onKeyDown={({ key, currentTarget }) => {
        if (key === "Enter" && currentTarget.validity.badInput) onValue(NO_DATE);
      }}
      onBlur={({ target }) => {
        if (target.validity.badInput) onValue(NO_DATE);
        else if (value === NO_DATE) onValue("");
        onLeave();
      }}
    />
  );
}

export function SelectInput(props: InputProps): ReactNode {
  const cardStrings = useCardStrings().cards;
  return (
    <select
      {...inputProps(props)}
      className="ts-input"
      value={toText(props.value)}
      onChange={(event) => props.onValue(event.target.value)}
    >
      <option value="">{cardStrings.choose}</option>
      {(props.field.options ?? []).map(({ value, label }) => (
        <option key={value} value={value}>
          {visibleText(label)}
        </option>
      ))}
    </select>
  );
}

export function ChoicesInput(props: InputProps): ReactNode {
  const { id, field, value, isDisabled, isInvalid, describedBy } = props;
  const chosen = Array.isArray(value) ? (value as readonly Json[]) : [];
  return (
    <div
      role="group"
      aria-labelledby={`${id}l`}
      aria-describedby={describedBy}
      className="ts-choices"
      onBlur={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget)) props.onLeave();
      }}
    >
      {(field.options ?? []).map((option) => (
        <label key={option.value} className="ts-option">
          <input
            type="checkbox"
            disabled={isDisabled}
            aria-invalid={isInvalid}
            checked={chosen.includes(option.value)}
            onChange={(event) =>
              props.onValue(
                event.target.checked
                  ? [...chosen, option.value]
                  : chosen.filter((chosenValue) => chosenValue !== option.value),
              )
            }
          />
          <bdi>{visibleText(option.label)}</bdi>
        </label>
      ))}
    </div>
  );
}

export function CheckboxInput(props: InputProps): ReactNode {
  return (
    <input
      {...inputProps(props)}
      type="checkbox"
      checked={props.value === true}
      onChange={(event) => props.onValue(event.target.checked)}
    />
  );
}
