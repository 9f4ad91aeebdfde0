/** Tests the pure parts of HTTP handling: JSON input, the route table, errors, and redacted logs. */
import { ALL_ROUTES } from "../all-routes.ts";
import { ERRORS, type ErrorCode } from "@turnstream/protocol";
import { FORM_PROBLEMS } from "@turnstream/protocol/writer";
import { errorReply } from "@turnstream/protocol/schema";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { toErrorResponse, HTTP_STATUS, RequestError } from "../../../src/gateway/errors.ts";
import { createPathRedactor } from "../../../src/gateway/create-server.ts";
import { type Route, defineRoute } from "../../../src/gateway/http/route.ts";
import { createRouter } from "../../../src/gateway/http/router.ts";
import { parseUntrustedJson } from "../../../src/gateway/http/untrusted-json.ts";
import { LogError } from "../../../src/log/errors.ts";
import { PaymentError } from "../../../../payments/src/provider.ts";
import { FormError } from "../../../src/session/interactions/submit-form.ts";
import { BlobError } from "../../../src/session/blobs/open-blob.ts";
import { InputValidationError } from "../../../src/session/validation-error.ts";
import { StoreError } from "../../../src/store/errors.ts";

describe("parsing JSON input", () => {
  test("returns the parsed value", () => {
    for (const text of ["null", "5", '"x"', '{"a":[{"b":null}],"prototype":1,"constructor":2}'])
      expect(parseUntrustedJson(Buffer.from(text))).toEqual(JSON.parse(text));
    expect(parseUntrustedJson(Buffer.from(`${"[".repeat(64)}${"]".repeat(64)}`))).toBeDefined();
  });

  test.each([
    "",
    "{",
    '{"__proto__":1}',
    '[{"a":{"__proto__":{}}}]',
    '{"\\u005f_proto__":1}',
    `${"[".repeat(65)}${"]".repeat(65)}`,
    `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`,
  ])("refuses invalid input: %#", (text) => {
    expect(() => parseUntrustedJson(Buffer.from(text))).toThrow(RequestError);
  });
});

function made(method: Route["method"], path: string): Route {
  return defineRoute({ method, path, summary: "", scope: null, handle: async () => ({ status: 204 }) });
}

describe("route table", () => {
  const routes = [
    made("GET", "/sessions"),
    made("GET", "/sessions/{session}"),
    made("GET", "/sessions/{session}/turns/last"),
    made("POST", "/sessions/{session}/turns/{turn}/stop"),
    made("DELETE", "/sessions/{session}/turns/{turn}"),
  ];
  const router = createRouter(routes);

  test("matches by method and path, a fixed segment before a parameter", () => {
    expect(router.find("GET", "/sessions")).toMatchObject({ route: routes[0], params: {} });
    expect(router.find("HEAD", "/chats/7")).toMatchObject({ route: routes[1], params: { session: "7" } });
    expect(router.find("GET", "/chats/a%2Fb")).toMatchObject({ params: { session: "a/b" } });
    expect(router.find("GET", "/sessions/s/turns/last")).toMatchObject({ route: routes[2] });
    expect(router.find("POST", "/sessions/s/turns/last/stop")).toMatchObject({
      params: { session: "s", turn: "last" },
    });
    for (const path of [
      "",
      "/",
      "/chat",
      "/sessions/",
      "/sessions//turns/last",
      "/sessionsx",
      "/sessions/s/x",
    ])
      expect(router.find("GET", path), path).toEqual({ kind: "none" });
    expect(router.find("GET", "/sessions/%")).toEqual({ kind: "bad" });
    expect(router.find("PUT", "/sessions/s")).toEqual({
      kind: "method",
      allowed: ["GET", "HEAD", "OPTIONS"],
    });
  });

  test("contains each route once", () => {
    expect(() => createRouter([...routes, made("GET", "/sessions/{session}")])).toThrow(/two routes/);
    expect(() => createRouter([...routes, made("GET", "/sessions/{id}/x")])).toThrow(/another route calls/);
  });
});

describe("toErrorResponse", () => {
  test("returns the status of every code and matches the schema", () => {
    for (const word of Object.keys(ERRORS) as ErrorCode[]) {
      const { status, reply, isInternal } = toErrorResponse(new RequestError(word, "a message"));
      expect([status, isInternal]).toEqual([HTTP_STATUS[word], false]);
      expect(errorReply.parse(reply)).toEqual({
        error: word,
        code: ERRORS[word].number,
        message: "a message",
        can_retry: ERRORS[word].can_retry,
      });
    }
  });

  test.each([
    [new StoreError("NOT_FOUND", "session s"), 404, "NOT_FOUND", false],
    [new StoreError("EXISTS", "session s"), 409, "CONFLICT", false],
    [new StoreError("INVALID", "title"), 400, "BAD_REQUEST", false],
    [new StoreError("TOO_LARGE", "blob"), 413, "TOO_LARGE", false],
    [new StoreError("UNAVAILABLE", "sessions.get"), 503, "SERVER_ERROR", true],
    [new StoreError("BUSY", "sessions.get"), 503, "SERVER_ERROR", true],
    [new StoreError("NOT_MIGRATED", "sessions.get"), 503, "SERVER_ERROR", true],
    [new StoreError("INTERNAL", "sessions.get"), 500, "SERVER_ERROR", true],
    [new LogError("UNAVAILABLE"), 503, "SERVER_ERROR", true],
    [new LogError("TOO_LARGE"), 413, "TOO_LARGE", false],
    [new LogError("INVALID"), 500, "SERVER_ERROR", true],
    [new BlobError("BAD_ADDRESS"), 400, "BAD_REQUEST", false],
    [new BlobError("NOT_FOUND"), 404, "NOT_FOUND", false],
    [new PaymentError("UNAVAILABLE", "the provider did not answer"), 503, "SERVER_ERROR", true],
    [new PaymentError("REFUSED", "the provider refused our merchant"), 503, "SERVER_ERROR", true],
    [new TypeError("x is not a function"), 500, "SERVER_ERROR", true],
    ["a string", 500, "SERVER_ERROR", true],
  ])("maps %s", (error, status, word, isInternal) => {
    const answer = toErrorResponse(error);
    expect(answer).toMatchObject({ status, isInternal, reply: { error: word } });
    if (isInternal && error instanceof Error) expect(answer.reply.message).not.toContain(error.message);
  });

  test("reports invalid input to the user without ids and messages of the store", () => {
    const { reply } = toErrorResponse(
      new InputValidationError("approval s_1", "seats: 0 is not more than 0"),
    );
    expect(reply).toMatchObject({ error: "BAD_REQUEST", message: "seats: 0 is not more than 0" });
    const form = toErrorResponse(new FormError("s_2", [{ field: "email", problem: "required" }]));
    expect(form.reply.message).toBe(`email: ${FORM_PROBLEMS.required}`);
  });

  test("reports where a body is invalid, and never its content", () => {
    const { error } = z.strictObject({ a: z.object({ b: z.int() }) }).safeParse({ a: { b: "hunter2" } });
    const { reply } = toErrorResponse(error);
    expect(reply.message).toMatch(/^a[.]b: /);
    expect(reply.message).not.toContain("hunter2");
  });
});

test("removes credentials from a logged URL", () => {
  const redactPath = createPathRedactor(ALL_ROUTES);
  expect(redactPath("/api/v1/socket?ticket=x&dialect=blocks")).toBe("/api/v1/socket");
  expect(redactPath("/api/v1/blobs/secret.sig")).toBe("/api/v1/blobs/*");
  expect(redactPath("/x/api/v1/shares/secret/fork?a\nb")).toBe("/x/api/v1/shares/*/fork");
  expect(redactPath("/api/v1/sessions/s/shares/id")).toBe("/api/v1/sessions/s/shares/*");
  for (const page of ["checkout", "return", "status"])
    expect(redactPath(`/api/v1/payments/${page}/secret?a=b`)).toBe(`/api/v1/payments/${page}/*`);
  expect(redactPath("/api/v1/payments/notify/newebpay")).toBe("/api/v1/payments/notify/newebpay");
  // Other spellings are not served, but the token in them is (L01).
  for (const name of ["%73hares", "share%73", "%53hares", "s%68ares", "%2573hares", "blob%73", "SHARES"])
    expect(redactPath(`/api/v1/${name}/secret`), name).not.toContain("secret");
  expect(redactPath("/api/v1/sessions/an%40example.com/history")).toBe(
    "/api/v1/sessions/an%40example.com/history",
  );
});
