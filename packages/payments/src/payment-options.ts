/**
 * `PaymentOptions` are the options of `payments()`.
 *
 * Invariant: a public address must be HTTPS, because the checkout token is part of it.
 */
import { z } from "zod";
import { integer, type OptionsInput, type OptionsOutput } from "@turnstream/server/internal";
import type { PaymentProvider } from "./provider.ts";

/** About ten years, as for the deadlines of forms. */
const MAX_MS = 10 * 366 * 24 * 60 * 60 * 1_000;
const METHODS = ["checkMoney", "checkout", "readNotification", "query"] satisfies (keyof PaymentProvider)[];
const PROVIDER_NAME = /^[a-z][a-z0-9-]{0,31}$/;
const LOCAL_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

const providers = z
  .custom<readonly [PaymentProvider, ...PaymentProvider[]]>()
  .superRefine((list: unknown, context) => {
    const expect = (isValid: boolean, message: string, path: PropertyKey[], input: unknown): void => {
      if (!isValid) context.addIssue({ code: "custom", message, path, input });
    };
    if (!Array.isArray(list) || list.length === 0)
      return expect(false, "a list of at least one provider", [], list);
    const names = new Set<unknown>();
    for (const [n, provider] of (list as readonly unknown[]).entries()) {
      if (!isRecord(provider)) return expect(false, "a provider", [n], provider);
      const { name } = provider;
      const isName = typeof name === "string" && PROVIDER_NAME.test(name);
      expect(isName, "a letter followed by up to 31 of a-z 0-9 -", [n, "name"], name);
      expect(!names.has(name), "different from the names of the others", [n, "name"], name);
      names.add(name);
      for (const method of METHODS)
        expect(typeof provider[method] === "function", "a function", [n, method], provider[method]);
    }
  });

const paymentShape = {
  /** The first provider is the default. */
  providers,
  /** Public base URL of the gateway, such as https://chat.example.com. */
  publicUrl: z.string().superRefine((value, context) => {
    const url = URL.parse(value);
    const isLocal = url?.protocol === "http:" && LOCAL_HOSTS.includes(url.hostname);
    const isPlain =
      url !== null && [url.search, url.hash, url.username, url.password].every((part) => part === "");
    if (isPlain && (url.protocol === "https:" || isLocal)) return;
    context.addIssue(
      "the public HTTPS address of the gateway, without user, query and fragment (HTTP is allowed only on localhost)",
    );
  }),
  /** A payment that is still `pending` or `processing` after this time expires. @default 3_600_000 */
  expiresMs: integer(1, MAX_MS).default(3_600_000),
  /**
   * When the worker first asks the provider about a `processing` payment. Later queries back off to at most 10 minutes.
   * @default 60_000
   */
  queryAfterMs: integer(1, MAX_MS).default(60_000),
};

export interface PaymentOptions extends OptionsInput<typeof paymentShape> {}
export interface ResolvedPaymentOptions extends OptionsOutput<typeof paymentShape> {}

export const paymentOptions: z.ZodType<ResolvedPaymentOptions, PaymentOptions> = z.strictObject(paymentShape);

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
