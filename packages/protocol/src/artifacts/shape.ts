/**
 * `Shape` is a small subset of JSON Schema as plain data, and `findProblem` checks a value against it. Clients and
 * servers use it without a schema library.
 * Invariant: the TypeScript types derive from the declaration, and the published JSON Schema is the declaration itself.
 * Pure.
 */
import type { Json } from "../json.ts";

export type Shape =
  | {
      readonly type: "string";
      readonly maxLength: number;
      readonly pattern?: string;
      readonly enum?: readonly string[];
    }
  | { readonly type: "number" | "boolean" | "null" }
  | { readonly type: "integer"; readonly minimum: number }
  | { readonly type: "array"; readonly items: Shape; readonly maxItems: number }
  | {
      readonly type: "object";
      readonly properties: Readonly<Record<string, Shape>>;
      readonly required: readonly string[];
      readonly additionalProperties: false;
    }
  | { readonly anyOf: readonly Shape[] };

/** The TypeScript type of the values that match a shape. */
export type TypeOfShape<S> = S extends { readonly enum: readonly (infer Word)[] }
  ? Word
  : S extends { readonly type: "string" }
    ? string
    : S extends { readonly type: "number" | "integer" }
      ? number
      : S extends { readonly type: "boolean" }
        ? boolean
        : S extends { readonly type: "null" }
          ? null
          : S extends { readonly type: "array"; readonly items: infer Item }
            ? readonly TypeOfShape<Item>[]
            : S extends { readonly anyOf: readonly (infer Choice)[] }
              ? TypeOfShape<Choice>
              : S extends { readonly properties: infer Fields; readonly required: readonly (infer Key)[] }
                ? { readonly [Name in keyof Fields & Key]: TypeOfShape<Fields[Name]> } & {
                    readonly [Name in Exclude<keyof Fields, Key>]?: TypeOfShape<Fields[Name]>;
                  }
                : never;

/** Describes one problem and the field that has it. */
export interface ArtifactProblem {
  /** The path of the field, for example `data.rows[3]`. */
  readonly field: string;
  readonly problem: string;
}

/** Returns the first problem of a value, or null if the value matches the shape. */
export function findProblem(value: Json, shape: Shape, field: string): ArtifactProblem | null {
  if ("anyOf" in shape) {
    const misfits = shape.anyOf.map((choice) => findProblem(value, choice, field));
    if (misfits.includes(null)) return null;
    // A problem inside the value is more specific than the fact that no choice matches.
    return misfits.find((problem) => problem?.field !== field) ?? { field, problem: "has the wrong type" };
  }
  switch (shape.type) {
    case "string":
      return findTextProblem(value, shape, field);
    case "array":
      return findListProblem(value, shape, field);
    case "object":
      return findObjectProblem(value, shape, field);
    case "integer":
      return Number.isSafeInteger(value) && (value as number) >= shape.minimum
        ? null
        : { field, problem: `must be an integer of at least ${shape.minimum}` };
    case "null":
      return value === null ? null : { field, problem: "must be null" };
    default:
      return typeof value === shape.type ? null : { field, problem: `must be a ${shape.type}` };
  }
}

type ShapeOf<T> = Extract<Shape, { readonly type: T }>;

function findTextProblem(value: Json, shape: ShapeOf<"string">, field: string): ArtifactProblem | null {
  if (typeof value !== "string") return { field, problem: "must be a string" };
  if (value.length > shape.maxLength)
    return { field, problem: `is longer than ${shape.maxLength} characters` };
  if (shape.enum !== undefined && !shape.enum.includes(value))
    return { field, problem: `must be one of ${shape.enum.join(", ")}` };
  if (shape.pattern !== undefined && !new RegExp(shape.pattern, "u").test(value))
    return { field, problem: `must match ${shape.pattern}` };
  return null;
}

function findListProblem(value: Json, shape: ShapeOf<"array">, field: string): ArtifactProblem | null {
  if (!Array.isArray(value)) return { field, problem: "must be an array" };
  if (value.length > shape.maxItems) return { field, problem: `has more than ${shape.maxItems} items` };
  for (const [n, item] of (value as readonly Json[]).entries()) {
    const problem = findProblem(item, shape.items, `${field}[${n}]`);
    if (problem !== null) return problem;
  }
  return null;
}

function findObjectProblem(value: Json, shape: ShapeOf<"object">, field: string): ArtifactProblem | null {
  if (!isPlain(value)) return { field, problem: "must be an object" };
  const missing = shape.required.find((key) => !Object.hasOwn(value, key));
  if (missing !== undefined) return { field: `${field}.${missing}`, problem: "is missing" };
  for (const [key, item] of Object.entries(value)) {
    const inner = Object.hasOwn(shape.properties, key) ? shape.properties[key] : undefined;
    if (inner === undefined) return { field: `${field}.${key}`, problem: "is not a known field" };
    const problem = findProblem(item, inner, `${field}.${key}`);
    if (problem !== null) return problem;
  }
  return null;
}

function isPlain(value: Json): value is { readonly [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
