/** Tests what a command says whose feature is not installed. */
import { expect, test } from "vitest";
import { CommandError } from "../src/cli-context.ts";
import { importFeature } from "../src/import-feature.ts";

const notFound = (name: string) =>
  Object.assign(new Error(`Cannot find package '${name}' imported from /app/main.js`), {
    code: "ERR_MODULE_NOT_FOUND",
  });

test("a missing package of a feature is an error that says how to install it", async () => {
  expect(await importFeature("knowledge", async () => "module")).toBe("module");
  await expect(
    importFeature("knowledge", () => Promise.reject(notFound("@turnstream/knowledge"))),
  ).rejects.toEqual(
    new CommandError("turnstream knowledge needs @turnstream/knowledge: npm install @turnstream/knowledge"),
  );
});

test("another error of the package stays as it is", async () => {
  const error = notFound("zod");
  await expect(importFeature("knowledge", () => Promise.reject(error))).rejects.toBe(error);
});
