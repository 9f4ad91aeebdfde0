/** Tests that the JSON Schema files in the package match the schemas in the source. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { schemaFiles } from "../scripts/schema-files.ts";

const folder = new URL("../schemas/", import.meta.url);

test("the schema files are up to date (npm run schemas writes them)", () => {
  const files = schemaFiles();
  expect(readdirSync(folder).toSorted()).toEqual([...files.keys()].toSorted());
  for (const [name, text] of files)
    expect(readFileSync(new URL(name, folder), "utf8") === text, name).toBe(true);
});
