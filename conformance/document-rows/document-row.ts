/**
 * `DocumentRow` is one statement of a source document, with its line and its proof. The files beside this one have the
 * rows of each document.
 * Invariant: every row has exactly one proof, and `check-rows.ts` fails for a proof that doesn't exist.
 */
import type { Level } from "../levels.ts";

export type Proof =
  /** Tests of this requirement at this level. The row is pending as long as the requirement is. */
  | { readonly kind: "requirement"; readonly id: string; readonly level: Level }
  /** One test that cites no requirement. */
  | { readonly kind: "test"; readonly file: string; readonly title: string }
  /** An entry under "Deliberate differences" in DIALECTS.md, which has the reason. */
  | { readonly kind: "difference"; readonly topic: string }
  /** Nothing proves it yet, for this reason. */
  | { readonly kind: "pending"; readonly why: string };

export interface DocumentRow {
  /** Counts through all documents. */
  readonly number: number;
  /** The lines of the document, or where else it comes from. */
  readonly lines: string;
  /** The statement, in our own terms. */
  readonly item: string;
  readonly proof: Proof;
}

export const row = (number: number, lines: string, item: string, proof: Proof): DocumentRow => ({
  number,
  lines,
  item,
  proof,
});

const provedAt =
  (level: Level) =>
  (id: string): Proof => ({ kind: "requirement", id, level });

export const encoder = provedAt("encoder");
export const runtime = provedAt("runtime");
export const gateway = provedAt("gateway");
export const screen = provedAt("screen");

export const oneTest = (file: string, title: string): Proof => ({ kind: "test", file, title });
export const difference = (topic: string): Proof => ({ kind: "difference", topic });
export const pending = (why: string): Proof => ({ kind: "pending", why });
