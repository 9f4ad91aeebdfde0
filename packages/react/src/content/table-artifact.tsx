/**
 * `TableArtifact` shows a table that scrolls in both directions, with a fixed header row, and `DataTable` draws it.
 * Invariant: `TableArtifact` draws at most 500 rows and shows how many of all rows these are. Cells are untrusted text
 * and pass `visibleText`. Numbers follow the locale of the strings.
 */
import type { ArtifactData } from "@turnstream/protocol";
import type { ReactNode } from "react";
import { formatNumber } from "../format.ts";
import { visibleText } from "../visible-text.ts";
import { useScrollEdges } from "../ui/use-scroll-edges.ts";
import { ArtifactFrame } from "./artifact-frame.tsx";
import { useCardStrings } from "../hooks/use-card-strings.ts";

type Cell = ArtifactData["table"]["rows"][number][number];
/** More rows than a user scrolls through. The full table is available through its link or in the tool result. */
const MAX_ROWS = 500;

interface TableArtifactProps {
  readonly title: string;
  readonly data: ArtifactData["table"];
  readonly fullUrl: string;
}

export function TableArtifact({ title, data, fullUrl }: TableArtifactProps): ReactNode {
  const strings = useCardStrings();
  const { columns, rows, total = rows.length } = data;
  const shown = rows.slice(0, MAX_ROWS);
  const cardStrings = strings.cards;
  return (
    <ArtifactFrame
      title={title}
      fallback={cardStrings.table}
      fullUrl={fullUrl}
      side={
        shown.length < total && (
          <span className="ts-faint">
            {cardStrings.rowsOf(formatNumber(strings, shown.length), formatNumber(strings, total))}
          </span>
        )
      }
    >
      <DataTable label={title || cardStrings.table} columns={columns} rows={shown} />
    </ArtifactFrame>
  );
}

interface DataTableProps {
  readonly label: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

export function DataTable({ label, columns, rows }: DataTableProps): ReactNode {
  const strings = useCardStrings();
  const scroller = useScrollEdges<HTMLDivElement>();
  const isNumber = columns.map(
    (_, n) => rows.length > 0 && rows.every((row) => typeof (row[n] ?? 0) === "number"),
  );
  const textOf = (cell: Cell): string => {
    if (cell === null) return strings.cards.none;
    if (typeof cell === "number") return formatNumber(strings, cell, 6);
    return typeof cell === "boolean" ? (cell ? strings.cards.yes : strings.cards.no) : visibleText(cell);
  };
  return (
    <div
      ref={scroller}
      className="ts-table-scroll ts-table-tall"
      role="group"
      aria-label={visibleText(label)}
      tabIndex={0}
    >
      <table className="ts-table">
        <thead>
          <tr>
            {columns.map((name, n) => (
              // Columns have no id, and two can have the same name.
              <th key={n} scope="col" data-number={isNumber[n] || undefined}>
                <bdi>{visibleText(name)}</bdi>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, n) => (
                <td key={n} data-number={isNumber[n] || undefined}>
                  <bdi>{textOf(cell)}</bdi>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
