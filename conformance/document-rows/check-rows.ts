/**
 * `checkRows` compares the rows of the documents with the tests, the requirements and DIALECTS.md, and `describeRow`
 * returns the state of one row.
 * Invariant: it is pure. A row is proved only by a test that exists at its level, or by a difference with a reason.
 */
import type { Coverage } from "../coverage.ts";
import type { Requirement } from "../requirements.ts";
import type { DocumentRow } from "./document-row.ts";
import { ROWS_000 } from "./rows-000.ts";
import { ROWS_001 } from "./rows-001.ts";
import { ROWS_002 } from "./rows-002.ts";
import { ROWS_003 } from "./rows-003.ts";
import { ROWS_004 } from "./rows-004.ts";

export const DOCUMENT_ROWS: Readonly<Record<string, readonly DocumentRow[]>> = {
  "000": ROWS_000,
  "001": ROWS_001,
  "002": ROWS_002,
  "003": ROWS_003,
  "004": ROWS_004,
};

export interface RowContext {
  readonly requirements: readonly Requirement[];
  readonly coverage: Pick<Coverage, "citedIn" | "titles">;
  /** The reasons of the deliberate differences, by topic. */
  readonly differences: ReadonlyMap<string, string>;
}

export interface RowState {
  readonly state: "proved" | "different" | "pending" | "wrong";
  /** What proves it, or why nothing does. */
  readonly by: string;
}

export function describeRow(
  { proof }: DocumentRow,
  { requirements, coverage, differences }: RowContext,
): RowState {
  switch (proof.kind) {
    case "pending":
      return { state: "pending", by: proof.why };
    case "difference": {
      const reason = differences.get(proof.topic) ?? "";
      if (reason === "") return { state: "wrong", by: `DIALECTS.md has no difference "${proof.topic}"` };
      return { state: "different", by: proof.topic };
    }
    case "test": {
      const { file, title } = proof;
      if (coverage.titles.get(file)?.has(title) !== true)
        return { state: "wrong", by: `${file} has no test "${title}"` };
      return { state: "proved", by: file };
    }
    case "requirement": {
      const { id, level } = proof;
      const requirement = requirements.find((each) => each.id === id);
      if (requirement === undefined) return { state: "wrong", by: `there is no requirement ${id}` };
      if (requirement.pending !== undefined)
        return { state: "pending", by: `${id} at ${level}: ${requirement.pending}` };
      if (coverage.citedIn(id, level).length === 0)
        return { state: "wrong", by: `no test proves ${id} at ${level}` };
      return { state: "proved", by: `${id} at ${level}` };
    }
  }
}

/** Returns what is wrong: proofs that don't exist, and differences that no row names. */
export function checkRows(
  documents: Readonly<Record<string, readonly DocumentRow[]>>,
  context: RowContext,
): string[] {
  const rows = Object.entries(documents).flatMap(([document, own]) =>
    own.map((each) => ({ document, each })),
  );
  const wrong = rows.flatMap(({ document, each }) => {
    const { state, by } = describeRow(each, context);
    return state === "wrong" ? [`row ${each.number} (${document}:${each.lines}): ${by}`] : [];
  });
  const named = new Set(
    rows.flatMap(({ each: { proof } }) => (proof.kind === "difference" ? [proof.topic] : [])),
  );
  const unused = [...context.differences.keys()].filter((topic) => !named.has(topic));
  return [...wrong, ...unused.map((topic) => `no row names the difference "${topic}"`)];
}

const HEADING = /^### Deliberate differences$/m;

/** Reads the table under "Deliberate differences": topic, lines of the documents, Turnstream, reason. */
export function readDifferences(dialects: string): Map<string, string> {
  const [, after = ""] = dialects.split(HEADING);
  const section = after.split(/^#{2,3} /m)[0] ?? "";
  const rows = section.split("\n").filter((line) => line.startsWith("| "));
  const cells = rows.slice(2).map((line) => line.split("|").map((cell) => cell.trim()));
  return new Map(cells.map(([, topic = "", , , reason = ""]) => [topic, reason]));
}
