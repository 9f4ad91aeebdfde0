/**
 * `createValidator` validates JSON against a server's JSON Schema. `toInputSchema` and `safeValidator` wrap it for
 * tools and for the MCP client. Pure.
 * Invariant: a schema is untrusted. It is interpreted and never compiled to code. Regular expressions are removed,
 * because a malicious one could block the worker; the server checks them itself. Recursive references could block it
 * too, so each validation has a time limit. Tools whose input schema `isTooDeep` must be left out, because validation
 * recurses.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { JsonSchemaValidator, jsonSchemaValidator } from "@modelcontextprotocol/client";
import { CfWorkerJsonSchemaValidator } from "@modelcontextprotocol/client/validators/cf-worker";
import type { Json } from "@turnstream/protocol";
import { truncateText } from "@turnstream/protocol/writer";
import { withoutPatterns, runWithTimeLimit } from "@turnstream/server/internal";

const MAX_DEPTH = 60;
/** A validation must not block the process for more than 50 ms. It may use twice this. */
const VALIDATION_MS = 20;
/** Limit for the message. The server's schema determines how many errors there can be. */
const MAX_MESSAGE_CHARS = 2_000;

type Problem = string | null;
type Check = (value: unknown) => Problem;

/** @throws if the schema is unusable */
export function createValidator(schema: Json): Check {
  const plain = withoutPatterns(schema) as Record<string, unknown>;
  const validate = validatorFor(plain);
  return (value) => {
    try {
      const result = runWithTimeLimit(VALIDATION_MS, () => validate(bare(value)));
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
