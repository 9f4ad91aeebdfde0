/** Tests the messages of connection errors: they contain the address and never the password. */
import { expect, test } from "vitest";
import { StoreError } from "../../../src/store/errors.ts";
import { describeConnectionError } from "../../../src/store/database/database-url.ts";

const URL_OF = "postgres://me:canary@db.example.com/chat";

test.each([
  ["ECONNREFUSED", "Nothing listens at db.example.com:5432."],
  ["ENOTFOUND", "The host of db.example.com:5432 can't be found."],
  ["CONNECTION", "PostgreSQL at db.example.com:5432 doesn't answer."],
  ["EPIPE", "PostgreSQL at db.example.com:5432/chat can't be reached or refuses statements (EPIPE)."],
])("%s", (system, expected) => {
  const cause = { sqlstate: null, constraint: null, table: null, system };
  const message = describeConnectionError(new StoreError("UNAVAILABLE", "tenants.get", cause), URL_OF);
  expect(message).toContain(expected);
  expect(message).not.toContain("canary");
});

test("other errors, and a URL that only the driver can parse, have the default message of the store", () => {
  const busy = new StoreError("BUSY", "tenants.get");
  expect(describeConnectionError(busy, URL_OF)).toBe(busy.message);
  const away = new StoreError("UNAVAILABLE", "tenants.get", { sqlstate: null, system: "ENOENT" });
  expect(describeConnectionError(away, "/run/postgresql chat")).toBe(away.message);
});
