/**
 * `artifactPreview` shortens the data of an artifact that is too large for an event. Pure.
 * Invariant: the preview has the same shape as the data, so clients draw it like any artifact of its type. It is null
 * for types that can't be shown in part. The data must have passed `findArtifactProblem`.
 */
import { truncateText } from "../truncate-text.ts";
import type { Json } from "../json.ts";
import type { ArtifactData } from "./shapes.ts";

const ROWS = 20;
const POINTS = 50;
const CHARS = 4_096;
const CELL = 100;

/**
 * @param data valid data: `findArtifactProblem` returned null for it
 * @returns null if the type can't be shown in part
 */
export function artifactPreview({ type, data }: { readonly type: string; readonly data: Json }): Json {
  switch (type) {
    case "table": {
      const { columns, rows, total = rows.length } = data as unknown as ArtifactData["table"];
      const cells = (row: (typeof rows)[number]) =>
        row.map((cell) => (typeof cell === "string" ? truncateText(cell, CELL) : cell));
      return {
        columns: columns.map((name) => truncateText(name, CELL)),
        rows: rows.slice(0, ROWS).map(cells),
        total,
      };
    }
    case "chart":
      return chartPreview(data as unknown as ArtifactData["chart"]);
    case "code": {
      const { code, ...rest } = data as unknown as ArtifactData["code"];
      return { ...rest, code: truncateText(code, CHARS) };
    }
    default:
      return null;
  }
}

/** Keeps every nth point, so that the line keeps its shape. */
function chartPreview({ labels, values, series, ...rest }: ArtifactData["chart"]): ArtifactData["chart"] {
  const step = Math.max(1, Math.ceil(labels.length / POINTS));
  const thin = <T>(list: readonly T[]): T[] => list.filter((_, n) => n % step === 0);
  return {
    ...rest,
    labels: thin(labels).map((label) => (typeof label === "string" ? truncateText(label, CELL) : label)),
    ...(values === undefined ? {} : { values: thin(values) }),
    ...(series === undefined ? {} : { series: series.map((one) => ({ ...one, values: thin(one.values) })) }),
  };
}
