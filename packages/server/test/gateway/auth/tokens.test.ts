/** Tests which JWTs the gateway accepts as tokens: life, type, issuer, audience and scopes. */
import { createHmac } from "node:crypto";
import { generateKeyPair, SignJWT, UnsecuredJWT } from "jose";
import { describe, expect, test } from "vitest";
import {
  issueToken,
  TOKEN_SCOPES,
  type TokenRules,
  type TokenVerifier,
  verifyToken,
} from "../../../src/gateway/auth/tokens.ts";
import { DEFAULT_GATEWAY_LIMITS } from "../../../src/gateway/gateway-limits.ts";

const NOW = 1_800_000_000_000;
const SECONDS = NOW / 1_000;
const DAY = 24 * 60 * 60;
const SECRET = "s".repeat(32);

function gateway(
  rules: Partial<TokenRules> = {},
  now = NOW,
): TokenVerifier & Parameters<typeof issueToken>[0] {
  return {
    secrets: [SECRET],
    env: { now: () => now },
    limits: DEFAULT_GATEWAY_LIMITS,
    tokenRules: { defaultScopes: ["read", "write"], scopes: TOKEN_SCOPES, ...rules },
  };
}

/** A token that the app signs itself. */
function sign(claims: Record<string, unknown>, header: Record<string, unknown> = {}): Promise<string> {
  return new SignJWT({ sub: "an", tenant: "acme", exp: SECONDS + 60, ...claims })
    .setProtectedHeader({ alg: "HS256", ...header })
    .sign(new TextEncoder().encode(SECRET));
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** A token with any header and any claims, which no library would sign. */
function forge(claims: unknown, header: object = { alg: "HS256" }, secret = SECRET): string {
  const text = `${encode(header)}.${encode(claims)}`;
  const [, bits = "256"] = /^hs(\d+)$/i.exec("alg" in header ? String(header.alg) : "") ?? [];
  return `${text}.${createHmac(`sha${bits}`, secret).update(text).digest("base64url")}`;
}

const refusal = (token: string, verifier = gateway()) =>
  verifyToken(token, verifier).then(
    () => null,
    (error: unknown) => error,
  );

describe("token (promise 20)", () => {
  test("is refused if its life is longer than seven days", async () => {
    expect(await refusal(await sign({ exp: SECONDS + 7 * DAY }))).toBeNull();
    for (const claims of [
      { exp: SECONDS + 7 * DAY + 1 },
      { exp: SECONDS + 3_650 * DAY },
      // A long life is refused in its last days too.
      { exp: SECONDS + 60, iat: SECONDS - 30 * DAY },
      // A start in the future doesn't shorten it.
      { exp: SECONDS + 8 * DAY, iat: SECONDS + 7 * DAY },
    ])
      expect(await refusal(await sign(claims))).toMatchObject({
        code: "UNAUTHENTICATED",
        message: expect.stringContaining("604800 seconds") as string,
      });
    const longer = { ...gateway(), limits: { ...DEFAULT_GATEWAY_LIMITS, maxTokenTtlMs: 30 * DAY * 1_000 } };
    expect(await refusal(await sign({ exp: SECONDS + 30 * DAY }), longer)).toBeNull();
  });

  test("is refused for another issuer or audience, if the gateway has one", async () => {
    const verifier = gateway({ issuer: "https://app.example", audience: "chat" });
    const { token } = await issueToken(verifier, { tenant: "acme", user: "an", key: null, scopes: ["read"] });
    expect(await refusal(token, verifier)).toBeNull();
    expect(
      await refusal(await sign({ iss: "https://app.example", aud: ["x", "chat"] }), verifier),
    ).toBeNull();
    for (const [claims, name] of [
      [{}, "iss"],
      [{ iss: "https://app.example" }, "aud"],
      [{ iss: "https://other.example", aud: "chat" }, "iss"],
      [{ iss: "https://app.example", aud: "mail" }, "aud"],
    ] as const)
      expect(await refusal(await sign(claims), verifier)).toMatchObject({
        code: "UNAUTHENTICATED",
        message: expect.stringContaining(`"${name}"`) as string,
      });
    // A gateway without these options accepts any.
    expect(await refusal(token)).toBeNull();
  });

  test("is refused if the JWT has another type, and may have an id", async () => {
    for (const typ of ["logout+jwt", "at+jwt", ""])
      expect(await refusal(await sign({}, { typ })), typ).toMatchObject({ code: "UNAUTHENTICATED" });
    for (const typ of ["JWT", "jwt"]) expect(await refusal(await sign({}, { typ }))).toBeNull();
    expect(await refusal(await sign({ jti: "t-1" }))).toBeNull();
  });

  test("that was verified before is refused after its expiry, and by a gateway without its secret", async () => {
    let now = NOW;
    const verifier = { ...gateway(), env: { now: () => now } };
    const token = await sign({ exp: SECONDS + 60 });
    expect(await verifyToken(token, verifier)).toEqual(await verifyToken(token, verifier));
    now = NOW + 59_999;
    expect(await refusal(token, verifier)).toBeNull();
    now = NOW + 60_000;
    expect(await refusal(token, verifier)).toMatchObject({ event: { reason: "token_expired" } });
    expect(await refusal(token, { ...verifier, secrets: ["t".repeat(32)] })).toMatchObject({
      event: { type: "signature_invalid" },
    });
    // The body of a verified token with another signature.
    now = NOW;
    expect(await refusal(token, verifier)).toBeNull();
    const body = token.slice(0, token.lastIndexOf("."));
    expect(await refusal(`${body}.${"A".repeat(43)}`, verifier)).toMatchObject({
      event: { type: "signature_invalid" },
    });
  });

  test("has the default scopes of the gateway if it lists none", async () => {
    expect((await verifyToken(await sign({}), gateway())).scopes).toEqual(["read", "write"]);
    const verified = await verifyToken(await sign({ scopes: ["read", "share", "tokens"] }), gateway());
    expect(verified.scopes).toEqual(["read", "share"]);
  });

  test("is refused with another algorithm, a key or an option in its header, or a wrong signature", async () => {
    const good = { sub: "an", tenant: "acme", exp: SECONDS + 60 };
    expect(await refusal(forge(good))).toBeNull();
    const other = "evil".repeat(10);
    const jwk = { kty: "oct", k: Buffer.from(other).toString("base64url") };
    const { privateKey } = await generateKeyPair("RS256");
    const [head = "", body = "", signature = ""] = forge(good).split(".");
    const forged = {
      "no algorithm": new UnsecuredJWT(good).encode(),
      "an empty signature": `${head}.${body}.`,
      "two parts": `${head}.${body}`,
      "four parts": `${head}.${body}.${signature}.${signature}`,
      "another body": `${head}.${encode({ ...good, sub: "bo" })}.${signature}`,
      None: forge(good, { alg: "None" }),
      "lower case": forge(good, { alg: "hs256" }),
      HS384: forge(good, { alg: "HS384" }),
      HS512: forge(good, { alg: "HS512" }),
      RS256: await new SignJWT(good).setProtectedHeader({ alg: "RS256" }).sign(privateKey),
      "another secret": forge(good, { alg: "HS256" }, other),
      "an empty secret": forge(good, { alg: "HS256" }, ""),
      "its own key": forge(good, { alg: "HS256", jwk }, other),
      "a path as a key id": forge(good, { alg: "HS256", kid: "../../dev/null" }, ""),
      "a URL of keys": forge(good, { alg: "HS256", jku: "http://127.0.0.1:9/keys" }, other),
      "an unknown critical option": forge(good, { alg: "HS256", crit: ["x"], x: 1 }),
      "an unencoded body": forge(good, { alg: "HS256", b64: false, crit: ["b64"] }),
    };
    for (const [what, token] of Object.entries(forged))
      expect(await refusal(token), what).toMatchObject({ code: "UNAUTHENTICATED" });
  });

  test("is refused with missing, wrong or empty claims", async () => {
    const good = { sub: "an", tenant: "acme", exp: SECONDS + 60 };
    for (const claims of [
      { ...good, exp: SECONDS - 1 },
      { ...good, exp: undefined },
      { ...good, exp: null },
      { ...good, exp: String(SECONDS + 60) },
      { ...good, exp: {} },
      { ...good, nbf: SECONDS + 600 },
      { ...good, tenant: undefined },
      { ...good, tenant: ["acme"] },
      { ...good, tenant: "" },
      { ...good, sub: "" },
      { ...good, sub: 7 },
      { ...good, sub: "a\0b" },
      { ...good, sub: ".." },
      { ...good, scopes: [] },
      { ...good, scopes: "read" },
      { ...good, scopes: ["tokens"] },
      { ...good, scopes: ["debug", "admin"] },
      { ...good, key: ["k"] },
      [good],
      "an",
    ])
      expect(await refusal(forge(claims)), JSON.stringify(claims)).toMatchObject({ code: "UNAUTHENTICATED" });
  });
});
