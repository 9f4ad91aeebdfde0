/** Whether a gateway was given what it needs. Pure; throws words that name the option and say what it should be. */
import { checkLimits } from "./check-limits.ts";
import type { GatewayOptions } from "./options.ts";

const MIN_SECRET = 32;

const PARTS = {
  store: "what `postgresStore(openDatabase({ url }))` gives",
  log: "what `await createRedisLog({ url })` gives",
  signals: "what `createRedisSignals({ url })` gives",
} as const;

/** Throws a TypeError or RangeError. What comes from an environment may be missing, whatever its type says. */
export function checkOptions(options: GatewayOptions): void {
  for (const [name, words] of Object.entries(PARTS)) {
    const part: unknown = options[name as keyof typeof PARTS];
    if (typeof part !== "object" || part === null || part instanceof Promise)
      throw new TypeError(`\`${name}\` must be ${words}.`);
  }
  checkSecrets(options.secrets);
  for (const origin of options.origins ?? [])
    if (!isOrigin(origin))
      throw new RangeError(
        `\`origins\` has ${JSON.stringify(origin)}, which no page can have: it must be as browsers send it, such as https://app.example.com, without a path and without a slash at its end.`,
      );
  checkLimits(options.limits ?? {});
}

function checkSecrets(secrets: unknown): void {
  const isList = Array.isArray(secrets) && secrets.length > 0;
  if (!isList || !secrets.every((secret) => typeof secret === "string"))
    throw new TypeError(
      `\`secrets\` must be a list of texts, each of at least ${MIN_SECRET} bytes that nobody can guess.`,
    );
  if (secrets.some((secret) => Buffer.byteLength(secret) < MIN_SECRET))
    throw new RangeError(`each of the secrets must have at least ${MIN_SECRET} bytes that nobody can guess`);
}

/** Apps have schemes of their own, which URL knows no origin for. `null` is what a page in a sandbox sends. */
function isOrigin(origin: unknown): boolean {
  if (typeof origin !== "string") return false;
  if (/^https?:/i.test(origin)) return URL.canParse(origin) && new URL(origin).origin === origin;
  return origin === "null" || /^[a-z][a-z0-9+.-]*:\/\/[^/?#\s]+$/.test(origin);
}
