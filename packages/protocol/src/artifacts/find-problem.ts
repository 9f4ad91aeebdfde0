/**
 * `findArtifactProblem` checks whether an artifact matches its type. The server calls it before it writes an artifact,
 * a client before it draws one.
 * Invariant: an accepted artifact is bounded in depth and size, so that readers can recurse. The fold does not call it:
 * an invalid artifact that is already in a log stays there. Pure.
 */
import type { Json } from "../json.ts";
import { type ArtifactProblem, findProblem } from "./shape.ts";
import { ARTIFACTS, type ArtifactData, type ArtifactType } from "./shapes.ts";

/** Custom types: the client and the server of one app agree on their meaning. */
const OWN_TYPE = /^x-[a-z0-9][a-z0-9._-]{0,97}$/;
const MAX_TITLE = 500;
/** Limit for the data of any type, in characters of its JSON text. */
const MAX_ARTIFACT = 5_000_000;
/** Bounds the recursion of every reader, so that deep data can't overflow the stack. */
const MAX_DEPTH = 100;

/** Returns the first problem of an artifact, or null if the artifact can be shown. */
export function findArtifactProblem(artifact: Json): ArtifactProblem | null {
  if (typeof artifact !== "object" || artifact === null || Array.isArray(artifact))
    return { field: "artifact", problem: "must be an object" };
  const fields = artifact as { readonly [field: string]: Json };
  const odd = Object.keys(fields).find((key) => !["type", "title", "data"].includes(key));
  if (odd !== undefined) return { field: `artifact.${odd}`, problem: "is not a known field" };
  const { type, title = "", data } = fields;
  if (typeof title !== "string" || title.length > MAX_TITLE)
    return { field: "artifact.title", problem: `must be a string of at most ${MAX_TITLE} characters` };
  if (data === undefined) return { field: "artifact.data", problem: "is missing" };
  if (typeof type !== "string" || !(isArtifactType(type) || OWN_TYPE.test(type))) {
    const known = Object.keys(ARTIFACTS).join(", ");
    return { field: "artifact.type", problem: `must be one of ${known}, or a name that starts with x-` };
  }
  if (isDeeper(data, MAX_DEPTH))
    return { field: "artifact.data", problem: `is nested more than ${MAX_DEPTH} levels deep` };
  if (JSON.stringify(data).length > MAX_ARTIFACT)
    return { field: "artifact.data", problem: `is longer than ${MAX_ARTIFACT} characters as JSON` };
  return isArtifactType(type) ? findDataProblem(type, data) : null;
}

function isDeeper(value: Json, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

function isArtifactType(type: string): type is ArtifactType {
  return Object.hasOwn(ARTIFACTS, type);
}

function findDataProblem(type: ArtifactType, data: Json): ArtifactProblem | null {
  const problem = findProblem(data, ARTIFACTS[type], "artifact.data");
  if (problem !== null) return problem;
  if (type === "chart") return findChartProblem(data as unknown as ArtifactData["chart"]);
  return type === "table" ? findTableProblem(data as unknown as ArtifactData["table"]) : null;
}

function findChartProblem({ labels, values, series }: ArtifactData["chart"]): ArtifactProblem | null {
  if ((values === undefined) === (series === undefined))
    return { field: "artifact.data", problem: "must have either values or series" };
  const lines = values === undefined ? (series ?? []).map((one) => one.values) : [values];
  const n = lines.findIndex((line) => line.length !== labels.length);
  if (n < 0) return null;
  const field = values === undefined ? `artifact.data.series[${n}].values` : "artifact.data.values";
  return { field, problem: `has ${lines[n]?.length} points, but there are ${labels.length} labels` };
}

function findTableProblem({ columns, rows }: ArtifactData["table"]): ArtifactProblem | null {
  const n = rows.findIndex((row) => row.length !== columns.length);
  if (n < 0) return null;
  const problem = `has ${rows[n]?.length} cells, but there are ${columns.length} columns`;
  return { field: `artifact.data.rows[${n}]`, problem };
}
