/**
 * `readClaims` reads the user and lifetime of a token without verifying it.
 * Invariant: claims are used only for names and timers, never for access. No token makes it throw: unreadable claims
 * are null.
 */

export interface Claims {
  readonly tenant: string | null;
  readonly sub: string | null;
  /** The lifetime of the token from its issue, in milliseconds. */
  readonly lifeMs: number | null;
}

const NO_CLAIMS: Claims = { tenant: null, sub: null, lifeMs: null };

export function readClaims(token: string): Claims {
  const body = token.split(".")[1];
  if (body === undefined) return NO_CLAIMS;
  try {
    const bytes = Uint8Array.from(atob(body.replaceAll("-", "+").replaceAll("_", "/")), (char) =>
      char.charCodeAt(0),
    );
    const { tenant, sub, iat, exp } = JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
    return {
      tenant: typeof tenant === "string" ? tenant : null,
      sub: typeof sub === "string" ? sub : null,
      lifeMs: typeof exp === "number" && typeof iat === "number" ? (exp - iat) * 1_000 : null,
    };
  } catch {
    return NO_CLAIMS;
  }
}
