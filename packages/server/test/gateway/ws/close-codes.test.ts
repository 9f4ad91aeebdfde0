/** Compares the close codes of sockets with the ones in docs/gateway.md. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { CLOSE_CODES } from "../../../src/gateway/ws/close-codes.ts";

test("docs/gateway.md lists every close code of sockets and no other", () => {
  const doc = readFileSync(new URL("../../../../../docs/gateway.md", import.meta.url), "utf8");
  const documented = [...doc.matchAll(/^\| (\d{4}) \|/gm)].map(([, code]) => Number(code));
  expect(documented).toEqual(Object.values(CLOSE_CODES).map(({ code }) => code));
});
