/** Verifies all vector files, given as parsed JSON by path. Does not access the disk. */
import type {
  CursorsVector,
  DialectVector,
  FoldVector,
  HandoffVector,
  LegalVector,
  PartialJsonVector,
  PlacesVector,
  SseVector,
  ToolTagsVector,
} from "../vector-types.ts";
import { verifyDialect } from "./dialects.ts";
import { verifyFold, verifyLegal, verifyLegalLog } from "./fold.ts";
import { verifyHandoff } from "./handoff.ts";
import { Report } from "./report.ts";
import { verifyCursors, verifyPartialJson, verifyPlaces, verifySse, verifyToolTags } from "./small.ts";

export type Vectors = ReadonlyMap<string, unknown>;

/** Verifies one file. A handoff is compared with the fold and dialect files of its scenario. */
export function verifyFile(path: string, vectors: Vectors, stopAtFirst = false): Report {
  const report = new Report(stopAtFirst);
  report.attempt(path, () => verify(report, path, vectors));
  return report;
}

function verify(report: Report, path: string, vectors: Vectors): void {
  const vector = vectors.get(path);
  if (vector === undefined) throw new Error(`there is no ${path}`);
  if (path.startsWith("fold/")) {
    verifyFold(report, vector as FoldVector);
    if (path !== "fold/odd-events.json") verifyLegalLog(report, vector as FoldVector);
  } else if (path.startsWith("dialects/")) verifyDialect(report, vector as DialectVector);
  else if (path.startsWith("handoff/")) {
    const file = path.slice("handoff/".length);
    const dialect = (name: string): DialectVector => vectors.get(`dialects/${name}/${file}`) as DialectVector;
    const log = vectors.get(`fold/${file}`) as FoldVector;
    const dialects = { blocks: dialect("blocks"), tasks: dialect("tasks"), responses: dialect("responses") };
    verifyHandoff(report, vector as HandoffVector, log, dialects);
  } else if (path === "legal.json") verifyLegal(report, vector as LegalVector);
  else if (path === "sse.json") verifySse(report, vector as SseVector);
  else if (path === "partial-json.json") verifyPartialJson(report, vector as PartialJsonVector);
  else if (path === "tool-tags.json") verifyToolTags(report, vector as ToolTagsVector);
  else if (path === "cursors.json") verifyCursors(report, vector as CursorsVector);
  else if (path === "places.json") verifyPlaces(report, vector as PlacesVector);
  else throw new Error(`nothing verifies ${path}`);
}
