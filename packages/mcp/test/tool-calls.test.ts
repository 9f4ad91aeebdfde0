/** Tests the MCP rules that need no server: results, schemas, secrets, and the turn that an elicitation belongs to. */
import { describe, expect, it } from "vitest";
import type { CallToolResult } from "@modelcontextprotocol/client";
import type { Json } from "@turnstream/protocol";
import { cleanLine } from "../src/clean-text.ts";
import { mcpServer } from "../src/server.ts";
import { Redactor } from "../src/redact.ts";
import { toToolError, toToolOutput } from "../src/tool-output.ts";
import { RunningCalls } from "../src/running-call.ts";
import { createValidator, isTooDeep } from "../src/input-schema.ts";
import type { ToolContext } from "../../server/src/agent/define/tool.ts";
import { systemEnv } from "../../server/src/util/env.ts";

const output = (content: CallToolResult["content"], more: Partial<CallToolResult> = {}) =>
  toToolOutput({ content, ...more });

const image = (data: string, mimeType: string) => output([{ type: "image", data, mimeType }]);

describe("toToolOutput", () => {
  it("joins texts into one text", () => {
    expect(
      output([
        { type: "text", text: "a" },
        { type: "text", text: "b" },
      ]),
    ).toEqual({ content: "a\n\nb" });
    expect(output([])).toEqual({ content: "" });
  });

  it("returns structured content without the text that repeats it", () => {
    const structuredContent = { a: [1, 2] };
    expect(output([{ type: "text", text: '{ "a": [1, 2] }' }], { structuredContent })).toEqual({
      content: { a: [1, 2] },
    });
    expect(output([{ type: "text", text: "note" }], { structuredContent })).toEqual({
      content: { text: "note", structured: { a: [1, 2] } },
    });
  });

  it("shows images of safe types and names the others", () => {
    expect(image("iVBORw==", "image/png")).toEqual({
      content: "[A picture, image/png, 4 bytes. The user sees it.]",
      blocks: [{ type: "image", data: "iVBORw==", mediaType: "image/png" }],
    });
    expect(image("PHN2Zz4=", "image/svg+xml").content).toMatch(/can't be shown/);
    expect(image("A".repeat(30_000_000), "image/png").content).toMatch(/too large/);
    expect(image('" onload="x', "image/png").content).toMatch(/can't be shown/);
  });

  it("describes files and audio", () => {
    expect(
      output([
        { type: "resource", resource: { uri: "x://1", blob: "AAAA", mimeType: "application/zip" } },
        { type: "resource", resource: { uri: "x://2", text: "inside" } },
        { type: "resource_link", uri: "x://3", name: "three", description: "Third." },
        { type: "audio", data: "AAAA", mimeType: "audio/wav" },
      ]).content,
    ).toBe(
      [
        "[File x://1, application/zip, 3 bytes. Its content is not shown.]",
        "[x://2]\ninside",
        "[three: x://3] Third.",
        "[Sound, audio/wav, 3 bytes. It can't be played here.]",
      ].join("\n\n"),
    );
  });

  it("returns an error of bounded length that is never empty", () => {
    expect(toToolError({ content: [], isError: true })).toBe("The tool failed without an error message.");
    expect(toToolError({ content: [{ type: "text", text: "x".repeat(100_000) }] }).length).toBe(8_000);
  });
});

/** Every definition references the next one twice. */
const doubling = (last: Json): Json => ({
  type: "object",
  properties: { a: { $ref: "#/$defs/d0" } },
  $defs: {
    ...Object.fromEntries(
      Array.from({ length: 40 }, (_, n) => [
        `d${n}`,
        { allOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] },
      ]),
    ),
    d40: last,
  },
});

describe("createValidator", () => {
  it("validates with references, but ignores regular expressions", () => {
    const check = createValidator({
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "object",
      properties: { n: { $ref: "#/definitions/n" }, pattern: { type: "string", pattern: "^(a+)+$" } },
      definitions: { n: { type: "integer", minimum: 1 } },
      required: ["n"],
      additionalProperties: false,
    });
    expect(check({ n: 1, pattern: `${"a".repeat(50)}!` })).toBeNull();
    expect(check({ n: 0 })).toMatch(/minimum|less/i);
    expect(check({ n: 1, more: 1 })).not.toBeNull();
  });

  it("accepts a property that only a pattern would allow", () => {
    const check = createValidator({
      type: "object",
      patternProperties: { "^x": { type: "number" } },
      additionalProperties: false,
    });
    expect(check({ xy: 1 })).toBeNull();
  });

  it("validates known keywords of an unknown schema dialect", () => {
    const check = createValidator({ $schema: "https://x.test/own", type: "object", required: ["a"] });
    expect(check({})).not.toBeNull();
    expect(check({ a: 1 })).toBeNull();
  });

  it.each([
    ["exponential references", doubling({})],
    ["exponential problems", doubling({ type: "number" })],
    ["a recursive reference", { properties: { a: { $ref: "#/properties/a" } } }],
    [
      "a pattern in an unread keyword",
      { properties: { a: { $ref: "#/examples/0" } }, examples: [{ pattern: "^(x+x+)+y$" }] },
    ],
  ])("limits time and output for %s", (_, schema) => {
    // Without limits, this would take years.
    expect(createValidator(schema)({ a: "x".repeat(40) })).toMatch(/can't be checked/);
  });

  it("limits the length of its message for many problems", () => {
    const properties = Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`p${n}`, false]));
    const value = Object.fromEntries(Object.keys(properties).map((key) => [key, 1]));
    expect(createValidator({ properties })(value)?.length).toBeLessThanOrEqual(2_000);
  });

  it("isTooDeep detects deep nesting", () => {
    let deep: object = {};
    for (let n = 0; n < 10_000; n++) deep = { items: deep };
    expect(isTooDeep(deep as never)).toBe(true);
    expect(isTooDeep({ properties: { a: { type: "string" } } })).toBe(false);
  });
});

describe("cleaning text", () => {
  it("Redactor replaces secrets, the longest first", () => {
    const redactor = new Redactor();
    redactor.add("Bearer sesame-open");
    redactor.add("yes");
    expect(redactor.clean("401 for Bearer sesame-open, sesame-open, yes")).toBe(
      "401 for [redacted], [redacted], yes",
    );
  });

  it("cleanLine removes invisible characters and line breaks", () => {
    expect(cleanLine("a\u0000b\u202ec\n\u200bd", 5)).toBe("a b c");
  });
});

const contextOf = (turn: string, signal = new AbortController().signal) =>
  ({ tenant: "t", session: "s", turn, signal }) as ToolContext;
const never = () => new Promise<never>(() => {});

describe("RunningCalls.asking", () => {
  it("returns the calling turn over HTTP, where each call has its own stream", async () => {
    const calls = new RunningCalls(systemEnv, true);
    void calls.run(contextOf("one"), never);
    await calls.run(contextOf("two"), async () => {
      await Promise.resolve();
      expect(calls.asking()?.context.turn).toBe("two");
    });
    expect(calls.asking()).toBeNull();
  });

  it("returns the turn over stdio only while a single turn has calls", () => {
    const calls = new RunningCalls(systemEnv, false);
    expect(calls.asking()).toBeNull();
    void calls.run(contextOf("one"), never);
    void calls.run(contextOf("one"), never);
    expect(calls.asking()?.context.turn).toBe("one");
    void calls.run(contextOf("two"), never);
    expect(calls.asking()).toBeNull();
  });

  it("returns null for a while after a call was aborted", async () => {
    let now = 0;
    const calls = new RunningCalls({ ...systemEnv, now: () => now }, false);
    await calls.run(contextOf("one", AbortSignal.abort()), () => Promise.resolve());
    void calls.run(contextOf("two"), never);
    expect(calls.asking()).toBeNull();
    now = 11 * 60 * 1_000;
    expect(calls.asking()?.context.turn).toBe("two");
  });
});

describe("mcpServer options", () => {
  it.each([
    { name: "", command: "x" },
    { name: "a", command: "" },
    { name: "a", url: "file:///x" },
    { name: "a", url: "nonsense" },
    { name: "a", command: "x", timeoutMs: 0 },
  ])("are refused if invalid: %o", (options) => {
    expect(() => mcpServer(options)).toThrow(/^BAD_OPTIONS/);
  });
});
