/**
 * `fieldProblem` checks one value against its form field. Pure.
 * Invariant: client and server get the same result, so it depends on no locale or time zone. Lengths are in UTF-16 code
 * units, like `maxlength` in browsers. A draft may be incomplete, but no value may have the wrong type or exceed a
 * maximum.
 */
import type { Json } from "../json.ts";
import type { FormField } from "../state.ts";
import type { FormProblem } from "./problems.ts";

type Problem = FormProblem["problem"] | null;

const MAX_EMAIL = 254;
const MAX_PHONE = 40;
const EMAIL = /^[^\s@]{1,64}@[^\s@.]+([.][^\s@.]+)+$/;
const PHONE = /^[+]?[\d\s().\-/]+$/;
const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const FILE_FIELDS: readonly string[] = ["upload", "name", "media_type", "size"];

/** @param isWhole false for a draft, in which texts may be too short and choices too few */
export function fieldProblem(field: FormField, value: Json, isWhole: boolean): Problem {
  switch (field.type) {
    case "text":
    case "shortText":
    case "longText":
      return typeof value === "string" ? lengthProblem(field, value, isWhole) : "wrong_type";
    case "email":
      return textProblem(field, value, isWhole, isEmail, "not_an_email");
    case "phone":
      return textProblem(field, value, isWhole, isPhone, "not_a_phone");
    case "date":
      return typeof value !== "string" ? "wrong_type" : !isWhole || isDate(value) ? null : "not_a_date";
    case "number":
      return typeof value === "number" && Number.isFinite(value) ? numberProblem(field, value) : "wrong_type";
    case "select":
      if (typeof value !== "string") return "wrong_type";
      return isOption(field, value) ? null : "not_an_option";
    case "multiSelect":
      return choicesProblem(field, value, isWhole);
    case "checkbox":
      if (typeof value !== "boolean") return "wrong_type";
      return isWhole && field.required && !value ? "required" : null;
    case "file":
      return isFile(value) ? null : "wrong_type";
  }
}

/** In a draft, an incomplete address is valid. */
function textProblem(
  field: FormField,
  value: Json,
  isWhole: boolean,
  fits: (text: string) => boolean,
  problem: Problem,
): Problem {
  if (typeof value !== "string") return "wrong_type";
  return isWhole && !fits(value) ? problem : lengthProblem(field, value, isWhole);
}

function lengthProblem({ min, max }: FormField, value: string, isWhole: boolean): Problem {
  const { length } = value;
  if (max !== undefined && length > max) return "too_long";
  return isWhole && min !== undefined && length < min ? "too_short" : null;
}

function numberProblem({ min, max }: FormField, value: number): Problem {
  if (min !== undefined && value < min) return "too_small";
  return max !== undefined && value > max ? "too_large" : null;
}

function choicesProblem(field: FormField, value: Json, isWhole: boolean): Problem {
  if (!Array.isArray(value) || !value.every((one) => typeof one === "string")) return "wrong_type";
  const { min, max } = field;
  if (new Set(value).size < value.length) return "chosen_twice";
  if (!value.every((one) => isOption(field, one))) return "not_an_option";
  if (max !== undefined && value.length > max) return "too_many";
  return isWhole && min !== undefined && value.length < min ? "too_few" : null;
}

function isOption({ options = [] }: FormField, value: string): boolean {
  return options.some((option) => option.value === value);
}

function isEmail(text: string): boolean {
  return text.length <= MAX_EMAIL && EMAIL.test(text);
}

/** Accepts common notations with at least 4 digits and at most 15, the maximum of E.164. */
function isPhone(text: string): boolean {
  // The length first: a client can send megabytes, and replacing each character would take long.
  if (text.length > MAX_PHONE || !PHONE.test(text)) return false;
  const digits = text.replaceAll(/\D/g, "").length;
  return digits >= 4 && digits <= 15;
}

function isDate(text: string): boolean {
  const [, year, month, day] = (DATE.exec(text) ?? []).map(Number);
  if (year === undefined || month === undefined || day === undefined || month < 1 || month > 12) return false;
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = month === 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;
  return day >= 1 && day <= days;
}

/** Checks the reference to an upload. The server looks up its content. */
function isFile(value: Json): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const file = value as Readonly<Record<string, Json>>;
  const { upload, name, media_type = "", size = 0 } = file;
  return (
    Object.keys(file).every((key) => FILE_FIELDS.includes(key)) &&
    isText(upload, 256) &&
    isText(name, 500) &&
    typeof media_type === "string" &&
    media_type.length <= 200 &&
    typeof size === "number" &&
    Number.isSafeInteger(size) &&
    size >= 0
  );
}

function isText(value: Json | undefined, most: number): boolean {
  return typeof value === "string" && value !== "" && value.length <= most;
}
