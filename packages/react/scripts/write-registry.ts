/** Writes the shadcn registry into `registry/`. A test fails if the files are out of date. */
import { writeFileSync } from "node:fs";
import { registryFiles } from "./registry-files.ts";

for (const [name, text] of registryFiles())
  writeFileSync(new URL(`../registry/${name}`, import.meta.url), text);
