/** Tests the OpenAPI document: it is valid, and has exactly the routes. `recorded-answers` calls every route. */
import { Validator } from "@seriousme/openapi-schema-validator";
import { FEATURES } from "@turnstream/testkit/backend/test-features.ts";
import { expect, test } from "vitest";
import { z } from "zod";
import { describeHttpApi } from "../../../src/gateway/http/describe-http-api.ts";
import { ALL_ROUTES } from "../all-routes.ts";

const api = describeHttpApi(FEATURES) as { paths: Record<string, Record<string, unknown>> };

test("is a valid OpenAPI document", async () => {
  expect(await new Validator().validate(structuredClone(api))).toEqual({ valid: true });
});

test("has each route as one operation, and no other", () => {
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(operations.toSorted()).toEqual(ALL_ROUTES.map(({ method, path }) => `${method} ${path}`).toSorted());
});

test("only the schema of any JSON value is recursive, so a reference names no other", () => {
  const schemas = ALL_ROUTES.flatMap(({ body, query, responseSchema }) => [body, query, responseSchema]);
  const definitions = schemas.flatMap((schema) =>
    schema === undefined ? [] : Object.values(z.toJSONSchema(schema, { unrepresentable: "any" }).$defs ?? {}),
  );
  const { anyOf } = z.toJSONSchema(z.array(z.json())).$defs?.["__schema0"] ?? {};
  expect(anyOf).toHaveLength(6);
  for (const definition of definitions) expect(definition.anyOf).toEqual(anyOf);
});
