/**
 * `issueTicket` and `redeemTicket` authenticate sockets of browsers, which can't send headers when they open a socket.
 * The page requests a ticket and puts it into the URL.
 * Invariant: a ticket is signed, short-lived and opens one socket only, so a ticket in an access log is worthless. It
 * is marked as used last, after the checks of signature, expiry and key. It has exactly the permissions and the expiry
 * of its caller.
 */
import { isStoreError } from "../../store/errors.ts";
import { readSigned, signText } from "../../store/rules/signed-text.ts";
import { type AuthContext, requireActiveKey } from "./authenticate.ts";
import type { Caller } from "../caller.ts";
import { RequestError } from "../errors.ts";

const PURPOSE = "ticket";

interface Ticket extends Omit<Caller, "from"> {
  readonly id: string;
  readonly goodUntil: number;
}

export function issueTicket(
  { from: _, ...caller }: Caller,
  ticketFields: Pick<Ticket, "id" | "goodUntil">,
  secret: string,
): string {
  const ticket: Ticket = { ...caller, ...ticketFields };
  return signText(JSON.stringify(ticket), PURPOSE, secret);
}

/**
 * Returns the caller and invalidates the ticket.
 * @throws RequestError with code `UNAUTHENTICATED`
 */
export async function redeemTicket(context: AuthContext, text: string, from: string): Promise<Caller> {
  const { store, secrets, env } = context;
  const signed = readSigned(text, PURPOSE, secrets);
  if (signed === null)
    throw new RequestError(
      "UNAUTHENTICATED",
      "The signature of the ticket is invalid. Request a new ticket.",
    );
  const { id, goodUntil, ...caller } = JSON.parse(signed) as Ticket;
  if (goodUntil <= env.now())
    throw new RequestError("UNAUTHENTICATED", "The ticket has expired. Request a new ticket.");
  await requireActiveKey(store, caller.key);
  if (!(await redeemOnce(context, caller.tenant, id, goodUntil)))
    throw new RequestError("UNAUTHENTICATED", "The ticket was already used. Request a new ticket.");
  return { ...caller, from };
}

async function redeemOnce(
  { store }: AuthContext,
  tenant: string,
  id: string,
  expiresAt: number,
): Promise<boolean> {
  try {
    return await store.tickets.redeem(tenant, id, expiresAt);
  } catch (error) {
    // The tenant was deleted.
    if (isStoreError(error, "NOT_FOUND")) return false;
    throw error;
  }
}
