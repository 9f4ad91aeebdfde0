/** Tests the client address behind proxies: which proxies may set it with `X-Forwarded-For`. */
import type { IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { createAddressResolver } from "../../../src/gateway/auth/authenticate.ts";
import type { TrustProxy } from "../../../src/gateway/options.ts";

function addressBy(trust: TrustProxy, forwarded?: string): string {
  const headers = forwarded === undefined ? {} : { "x-forwarded-for": forwarded };
  return createAddressResolver(trust)({
    socket: { remoteAddress: "10.0.0.9" },
    headers,
  } as unknown as IncomingMessage);
}

test("trusts no proxy by default, and otherwise only the configured ones", () => {
  expect(addressBy(false, "1.2.3.4")).toBe("10.0.0.9");
  expect(addressBy(true, "1.2.3.4")).toBe("1.2.3.4");
  expect(addressBy(true)).toBe("10.0.0.9");
  expect(addressBy("10.0.0.0/8", "6.6.6.6, 1.2.3.4")).toBe("1.2.3.4");
  expect(addressBy(["192.168.0.1", "loopback"], "1.2.3.4")).toBe("10.0.0.9");
});
