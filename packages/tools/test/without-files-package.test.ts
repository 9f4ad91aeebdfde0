/** Tests which pages `fetch_web_content` reads without `@turnstream/files`, and how it names the package for the rest. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const PROGRAM = fileURLToPath(new URL("fetch-without-package.ts", import.meta.url));
const INSTALL = "PDF and HTML can't be read here. Install @turnstream/files to read them.";

test("without @turnstream/files, fetch_web_content reads text, and names the package for a page", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--conditions=@turnstream/source",
    PROGRAM,
  ]);
  expect(JSON.parse(stdout)).toEqual({
    results: [expect.stringContaining("Plain text."), INSTALL],
    errors: [`ToolError: ${INSTALL}`],
  });
});
