/** Tests the options of `payments()`, and the identifiers of payments. */
import { describe, expect, it, test } from "vitest";
import {
  checkoutUrl,
  createCheckoutToken,
  createOrderNo,
  hashCheckoutToken,
  readCheckoutToken,
} from "../src/checkout-link.ts";
import { newebPay } from "@turnstream/payments/newebpay";
import type { PaymentOptions } from "../src/payment-options.ts";
import { payments } from "../src/payments.ts";
import { systemEnv } from "../../server/src/util/env.ts";

const keys = {
  merchantId: "MS000000001",
  hashKey: "sandbox-hash-key-32-characters--",
  hashIv: "sandbox-hash-iv.",
};
const provider = newebPay(keys);
const valid = { providers: [provider], publicUrl: "https://chat.example.com/base/" };

const check = (options: unknown) => () => payments(options as PaymentOptions);

describe("the options of payments()", () => {
  it.each([
    valid,
    { ...valid, publicUrl: "http://localhost:3000" },
    { ...valid, publicUrl: "http://127.0.0.1:3000", expiresMs: 1, queryAfterMs: 60_000 },
    { ...valid, providers: [provider, newebPay({ ...keys, name: "second" })] },
  ])("is valid: %#", (options) => {
    expect(check(options)).not.toThrow();
  });

  test.each<[problem: string, options: unknown]>([
    ["the options of payments() must be an object, got null", null],
    ["the options of payments() must be an object, got a list", [provider]],
    ["`url` is not an option of payments() (did you mean `publicUrl`?)", { ...valid, url: "" }],
    ["must be a list of at least one provider, got an empty list", { ...valid, providers: [] }],
    ["`providers` of payments() is missing", { publicUrl: "https://a.b" }],
    ["`providers[0]` of payments() must be a provider, got null", { ...valid, providers: [null] }],
    [
      '`name` of `providers[0]` of payments() must be a letter followed by up to 31 of a-z 0-9 -, got "A B"',
      { ...valid, providers: [{ ...provider, name: "A B" }] },
    ],
    [
      '`name` of `providers[1]` of payments() must be different from the names of the others, got "newebpay"',
      { ...valid, providers: [provider, newebPay(keys)] },
    ],
    [
      "`query` of `providers[0]` of payments() is missing",
      { ...valid, providers: [{ ...provider, query: undefined }] },
    ],
    ["`publicUrl` of payments() is missing", { ...valid, publicUrl: undefined }],
    [
      '(HTTP is allowed only on localhost), got "http://chat.example.com"',
      { ...valid, publicUrl: "http://chat.example.com" },
    ],
    ["without user, query and fragment", { ...valid, publicUrl: "https://chat.example.com/?a=1" }],
    ["`expiresMs` of payments() must be an integer from 1 to", { ...valid, expiresMs: 0 }],
    [
      '`queryAfterMs` of payments() must be an integer from 1 to 316224000000, got "1m"',
      { ...valid, queryAfterMs: "1m" },
    ],
  ])("is refused: %s", (problem, options) => {
    expect(check(options)).toThrow(problem);
  });
});

test("order numbers are unique, and fit the limits of every provider", () => {
  const numbers = Array.from({ length: 1_000 }, () => createOrderNo(systemEnv));
  for (const orderNo of numbers) expect(orderNo).toMatch(/^TS[A-Z2-7]{24}$/);
  expect(new Set(numbers).size).toBe(1_000);
  // Every position varies, so no bits are lost.
  for (let n = 2; n < 26; n++) expect(new Set(numbers.map((text) => text[n])).size).toBeGreaterThan(16);
});

test("a checkout token is found in its URL, whatever the base URL ends with", () => {
  const token = createCheckoutToken(systemEnv);
  expect(token).toMatch(/^[\w-]{43}$/);
  for (const base of ["https://a.example", "https://a.example/", "https://a.example/chat//"]) {
    const url = checkoutUrl(base, token);
    expect(url).toMatch(/^https:\/\/a\.example(\/chat)?\/api\/v1\/payments\/checkout\/[\w-]{43}$/);
    expect(readCheckoutToken(url)).toBe(token);
  }
  expect(readCheckoutToken("https://a.example/")).toBeNull();
  expect(readCheckoutToken(`https://a.example/${token}x`)).toBeNull();
  expect(hashCheckoutToken("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});
