/** docs/http.md lists the routes, errors and idempotent routes of the code. tests/conformance/docs.nightly.test.ts runs its program. */
import { readFileSync } from "node:fs";
import { readCode, readTables } from "@turnstream/conformance/support/markdown.ts";
import { ERRORS } from "@turnstream/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { HTTP_STATUS } from "../../../src/gateway/errors.ts";
import type { Route } from "../../../src/gateway/http/route.ts";
import { ALL_ROUTES } from "../all-routes.ts";

const page = readFileSync(new URL("../../../../../docs/http.md", import.meta.url), "utf8");

const rowsOf = (name: string) => readTables(page, name).flat();

function fieldsOf(schema: z.ZodType | undefined): string {
  if (schema === undefined) return "-";
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: "input" });
  const fields = Object.keys(properties).map((name) => `\`${name}${required.includes(name) ? "" : "?"}\``);
  return fields.length === 0 ? "-" : fields.join(" ");
}

function rowOf({ method, path, scope, query, body, rawBody, summary }: Route): string {
  const cells = [
    `\`${method} ${path}\``,
    scope ?? "-",
    fieldsOf(query),
    rawBody === true ? "bytes" : fieldsOf(body),
    summary,
  ];
  return `| ${cells.join(" | ")} |`;
}

test("every route is in the tables of docs/http.md, as it is, and nothing else", () => {
  const written = rowsOf("Route").map((cells) => `| ${cells.join(" | ")} |`);
  expect(written.toSorted()).toEqual(ALL_ROUTES.map(rowOf).toSorted());
});

test("S09 every error is in the table, with its number and the status that it has over HTTP", () => {
  const written = rowsOf("Error").map(([word, ...rest]) => [...readCode(word ?? ""), ...rest].join(" "));
  const real = Object.entries(ERRORS).map(([word, { number, can_retry }]) =>
    [word, number, HTTP_STATUS[word as keyof typeof ERRORS], can_retry ? "yes" : "no"].join(" "),
  );
  expect(written.toSorted()).toEqual(real.toSorted());
});

test("the routes that a key makes safe to repeat are those that are listed", () => {
  const listed = readCode(/accept `idempotency-key`: (.*?)\.$/m.exec(page)?.[1] ?? "");
  const real = ALL_ROUTES.filter(({ idempotent = false }) => idempotent !== false);
  expect(listed.toSorted()).toEqual(real.map(({ method, path }) => `${method} ${path}`).toSorted());
});
