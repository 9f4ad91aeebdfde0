/** The program of docs/from-ai-sdk.md runs. tests/conformance/docs.nightly.test.ts compiles the other code of the page. */
import { spawnSync } from "node:child_process";
import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createDataFolder } from "@turnstream/testkit/util/data-folder.ts";
import { expect, test } from "vitest";

const page = readFileSync(new URL("../../../docs/from-ai-sdk.md", import.meta.url), "utf8");

test("the program of docs/from-ai-sdk.md runs a wrapped streamText call with its tool", async () => {
  const folder = await createDataFolder();
  symlinkSync(fileURLToPath(new URL("../../../node_modules", import.meta.url)), join(folder, "node_modules"));
  const [, code = ""] = /```ts\n(.*?)```/s.exec(page) ?? [];
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ["--conditions=@turnstream/source", "--input-type=module-typescript", "-"],
    { cwd: folder, input: code, encoding: "utf8", timeout: 60_000 },
  );
  expect(stderr).toBe("");
  const [result, ...text] = stdout.trim().split("\n");
  expect(result).toBe("sunny in Hanoi");
  expect(text.join("")).toBe("Take sunglasses.");
});
