/**
 * `DateInput` is the input of a calendar day: day, month and year in the order of the page's language, and a button that
 * opens the calendar of the browser. The browser's own date input follows the language of the browser instead.
 * Invariant: it reports `YYYY-MM-DD`, "" if all parts are empty, and any other text while a part is missing, so that the
 * check of the form finds the problem.
 */
import { checkDate } from "@turnstream/client/view";
import { type ReactNode, useRef, useState } from "react";
import { useThreadContext } from "../context.ts";
import { IconShape } from "../ui/icons.tsx";
import type { InputProps } from "./form-inputs.tsx";

const CALENDAR = "M3 4.5h10v9H3zM3 7.5h10M5.5 4.5V2.5M10.5 4.5V2.5";
const PARTS = ["year", "month", "day"] as const;
type DatePart = (typeof PARTS)[number];
type TypedDate = Readonly<Record<DatePart, string>>;

export function DateInput(props: InputProps): ReactNode {
  const { id, field, value, onValue, onLeave, isDisabled, isInvalid, describedBy } = props;
  const { locale, cards } = useThreadContext().strings;
  const group = useRef<HTMLDivElement>(null);
  const calendar = useRef<HTMLInputElement>(null);
  const given = typeof value === "string" ? value : "";
  const [typed, setTyped] = useState(() => splitDate(given));
  // A draft and the calendar set another value than the typed one.
  const shown = joinDate(typed) === given ? typed : splitDate(given);
  const layout = formatLayout(locale);
  const first = layout.find(({ part }) => part !== null)?.part;
  const type = (part: DatePart, input: HTMLInputElement): void => {
    const next = { ...shown, [part]: input.value.replaceAll(/\D/g, "") };
    setTyped(next);
    onValue(joinDate(next));
    if (next[part].length === input.maxLength) findNext(group.current, input)?.focus();
  };
  return (
    <div
      ref={group}
      className="ts-input ts-date"
      role="group"
      aria-labelledby={`${id}l`}
      onBlur={({ currentTarget, relatedTarget }) => {
        if (!currentTarget.contains(relatedTarget)) onLeave();
      }}
    >
      {layout.map(({ part, text }, n) =>
        part === null ? (
          <span key={n} aria-hidden="true">
            {text}
          </span>
        ) : (
          <input
            key={n}
            {...(part === first ? { id } : {})}
            className="ts-date-part"
            data-unit={part}
            inputMode="numeric"
            autoComplete="off"
            maxLength={part === "year" ? 4 : 2}
            placeholder={text}
            aria-label={text}
            aria-required={field.required}
            aria-invalid={isInvalid}
            aria-describedby={describedBy}
            disabled={isDisabled}
            value={shown[part]}
            onChange={({ target }) => type(part, target)}
          />
        ),
      )}
      <button
        type="button"
        id={`${id}c`}
        className="ts-quiet-button"
        data-action="calendar"
        aria-label={cards.choose}
        aria-labelledby={`${id}l ${id}c`}
        disabled={isDisabled}
        onClick={() => calendar.current?.showPicker()}
      >
        <IconShape name="calendar" path={CALENDAR} />
      </button>
      {/* Only its calendar is used. */}
      <input
        ref={calendar}
        type="date"
        className="ts-date-calendar"
        tabIndex={-1}
        aria-hidden="true"
        disabled={isDisabled}
        value={checkDate(given) === null ? given : ""}
        onChange={({ target }) => onValue(target.value)}
      />
    </div>
  );
}

/** Returns the next part, if it is still empty. */
function findNext(group: HTMLElement | null, input: HTMLInputElement): HTMLInputElement | null {
  const parts = [...(group?.querySelectorAll<HTMLInputElement>(".ts-date-part") ?? [])];
  const next = parts[parts.indexOf(input) + 1];
  return next?.value === "" ? next : null;
}

interface LayoutPart {
  /** Null for the text between two parts. */
  readonly part: DatePart | null;
  readonly text: string;
}

/** Returns the parts of a date in the order of a language, with their names, and what stands between them. */
function formatLayout(locale: string): readonly LayoutPart[] {
  const names = new Intl.DisplayNames(locale, { type: "dateTimeField" });
  const format = new Intl.DateTimeFormat(locale, {
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    calendar: "gregory",
  });
  return format.formatToParts(0).map(({ type, value }) => {
    const part = PARTS.find((one) => one === type);
    return part === undefined ? { part: null, text: value } : { part, text: names.of(part) ?? part };
  });
}

function splitDate(text: string): TypedDate {
  const [year = "", month = "", day = ""] = text.split("-");
  return { year, month, day };
}

function joinDate({ year, month, day }: TypedDate): string {
  return year + month + day === "" ? "" : `${year}-${twoDigits(month)}-${twoDigits(day)}`;
}

function twoDigits(part: string): string {
  return part === "" ? "" : part.padStart(2, "0");
}
