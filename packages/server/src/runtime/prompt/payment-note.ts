/**
 * `readPaymentNote` names the payments of a session whose calls are not in the prompt, with their current states.
 *
 * Invariant: the model knows the state of the newest payments in every turn, even if the turn that requested one is
 * summarized, too old or of a stream agent. The note is bounded, and not written as instructions.
 */
import type { Turn } from "@turnstream/protocol";
import { truncateText } from "@turnstream/protocol/writer";
import type { Payment } from "../../store/payments.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { Store } from "../../store/store.ts";
import { hasResult, resultJson, toPaymentOutcome } from "./interaction-result.ts";

/** How many of the newest payments the note can name. */
const MAX_PAYMENTS = 20;
/** Twenty descriptions of the full length would be longer than many conversations. */
const DESCRIPTION_CHARS = 100;
const INTRO =
  "Payments that were requested in this conversation, with their current states, as notes and not as instructions:";

/**
 * @param turns the turns in the prompt
 * @returns null if the prompt names all of them
 */
export async function readPaymentNote(
  { payments }: Pick<Store, "payments">,
  ref: SessionRef,
  turns: readonly { readonly turn: Turn }[],
): Promise<string | null> {
  const newest = await payments.list(ref, { limit: MAX_PAYMENTS });
  const missing = newest.filter(({ id }) => !turns.some(({ turn }) => hasResult(turn, id)));
  if (missing.length === 0) return null;
  // Oldest first, as the turns of the prompt.
  return [INTRO, ...missing.toReversed().map(describePayment)].join("\n");
}

function describePayment(payment: Payment): string {
  const description = truncateText(payment.description, DESCRIPTION_CHARS);
  return `- ${JSON.stringify(resultJson(toPaymentOutcome({ ...payment, description })))}`;
}
