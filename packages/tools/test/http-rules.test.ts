/** Tests which requests the rules of `http_request` allow. */
import { describe, expect, test } from "vitest";

import { checkRules, type HttpRule, ruleFor } from "../src/http-rules.ts";

const RULES: readonly HttpRule[] = [
  { origin: "https://api.example.com", paths: ["/v1/orders", "/v1/items/"], methods: ["GET", "POST"] },
  { origin: "http://10.0.0.7:9000" },
];

describe("S11: http_request", () => {
  test.each([
    ["GET", "https://api.example.com/v1/orders"],
    ["GET", "https://API.example.com/v1/orders?x=1#y"],
    ["POST", "https://api.example.com/v1/orders/7"],
    ["GET", "https://api.example.com:443/v1/items/8"],
    ["GET", "http://10.0.0.7:9000/anything"],
    ["HEAD", "http://10.0.0.7:9000/"],
  ] as const)("allows %s %s", (method, url) => {
    expect(ruleFor(RULES, url, method)).toBeDefined();
  });

  test.each([
    ["DELETE", "https://api.example.com/v1/orders"],
    ["POST", "http://10.0.0.7:9000/"],
    ["GET", "http://api.example.com/v1/orders"],
    ["GET", "https://api.example.com/v1/ordersx"],
    ["GET", "https://api.example.com/v1/items"],
    ["GET", "https://api.example.com/v1/orders/../admin"],
    ["GET", "https://api.example.com/v1/orders/%2e%2e/admin"],
    ["GET", "https://api.example.com/v1/orders/..%2fadmin"],
    ["GET", "https://api.example.com/v1/orders/%252e%252e/admin"],
    ["GET", "https://api.example.com/v1/orders/..%5Cadmin"],
    ["GET", "https://api.example.com/v1/orders/..\\..\\admin"],
    ["GET", "https://api.example.com/v1/orders/x;/../../admin"],
    ["GET", "https://api.example.com//v1/orders"],
    ["GET", "https://api.example.com.evil.com/v1/orders"],
    ["GET", "https://api.example.com@evil.com/v1/orders"],
    ["GET", "https://user:pass@api.example.com/v1/orders"],
    ["GET", "https://api.example.com:8443/v1/orders"],
    ["GET", "file:///v1/orders"],
    ["GET", "javascript:alert(1)"],
    ["GET", "/v1/orders"],
    ["GET", ""],
    ["GET", "http://10.0.0.7/"],
    ["GET", "http://10.0.0.8:9000/"],
  ] as const)("refuses %s %s", (method, url) => {
    expect(ruleFor(RULES, url, method)).toBeUndefined();
  });

  test.each([
    "example.com",
    "https://example.com/",
    "https://example.com/x",
    "ftp://example.com",
    "https://EXAMPLE.com",
    "",
  ])("allows nothing if the options name %j", (origin) => {
    expect(() => checkRules([{ origin }])).toThrow(/must be an origin/);
  });
});
