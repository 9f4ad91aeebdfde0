/** Tests that `findArtifactProblem` names the invalid field, and that `artifactPreview` returns valid, shorter data. */
import { readFileSync } from "node:fs";
import { type ArtifactData, findArtifactProblem, type Json } from "@turnstream/protocol";
import { artifactPreview } from "@turnstream/protocol/writer";
import { ARTIFACTS } from "../src/artifacts/shapes.ts";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { z } from "zod";

const GOOD: ArtifactData = {
  chart: { kind: "line", labels: ["Mon", 2], series: [{ name: "a", values: [1, null] }], unit: "mm" },
  table: {
    columns: ["a", "b"],
    rows: [
      ["x", 1],
      [true, null],
    ],
    total: 7,
  },
  file: { name: "a.pdf", url: "https://files.example/a.pdf", media_type: "application/pdf", size: 3 },
  image: { url: "turnstream:blob/x", alt: "A cat", width: 10, height: 20 },
  code: { language: "ts", code: "let a;", name: "a.ts", first_line: 3 },
};
const cases = Object.entries(GOOD) as [keyof ArtifactData, Json][];

describe("W07 artifacts", () => {
  it.each(cases)("a valid %s passes findArtifactProblem and the published schema", (type, data) => {
    expect(findArtifactProblem({ type, title: "T", data })).toBeNull();
    const file = readFileSync(new URL("../schemas/artifacts.json", import.meta.url), "utf8");
    const { $defs } = JSON.parse(file) as { $defs: Record<string, Parameters<typeof z.fromJSONSchema>[0]> };
    expect(z.fromJSONSchema($defs[type] ?? {}).safeParse(data).success).toBe(true);
  });

  test("a chart of the `blocks` dialect, a small table and a custom type pass", () => {
    const data = { labels: ["T2", "T3", "T4"], values: [82000, 81500, 83000] };
    expect(findArtifactProblem({ type: "chart", data })).toBeNull();
    expect(findArtifactProblem({ type: "table", data: { columns: ["mua"], rows: [[118.2]] } })).toBeNull();
    expect(findArtifactProblem({ type: "x-map", data: [1, 2] })).toBeNull();
  });

  it.each([
    [null, "artifact"],
    [{ type: "chart" }, "artifact.data"],
    [{ type: "video", data: {} }, "artifact.type"],
    [{ type: "toString", data: {} }, "artifact.type"],
    [{ type: "x-", data: {} }, "artifact.type"],
    [{ type: "code", data: GOOD.code, title: 1 }, "artifact.title"],
    [{ type: "code", data: GOOD.code, whole: {} }, "artifact.whole"],
    [{ type: "code", data: { language: "ts" } }, "artifact.data.code"],
    [{ type: "code", data: { ...GOOD.code, x: 1 } }, "artifact.data.x"],
    [{ type: "code", data: { ...GOOD.code, first_line: 1.5 } }, "artifact.data.first_line"],
    [{ type: "chart", data: { labels: [1] } }, "artifact.data"],
    [{ type: "chart", data: { labels: [1], values: [1, 2] } }, "artifact.data.values"],
    [{ type: "chart", data: { labels: [1], values: ["1"] } }, "artifact.data.values[0]"],
    [{ type: "chart", data: { labels: [1], values: [1], kind: "radar" } }, "artifact.data.kind"],
    [
      { type: "chart", data: { labels: [1], series: [{ name: "a", values: [] }] } },
      "artifact.data.series[0].values",
    ],
    [{ type: "table", data: { columns: ["a"], rows: [[1], [1, 2]] } }, "artifact.data.rows[1]"],
    [{ type: "table", data: { columns: ["a"], rows: [[{}]] } }, "artifact.data.rows[0][0]"],
    [
      { type: "table", data: { columns: ["a"], rows: Array.from({ length: 5_001 }, () => [1]) } },
      "artifact.data.rows",
    ],
    [{ type: "file", data: { name: "a", url: "javascript:alert(1)" } }, "artifact.data.url"],
    // Upload addresses are valid only in their own session. The server never turns them into URLs that can be loaded.
    [{ type: "file", data: { name: "a", url: "turnstream:upload/x" } }, "artifact.data.url"],
    [{ type: "image", data: { url: "data:image/svg+xml;base64,AA" } }, "artifact.data.url"],
    [{ type: "image", data: { url: "data:text/html;base64,AA" } }, "artifact.data.url"],
    [{ type: "x-big", data: "x".repeat(5_000_001) }, "artifact.data"],
  ] as [Json, string][])("names the invalid field of %j", (artifact, field) => {
    expect(findArtifactProblem(artifact)).toMatchObject({ field });
  });

  test("refuses __proto__ like any other unknown field", () => {
    const data = JSON.parse('{"language":"a","code":"b","__proto__":{"x":1}}') as Json;
    expect(findArtifactProblem({ type: "code", data })).toMatchObject({ field: "artifact.data.__proto__" });
  });

  test("refuses data that is nested too deeply, in custom types too", () => {
    let deep: Json = 1;
    for (let n = 0; n < 50_000; n++) deep = [deep];
    expect(findArtifactProblem({ type: "x-map", data: deep })).toMatchObject({ field: "artifact.data" });
  });

  test("never throws, whatever the data is", () => {
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(ARTIFACTS)), fc.jsonValue(), (type, data) => {
        findArtifactProblem({ type, data } as Json);
      }),
    );
  });

  test("artifactPreview shortens large data to a valid artifact that can be drawn", () => {
    const table = { columns: ["a", "b"], rows: Array.from({ length: 900 }, (_, n) => [n, "x".repeat(500)]) };
    const chart = {
      labels: Array.from({ length: 4_999 }, (_, n) => n),
      values: Array<number>(4_999).fill(1),
    };
    const code = { language: "ts", code: "x".repeat(300_000) };
    const previews = Object.entries({ table, chart, code }).map(([type, data]) => {
      const preview = artifactPreview({ type, data });
      expect(findArtifactProblem({ type, data: preview })).toBeNull();
      expect(JSON.stringify(preview).length).toBeLessThan(10_000);
      return preview;
    });
    expect(previews[0]).toMatchObject({ total: 900 });
    expect(artifactPreview({ type: "x-map", data: "x" })).toBeNull();
  });
});
