/** `formatValue` formats a value of a submitted form as text. Pure. */
import type { FormField, Json } from "@turnstream/protocol";
import { formatDay, formatNumber, MAX_DIGITS } from "../format.ts";
import type { CardStrings } from "../strings/cards.ts";

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
