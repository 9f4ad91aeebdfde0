/**
 * `describeArguments` returns how a client shows the arguments of a call: labels, types, units and options from the
 * JSON Schema of the tool. Pure.
 *
 * Invariant: it describes only arguments that the user sees anyway, in at most `MAX_BYTES`. Descriptions, defaults,
 * patterns and other fields of the schema never leave the server. Options that were not chosen leave it only if the
 * user may choose among them. Texts of an MCP server are left out, because a card would show them as facts.
 */
import type { ArgumentField, Json } from "@turnstream/protocol";
import { ARGUMENT_LIMITS, MAX_LABEL, truncateText } from "@turnstream/protocol/writer";
import { asJsonObject, isJsonLongerThan, type JsonObject } from "../../util/json.ts";

const MAX_BYTES = 8_000;
const MAX_NAME = 256;

interface DescribeOptions {
  readonly isEditable: boolean;
  /** Whether the developer wrote the schema. A schema of an MCP server is not trusted. */
  readonly isTrusted: boolean;
}

type Choices = NonNullable<ArgumentField["options"]>;

/** Returns null if the schema states nothing about the arguments. */
export function describeArguments(
  schema: Json | undefined,
  input: Json,
  options: DescribeOptions,
): ArgumentField[] | null {
  const properties = asJsonObject(asJsonObject(schema)["properties"]);
  const fields = Object.entries(asJsonObject(input))
    .slice(0, ARGUMENT_LIMITS.fields)
    .flatMap(([name, value]) => {
      if (name === "" || name.length > MAX_NAME || !Object.hasOwn(properties, name)) return [];
      const field = describeField(asJsonObject(properties[name]), value, options);
      // A text without a label is shown as any other value.
      const isPlain = Object.keys(field).every((key) => key === "type") && (field.type ?? "text") === "text";
      return isPlain ? [] : [{ name, ...field }];
    });
  if (!isJsonLongerThan(fields, MAX_BYTES)) return fields.length === 0 ? null : fields;
  const short = fields.map(({ options: _, ...field }) =>
    field.type === "select" ? { ...field, type: "text" as const } : field,
  );
  return isJsonLongerThan(short, MAX_BYTES) ? null : short;
}

function describeField(
  given: JsonObject,
  value: Json,
  { isEditable, isTrusted }: DescribeOptions,
): Omit<ArgumentField, "name"> {
  const schema = { ...given, ...withoutNull(given) };
  const label = isTrusted ? text(schema["title"], MAX_LABEL) : "";
  const choices = readChoices(schema, isTrusted);
  const shown = isEditable ? choices : choices.filter((choice) => choice.value === value);
  const type = choices.length > 0 ? "select" : typeOf(schema);
  const unit = isTrusted && type === "number" ? text(schema["unit"], ARGUMENT_LIMITS.unitChars) : "";
  return {
    ...(label === "" ? {} : { label }),
    ...(type === null ? {} : { type }),
    ...(unit === "" ? {} : { unit }),
    ...(shown.length === 0 ? {} : { options: shown }),
  };
}

/** A schema with a value or null is shown as the schema of its value. */
function withoutNull({ anyOf }: JsonObject): JsonObject {
  const others = asList(anyOf).filter((one) => asJsonObject(one)["type"] !== "null");
  return others.length === 1 ? asJsonObject(others[0]) : {};
}

/** Reads an `enum` of texts, or a choice between constants, which can have titles. */
function readChoices(schema: JsonObject, isTrusted: boolean): Choices {
  const constants = [schema["oneOf"], schema["anyOf"]].map(asList).find((list) => list.length > 0) ?? [];
  const given =
    constants.length > 0
      ? constants.map(asJsonObject)
      : asList(schema["enum"]).map((value): JsonObject => ({ const: value }));
  const choices = given.flatMap(({ const: value, title }) =>
    typeof value === "string"
      ? [{ value, label: (isTrusted && text(title, MAX_LABEL)) || truncateText(value, MAX_LABEL) }]
      : [],
  );
  return choices.length === given.length && choices.length <= ARGUMENT_LIMITS.options ? choices : [];
}

function typeOf({ type, format }: JsonObject): Exclude<ArgumentField["type"], undefined | "select"> | null {
  const [only, ...others] = Array.isArray(type) ? asList(type).filter((one) => one !== "null") : [type];
  if (others.length > 0) return null;
  if (only === "string") return format === "date" ? "date" : "text";
  if (only === "integer" || only === "number") return "number";
  return only === "boolean" ? "boolean" : null;
}

function text(value: Json | undefined, max: number): string {
  return typeof value === "string" ? truncateText(value, max) : "";
}

function asList(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}
