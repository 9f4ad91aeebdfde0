/**
 * `toJsonSchema` describes a tool's input for the model, `toStandardSchema` accepts the AI SDK's own schemas, `parseArguments` parses the arguments of a call, and
 * `parseInput` validates them. They accept any Standard Schema that can be converted to JSON Schema, such as zod.
 * Invariant: a schema that can't be described fails when the tool is defined, not during a turn. Arguments that
 * parsers read differently or that are unsafe are refused: duplicate keys, prototype keys and deep nesting. A
 * `problem` is a bounded message for the model.
 */
import { asSchema, type FlexibleSchema, secureJsonParse } from "@ai-sdk/provider-utils";
import type { StandardSchemaV1 } from "@standard-schema/spec";

import type { JsonSchema } from "./model.ts";

/** A schema that the AI SDK accepts: a Standard Schema, or the result of `jsonSchema()`. */
export type AiSdkSchema<Input> = FlexibleSchema<Input>;

export class ToolSchemaError extends Error {
  readonly code = "UNDESCRIBABLE";

  constructor(tool: string, detail: string, cause?: unknown) {
    super(
      `UNDESCRIBABLE: the tool ${tool}: ${detail}. Use an object schema that JSON Schema can express, for example z.object({ … }).`,
      cause === undefined ? {} : { cause },
    );
    this.name = "ToolSchemaError";
  }
}

export type ParseResult<T> =
  | { readonly ok: true; readonly value: T }
  /** `problem` is a message for the model, so that it can correct the call. */
  | { readonly ok: false; readonly problem: string };

const MAX_PROBLEM = 2000;
const MAX_ISSUES = 20;
const MAX_DEPTH = 100;

/** Called when a tool is defined, so that a schema without a description fails at startup and not during a turn. */
export function toJsonSchema(schema: StandardSchemaV1, tool: string): JsonSchema {
  if (typeof schema?.["~standard"]?.validate !== "function")
    throw new ToolSchemaError(tool, "its input is not a Standard Schema");
  const description = describe(schema, tool);
  if (typeof description !== "object" || description === null || "then" in description)
    throw new ToolSchemaError(tool, "its JSON Schema is available only asynchronously");
  const { $schema: _, ...rest } = description;
  if (rest.type !== "object") throw new ToolSchemaError(tool, "its schema does not describe an object");
  return rest;
}

/**
 * Converts a schema of the AI SDK. Like there, a `jsonSchema()` without its own `validate` accepts every value.
 * The result is still the AI SDK's schema too, so that its JSON Schema reaches the model unchanged.
 */
export function toStandardSchema(schema: AiSdkSchema<unknown>): StandardSchemaV1 {
  if ("~standard" in schema) return schema as StandardSchemaV1;
  const known = asSchema(schema);
  const validate = async (value: unknown): Promise<StandardSchemaV1.Result<unknown>> => {
    const result = (await known.validate?.(value)) ?? { success: true, value };
    return result.success ? { value: result.value } : { issues: [{ message: result.error.message }] };
  };
  const standard = { version: 1, vendor: "ai-sdk", validate };
  return Object.create(known, { "~standard": { value: standard } }) as StandardSchemaV1;
}

function describe(schema: StandardSchemaV1, tool: string): ReturnType<typeof asSchema>["jsonSchema"] {
  try {
    return asSchema(schema).jsonSchema;
  } catch (error) {
    const why = error instanceof Error ? `: ${error.message.replace(/[.\s]+$/, "")}` : "";
    throw new ToolSchemaError(tool, `its schema can't be described as JSON Schema${why}`, error);
  }
}

/** Errors thrown by the schema's own code are passed on, because the model can't correct them. */
export async function parseInput<S extends StandardSchemaV1>(
  schema: S,
  value: unknown,
): Promise<ParseResult<StandardSchemaV1.InferOutput<S>>> {
  const result = await schema["~standard"].validate(value);
  if (result.issues === undefined)
    return { ok: true, value: result.value as StandardSchemaV1.InferOutput<S> };
  return { ok: false, problem: bounded(formatIssues(result.issues)) };
}

function formatIssues(issues: readonly StandardSchemaV1.Issue[]): string {
  const lines = issues.slice(0, MAX_ISSUES).map(({ path, message }) => {
    const place = (path ?? []).map((part) => String(typeof part === "object" ? part.key : part)).join(".");
    return place === "" ? message : `${place}: ${message}`;
  });
  if (issues.length > MAX_ISSUES) lines.push(`and ${issues.length - MAX_ISSUES} more`);
  return lines.join("\n");
}

/** Parses the arguments that the model wrote. Empty text is an empty object. */
export function parseArguments(text: string): ParseResult<unknown> {
  if (text.trim() === "") return { ok: true, value: {} };
  const { members, depth } = shapeOf(text);
  if (depth > MAX_DEPTH) return refuse(`The arguments are nested more than ${MAX_DEPTH} levels deep.`);
  let value: unknown;
  try {
    value = secureJsonParse(text);
  } catch (error) {
    return refuse(
      `The arguments are not valid JSON: ${error instanceof Error ? error.message : "unreadable"}`,
    );
  }
  // If a key is duplicated, the last value wins, so the parsed value has fewer members than the text.
  if (countMembers(value) !== members) return refuse("The arguments give a key twice.");
  return { ok: true, value };
}

function refuse(problem: string): ParseResult<never> {
  return { ok: false, problem: bounded(problem) };
}

/** Counts members and depth without parsing: outside of strings, valid JSON has one colon per object member. */
function shapeOf(text: string): { members: number; depth: number } {
  let members = 0;
  let level = 0;
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === 0x22) isInString = !isInString;
    else if (isInString) at += char === 0x5c ? 1 : 0;
    else if (char === 0x3a) members++;
    else if (char === 0x7b || char === 0x5b) depth = Math.max(depth, ++level);
    else if (char === 0x7d || char === 0x5d) level--;
  }
  return { members, depth };
}

function countMembers(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + countMembers(item), 0);
  const items: unknown[] = Object.values(value);
  return items.reduce<number>((sum, item) => sum + countMembers(item), items.length);
}

function bounded(text: string): string {
  if (text.length <= MAX_PROBLEM) return text;
  // Half of a surrogate pair at the cut could not be stored.
  return `${text.slice(0, MAX_PROBLEM - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}
