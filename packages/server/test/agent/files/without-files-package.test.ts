/** Tests what a server reads without `@turnstream/files`, and how it names the package for the rest. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const PROGRAM = fileURLToPath(new URL("read-without-package.ts", import.meta.url));
const INSTALL = "ExtractError: PDF and HTML can't be read here. Install @turnstream/files to read them.";

test("without @turnstream/files, plain text and images are read, and PDF and HTML fail by name", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--conditions=@turnstream/source",
    PROGRAM,
  ]);
  const { prompt, ...printed } = JSON.parse(stdout) as { readonly prompt: string };
  expect(printed).toEqual({
    status: "end_turn",
    files: [...Array(4).fill("completed"), ...Array(3).fill("failed")] as string[],
    errors: [INSTALL, INSTALL],
    knowledge: ["# A", INSTALL],
  });
  for (const text of ["# Ghi chú\\nmột", "été", "chữ", "image/png"]) expect(prompt).toContain(text);
  expect(prompt.split("files of its kind can't be read here").length - 1).toBe(3);
  expect(prompt).not.toContain("@turnstream/files");
});
