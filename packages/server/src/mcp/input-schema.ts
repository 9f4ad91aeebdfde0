/**
 * `createValidator` validates JSON against a server's JSON Schema. `toInputSchema` and `safeValidator` wrap it for
 * tools and for the MCP client. Pure.
 * Invariant: a schema is untrusted. It is interpreted and never compiled to code. Regular expressions are removed,
 * because a malicious one could block the worker; the server checks them itself. Recursive references could block it
 * too, so each validation has a limit of 500 ms. Tools whose input schema `isTooDeep` must be left out, because
 * validation recurses.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { JsonSchemaValidator, jsonSchemaValidator } from "@modelcontextprotocol/client";
import { CfWorkerJsonSchemaValidator } from "@modelcontextprotocol/client/validators/cf-worker";
import type { Json } from "@turnstream/protocol";
import { truncateText } from "@turnstream/protocol/writer";
import { runWithTimeLimit } from "../util/time-limit.ts";

const MAX_DEPTH = 60;
const TIME_LIMIT_MS = 500;
/** Limit for the message. The server's schema determines how many errors there can be. */
const MAX_MESSAGE_CHARS = 2_000;
const NAMED: ReadonlySet<string> = new Set(["properties", "$defs", "definitions", "dependentSchemas"]);
const DATA: ReadonlySet<string> = new Set(["enum", "const", "default", "examples"]);

type Problem = string | null;
type Check = (value: unknown) => Problem;

/** @throws if the schema is unusable */
export function createValidator(schema: Json): Check {
  const plain = withoutPatterns(schema, false) as Record<string, unknown>;
  const validate = validatorFor(plain);
  return (value) => {
    try {
      const result = runWithTimeLimit(TIME_LIMIT_MS, () => validate(bare(value)));
      return result.valid
        ? null
        : truncateText(result.errorMessage ?? "does not match its schema", MAX_MESSAGE_CHARS);
    } catch {
      return "can't be checked against its schema, which is invalid or takes too long";
    }
  };
}

/**
 * Copies the value to objects without a prototype. The validator looks up properties by name, and one can be named
 * `constructor`.
 */
function bare(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(bare);
  if (typeof value !== "object" || value === null) return value;
  const copy = Object.create(null) as Record<string, unknown>;
  for (const [key, inner] of Object.entries(value)) copy[key] = bare(inner);
  return copy;
}

function validatorFor(schema: Record<string, unknown>) {
  try {
    return new CfWorkerJsonSchemaValidator({ shortcircuit: false }).getValidator(schema);
  } catch {
    // Unknown `$schema`: fall back to 2020-12. The drafts differ little in the keywords that tools use.
    return new CfWorkerJsonSchemaValidator({ shortcircuit: false, draft: "2020-12" }).getValidator(schema);
  }
}

/**
 * Wraps the schema as a Standard Schema. The validator is created on first use, because most tools are never called.
 */
export function toInputSchema(schema: Json): StandardSchemaV1 {
  let check: Check | null = null;
  return {
    "~standard": {
      version: 1,
      vendor: "turnstream-mcp",
      validate(value) {
        check ??= createValidator(schema);
        const problem = check(value);
        return problem === null ? { value } : { issues: [{ message: problem }] };
      },
    },
  };
}

/** The same validator for the MCP client, which validates structured output of servers. */
export const safeValidator: jsonSchemaValidator = {
  getValidator<T>(schema: unknown): JsonSchemaValidator<T> {
    const check = createValidator(schema as Json);
    return (value) => {
      const problem = check(value);
      return problem === null
        ? { valid: true, data: value as T, errorMessage: undefined }
        : { valid: false, data: undefined, errorMessage: problem };
    };
  },
};

/** Returns true if a schema is nested deeper than the limit. Does not recurse deeper than that. */
export function isTooDeep(value: Json, depth = 0): boolean {
  if (typeof value !== "object" || value === null) return false;
  return depth > MAX_DEPTH || Object.values(value).some((inner) => isTooDeep(inner, depth + 1));
}

/** @param isNamed true if the keys are property names and not keywords */
function withoutPatterns(value: Json, isNamed: boolean): Json {
  if (Array.isArray(value)) return value.map((item) => withoutPatterns(item as Json, false));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value as Readonly<Record<string, Json>>);
  // Without its patterns, a schema would refuse the properties that only a pattern allows.
  const isOpen = !isNamed && Object.hasOwn(value, "patternProperties");
  return Object.fromEntries(
    entries.flatMap(([key, inner]) => {
      if (isNamed) return [[key, withoutPatterns(inner, false)]];
      if (key === "pattern" || key === "patternProperties") return [];
      if (isOpen && (key === "additionalProperties" || key === "unevaluatedProperties")) return [];
      return [[key, DATA.has(key) ? inner : withoutPatterns(inner, NAMED.has(key))]];
    }),
  );
}
