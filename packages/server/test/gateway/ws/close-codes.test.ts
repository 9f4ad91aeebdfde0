/** Compares the close codes of sockets with the tables of docs/gateway.md and PROTOCOL.md, in both directions. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { CLOSE_CODES } from "../../../src/gateway/ws/close-codes.ts";

test.each(["docs/gateway.md", "docs/PROTOCOL.md"])(
  "%s has every close code of a socket, and no other",
  (path) => {
    const doc = readFileSync(new URL(`../../../../../${path}`, import.meta.url), "utf8");
    const documented = [...doc.matchAll(/^\| (\d{4}) \|/gm)].map(([, code]) => Number(code));
    expect(documented).toEqual(Object.values(CLOSE_CODES).map(({ code }) => code));
  },
);
