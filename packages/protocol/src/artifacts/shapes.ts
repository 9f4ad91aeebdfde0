/**
 * `ARTIFACTS` declares the artifact types that every client can draw.
 * Invariant: each type is declared only here. Its TypeScript type, its check and its published JSON Schema derive from
 * this data. Every text and list has a limit, and addresses exclude schemes that can run scripts.
 */
import type { Shape, TypeOfShape } from "./shape.ts";

const MAX_POINTS = 5_000;
const MAX_ROWS = 5_000;
const line = { type: "string", maxLength: 500 } as const;
const text = { type: "string", maxLength: 10_000 } as const;
/**
 * Addresses that a page may open or show. The pattern excludes `javascript:` and other schemes that can run scripts.
 */
const address = { type: "string", maxLength: 4_096, pattern: "^(https?://|turnstream:blob/)" } as const;
const picture = {
  type: "string",
  maxLength: 20_000,
  pattern: "^(https?://|turnstream:blob/|data:image/(png|jpeg|gif|webp|avif);base64,)",
} as const;
const count = { type: "integer", minimum: 0 } as const;
const point = { anyOf: [{ type: "number" }, { type: "null" }] } as const;
const points = { type: "array", items: point, maxItems: MAX_POINTS } as const;
const cell = { anyOf: [text, { type: "number" }, { type: "boolean" }, { type: "null" }] } as const;

export const ARTIFACTS = {
  chart: {
    type: "object",
    properties: {
      kind: { type: "string", maxLength: 20, enum: ["line", "bar", "area", "pie", "scatter"] },
      labels: {
        type: "array",
        items: { anyOf: [line, { type: "number" }] },
        maxItems: MAX_POINTS,
      },
      values: points,
      series: {
        type: "array",
        items: {
          type: "object",
          properties: { name: line, values: points },
          required: ["name", "values"],
          additionalProperties: false,
        },
        maxItems: 20,
      },
      unit: line,
    },
    required: ["labels"],
    additionalProperties: false,
  },
  table: {
    type: "object",
    properties: {
      columns: { type: "array", items: line, maxItems: 100 },
      rows: {
        type: "array",
        items: { type: "array", items: cell, maxItems: 100 },
        maxItems: MAX_ROWS,
      },
      total: count,
    },
    required: ["columns", "rows"],
    additionalProperties: false,
  },
  file: {
    type: "object",
    properties: { name: line, url: address, media_type: { type: "string", maxLength: 200 }, size: count },
    required: ["name", "url"],
    additionalProperties: false,
  },
  image: {
    type: "object",
    properties: { url: picture, alt: line, width: count, height: count },
    required: ["url"],
    additionalProperties: false,
  },
  code: {
    type: "object",
    properties: {
      language: { type: "string", maxLength: 50 },
      code: { type: "string", maxLength: 500_000 },
      name: line,
      first_line: count,
    },
    required: ["language", "code"],
    additionalProperties: false,
  },
} as const satisfies Readonly<Record<string, Shape>>;

export type ArtifactType = keyof typeof ARTIFACTS;
/** The data of each artifact type. */
export type ArtifactData = { readonly [Type in ArtifactType]: TypeOfShape<(typeof ARTIFACTS)[Type]> };
