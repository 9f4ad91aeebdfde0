/**
 * `describeHttpApi` returns the HTTP API as an OpenAPI 3.1 document, from the table of routes. Pure.
 * Invariant: the table is the only declaration. Whatever the document says is what `handleHttp` checks.
 */
import { errorReply } from "@turnstream/protocol/schema";
import { z } from "zod";
import type { GatewayFeature } from "../feature.ts";
import { API_PREFIX } from "./http-messages.ts";
import type { Route } from "./route.ts";
import { ROUTES } from "./routes/index.ts";

const ERROR = { $ref: "#/components/schemas/Error" };
const KEY = { apiKey: [], userId: [] };
const TOKEN = { token: [] };

/** @param features whose routes are also described. @default none */
export function describeHttpApi(features: readonly GatewayFeature[] = []): object {
  const paths: Record<string, Record<string, object>> = {};
  const routes = [...ROUTES, ...features.flatMap(({ routes: own = [] }) => own)];
  for (const route of routes) (paths[route.path] ??= {})[route.method.toLowerCase()] = describeRoute(route);
  return {
    openapi: "3.1.0",
    info: { title: "Turnstream", version: "1" },
    servers: [{ url: API_PREFIX }],
    paths,
    components: {
      schemas: { Error: toJsonSchema(errorReply, "output"), Json: { description: "Any JSON value." } },
      securitySchemes: {
        apiKey: { type: "apiKey", in: "header", name: "x-api-key" },
        userId: { type: "apiKey", in: "header", name: "x-user-id" },
        token: { type: "http", scheme: "bearer" },
        ticket: { type: "apiKey", in: "query", name: "ticket" },
      },
    },
  };
}

function describeRoute(route: Route): object {
  const { method, path, summary, scope, acceptsTicket = false, opensStream = false } = route;
  const ticket = acceptsTicket ? [{ ticket: [] }] : [];
  return {
    operationId: `${method} ${path}`,
    summary,
    ...(scope === null ? {} : { description: `Needs the scope \`${scope}\`.` }),
    security: scope === null ? [] : [KEY, TOKEN, ...ticket],
    parameters: [...pathParameters(path), ...queryParameters(route.query), ...headerParameters(route)],
    ...describeBody(route),
    responses: {
      "2XX": { description: "The request succeeded.", ...contentOf(route.responseSchema, opensStream) },
      default: {
        description: "The request was refused.",
        content: { "application/json": { schema: ERROR } },
      },
    },
  };
}

function pathParameters(path: string): object[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
}

function queryParameters(query: z.ZodType | undefined): object[] {
  const { properties = {}, required = [] } = query === undefined ? {} : toJsonSchema(query, "input");
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    required: required.includes(name),
    schema,
  }));
}

function headerParameters({ idempotent = false }: Route): object[] {
  return idempotent === false
    ? []
    : [{ name: "idempotency-key", in: "header", required: false, schema: { type: "string" } }];
}

function describeBody({ body, rawBody = false }: Route): object {
  if (rawBody) return { requestBody: { required: true, content: { "*/*": {} } } };
  if (body === undefined) return {};
  const schema = toJsonSchema(body, "input");
  const required = (schema.required ?? []).length > 0;
  return { requestBody: { required, content: { "application/json": { schema } } } };
}

function contentOf(schema: z.ZodType | undefined, opensStream: boolean): object {
  const json = schema === undefined ? {} : { "application/json": { schema: toJsonSchema(schema, "output") } };
  const stream = opensStream ? { "text/event-stream": { schema: { type: "string" } } } : {};
  return { content: { ...json, ...stream } };
}

/** Only the schema of any JSON value is recursive, so every reference is one to it. */
function toJsonSchema(schema: z.ZodType, io: "input" | "output"): z.core.JSONSchema.JSONSchema {
  const { $schema: _, $defs: __, ...json } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  const text = JSON.stringify(json).replaceAll(/#\/\$defs\/\w+/g, "#/components/schemas/Json");
  return JSON.parse(text) as z.core.JSONSchema.JSONSchema;
}
