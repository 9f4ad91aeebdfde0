/** Tests the text of errors in logs and in pages outside production: one line, bounded, without keys. */
import { describe, expect, test } from "vitest";
import { describeError, describeMessage } from "../../src/util/describe-error.ts";

describe("the text of an error", () => {
  test("has the causes, each once and in one line", () => {
    const key = new Error("Anthropic API key is missing.\nPass it using ANTHROPIC_API_KEY.");
    const refused = new Error("The model provider rejects the API key.", { cause: key });
    expect(describeError(new Error("The model provider rejects the API key.", { cause: refused }))).toBe(
      "The model provider rejects the API key. Cause: Anthropic API key is missing. Pass it using ANTHROPIC_API_KEY.",
    );
  });

  test("names values that are not errors, and ends for causes in a circle", () => {
    expect(describeError("a text")).toBe("'a text'");
    expect(describeError(undefined)).toBe("undefined");
    const circle = new Error("round");
    circle.cause = circle;
    expect(describeError(circle)).toBe("round");
  });

  test("is one bounded line", () => {
    const text = describeMessage(`first\nsecond\u2028third \u001b[31m${"x ".repeat(500)}`);
    // oxlint-disable-next-line no-control-regex -- the test looks for control characters
    expect(text).not.toMatch(/[\u0000-\u001f\u2028]/);
    expect(text.length).toBeLessThanOrEqual(300);
  });
});

describe("secrets", () => {
  test.each([
    ["Incorrect API key provided: sk-proj-abcdefGH1234. See the docs.", "sk-proj-abcdefGH1234"],
    ["Incorrect API key provided: sk-ab****************wxyz.", "wxyz"],
    ["Incorrect API key provided: mykey*****9876.", "9876"],
    ["invalid x-api-key sk-ant-api03-AbC_d-9", "api03"],
    ["API key AIzaSyA1234567890abcdefghijk not valid", "AIzaSy"],
    ["The header was Authorization: Bearer abc.def.ghi", "abc.def"],
    ["GET https://models.example/v1?key=abc123 failed", "abc123"],
    ["GET https://user:hidden-word@models.example/v1 failed", "hidden-word"],
    ["The key 0123456789abcdef0123456789abcdef is unknown", "0123456789abcdef"],
    ["Unknown key key-1234567890", "1234567890"],
  ])("are removed from: %s", (text, secret) => {
    expect(describeMessage(text)).not.toContain(secret);
  });

  test.each([
    "Invalid schema for function 'buy': 'count' is required",
    "The model `claude-sonnet-4-6-20260929` does not exist or you do not have access to it.",
    "There is no model anthropic.claude-sonnet-4-5-20250929-v1:0 in this region.",
    "Anthropic API key is missing. Pass it using the 'apiKey' parameter or the ANTHROPIC_API_KEY environment variable.",
    "Nothing listens at https://models.example:8443/v1/chat/completions.",
  ])("other texts stay as they are: %s", (text) => {
    expect(describeMessage(text)).toBe(text);
  });
});
