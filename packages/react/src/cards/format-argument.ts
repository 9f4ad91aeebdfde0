/**
 * `formatArgument` formats the value of an argument as the schema of its tool states: a number with its unit, a date, an
 * option, yes or no. `nameArgument` and `nameOption` name an argument and one of its options. `formatValue` formats a
 * value of a submitted form. Pure.
 * Invariant: no digit is rounded. A value of another type than the schema states is not formatted. Names of the app come
 * before those of the schema, because the schema has only one language.
 */
import { type ArgumentField, type FormField, type Json, toolLabel } from "@turnstream/protocol";
import { MAX_DIGITS, formatDay, formatNumber } from "../format.ts";
import type { Names } from "../components.ts";
import { findName } from "../hooks/use-names.ts";
import type { CardStrings } from "../strings/cards.ts";

type Choice = NonNullable<ArgumentField["options"]>[number];

/** Returns null for a value that is shown only as it is. */
export function formatArgument(
  value: Json,
  field: ArgumentField | undefined,
  names: Names,
  strings: CardStrings,
): string | null {
  switch (field?.type) {
    case "number":
      return typeof value === "number" ? formatQuantity(value, field.unit, strings) : null;
    case "boolean":
      return typeof value === "boolean" ? (value ? strings.cards.yes : strings.cards.no) : null;
    case "date":
      return typeof value === "string" ? formatDay(strings, value) : null;
    case "select": {
      const option = field.options?.find((one) => one.value === value);
      return option === undefined ? null : nameOption(field.name, option, names);
    }
    default:
      return null;
  }
}

/** A number without a unit can be a year or an id, so its thousands are grouped only from five digits on. */
function formatQuantity(value: number, unit: string | undefined, { locale }: CardStrings): string {
  const format = new Intl.NumberFormat(locale, {
    maximumFractionDigits: MAX_DIGITS,
    useGrouping: unit === undefined ? "min2" : "always",
  });
  return unit === undefined ? format.format(value) : `${format.format(value)} ${unit}`;
}

export function nameArgument(argument: string, label: string | undefined, names: Names): string {
  return findName(names, argument) ?? label ?? (toolLabel({ label: "", name: argument }) || argument);
}

export function nameOption(argument: string, { value, label }: Choice, names: Names): string {
  return findName(names, `${argument}.${value}`) ?? label;
}

export function formatValue(field: FormField, value: Json, strings: CardStrings): string {
  const labelOf = (chosen: Json): string =>
    field.options?.find((option) => option.value === chosen)?.label ??
    (typeof chosen === "string" ? chosen : JSON.stringify(chosen));
  if (value === null || value === "") return "";
  if (typeof value === "boolean") return value ? strings.cards.yes : strings.cards.no;
  if (Array.isArray(value)) return (value as readonly Json[]).map(labelOf).join(", ");
  if (typeof value === "object") {
    const { name } = value as Readonly<Record<string, Json>>;
    return typeof name === "string" ? name : JSON.stringify(value);
  }
  if (field.type === "number" && typeof value === "number") return formatNumber(strings, value, MAX_DIGITS);
  if (field.type === "date" && typeof value === "string") return formatDay(strings, value);
  return field.type === "select" ? labelOf(value) : String(value);
}
