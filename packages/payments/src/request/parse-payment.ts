/**
 * `parsePayment` validates a payment that a tool, a model or a stream agent asks for, and returns it or a description
 * of the problem. Pure.
 *
 * Invariant: invalid input never throws. A returned payment names one of the providers, which accepts its sum.
 */
import { MAX_LABEL } from "@turnstream/protocol/writer";
import type { ResolvedPaymentOptions } from "../payment-options.ts";
import type { Money } from "../provider.ts";
import { type EndingRequest, show } from "@turnstream/server/internal";

export interface PaymentSpec extends Money {
  /** What the user pays for, 1 to 500 characters. */
  readonly description: string;
  /** Name of the provider. Default: the first provider. */
  readonly provider?: string;
  /** Starts the next turn when the payment is final. False: the next message of the user does. @default true */
  readonly continueAfter?: boolean;
}

/** A valid payment, with its defaults. */
export interface RequestedPayment extends EndingRequest, Money {
  readonly kind: "payment";
  readonly description: string;
  readonly provider: string;
  readonly continues: boolean;
}

type ParsedPayment =
  | { readonly ok: true; readonly request: RequestedPayment }
  | { readonly ok: false; readonly problem: string };

const CURRENCY = /^[A-Z]{3}$/;

export function parsePayment(
  {
    description,
    amount,
    currency,
    provider: name,
    continueAfter = true,
  }: Partial<Record<keyof PaymentSpec, unknown>>,
  { providers }: Pick<ResolvedPaymentOptions, "providers">,
): ParsedPayment {
  if (typeof description !== "string" || description.trim() === "" || description.length > MAX_LABEL)
    return problem(
      `\`description\` must be a text of 1 to ${MAX_LABEL} characters, got ${showText(description)}`,
    );
  if (typeof amount !== "number" || !Number.isSafeInteger(amount) || amount < 1)
    return problem(
      `\`amount\` must be a whole number of at least 1, in the smallest unit of the currency, got ${show(amount)}`,
    );
  if (typeof currency !== "string" || !CURRENCY.test(currency))
    return problem(`\`currency\` must be an ISO 4217 code such as TWD, got ${showText(currency)}`);
  if (typeof continueAfter !== "boolean")
    return problem(`whether to continue after the payment must be true or false, got ${show(continueAfter)}`);
  const provider = name === undefined ? providers[0] : providers.find((each) => each.name === name);
  if (provider === undefined) {
    const names = providers.map((each) => each.name).join(", ");
    return problem(`\`provider\` must be one of ${names}, got ${showText(name)}`);
  }
  const refusal = provider.checkMoney({ amount, currency });
  if (refusal !== null) return problem(refusal);
  return {
    ok: true,
    request: {
      kind: "payment",
      description,
      amount,
      currency,
      provider: provider.name,
      continues: continueAfter,
    },
  };
}

function problem(text: string): ParsedPayment {
  return { ok: false, problem: text };
}

/** A long text is named by its length, because an error result must stay short. */
function showText(value: unknown): string {
  return typeof value === "string" && value.length > 64 ? `${value.length} characters` : show(value);
}
