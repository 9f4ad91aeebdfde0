/** The codes with which sockets are closed are the ones that docs/gateway.md has, and the other way round. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { CLOSE_CODES } from "../../../src/gateway/ws/close-codes.ts";

test("docs/gateway.md has every code with which a socket is closed, and no other", () => {
  const doc = readFileSync(new URL("../../../../../docs/gateway.md", import.meta.url), "utf8");
  const documented = [...doc.matchAll(/^\| (\d{4}) \|/gm)].map(([, code]) => Number(code));
  expect(documented).toEqual(Object.values(CLOSE_CODES).map(({ code }) => code));
});
