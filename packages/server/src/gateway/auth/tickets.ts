/**
 * `issueTicket` and `authenticateByTicket` authenticate sockets and event streams of pages, which can't send headers
 * when they open a `WebSocket` or an `EventSource`. The page requests a ticket and puts it into the URL.
 * Invariant: a ticket is signed, short-lived and opens one connection only, so a ticket in an access log is worthless. It
 * is marked as used last, after the checks of signature, expiry and key. It has the expiry of its caller, and those scopes
 * of its caller that a token can have: a page never gets a scope that is for servers.
 */
import { isStoreError } from "../../store/errors.ts";
import { readSigned, signText } from "../../store/rules/signed-text.ts";
import type { Store } from "../../store/store.ts";
import { defined } from "../../util/defined.ts";
import { runAs } from "../../util/work-owner.ts";
import { hasScope } from "./access.ts";
import { type AuthContext, requireActiveKey } from "./authenticate.ts";
import type { Caller } from "../caller.ts";
import { SignInError } from "../errors.ts";
import type { TokenIssuer } from "./tokens.ts";

const PURPOSE = "ticket";

interface Ticket extends Omit<Caller, "from" | "clientId"> {
  readonly id: string;
  readonly goodUntil: number;
}

export function issueTicket(
  { from: _, clientId: __, ...caller }: Caller,
  ticketFields: Pick<Ticket, "id" | "goodUntil">,
  { secrets: [secret], tokenRules }: Pick<TokenIssuer, "secrets" | "tokenRules">,
): string {
  const scopes = tokenRules.scopes.filter((scope) => hasScope(caller, scope));
  const ticket: Ticket = { ...caller, ...ticketFields, scopes };
  return signText(JSON.stringify(ticket), PURPOSE, secret);
}

/**
 * Returns the caller and invalidates the ticket.
 * @throws RequestError with code `UNAUTHENTICATED`
 */
export async function authenticateByTicket(
  context: AuthContext,
  text: string,
  headers: ReadonlyMap<string, string>,
  from: string,
): Promise<Caller> {
  if (headers.has("x-api-key") || headers.has("authorization"))
    throw new SignInError(
      { type: "sign_in_refused", reason: "several_credentials" },
      "Send a ticket, or x-api-key or authorization, not both.",
    );
  const { store, secrets, env } = context;
  const signed = readSigned(text, PURPOSE, secrets);
  if (signed === null)
    throw refuse({ type: "signature_invalid", reason: "ticket" }, "The signature of the ticket is invalid.");
  const { id, goodUntil, ...caller } = JSON.parse(signed) as Ticket;
  const { tenant, user, key } = caller;
  const source = { tenant, user, ...defined({ key: key ?? undefined }) };
  if (goodUntil <= env.now())
    throw refuse({ type: "sign_in_refused", reason: "ticket_expired", ...source }, "The ticket has expired.");
  return runAs(caller, async () => {
    await requireActiveKey(store, caller);
    if (!(await redeemOnce(store, tenant, id, goodUntil)))
      throw refuse(
        { type: "sign_in_refused", reason: "ticket_used", ...source },
        "The ticket was already used, and each connection needs its own.",
      );
    return { ...caller, from, clientId: env.id() };
  });
}

/** An `EventSource` reconnects with its old URL, so the error states how to get another one. */
function refuse(event: SignInError["event"], problem: string): SignInError {
  return new SignInError(
    event,
    `${problem} Request a new ticket with POST /api/v1/tickets, and connect with it and your last cursor.`,
  );
}

async function redeemOnce(store: Store, tenant: string, id: string, expiresAt: number): Promise<boolean> {
  try {
    return await store.tickets.redeem(tenant, id, expiresAt);
  } catch (error) {
    // The tenant was deleted.
    if (isStoreError(error, "NOT_FOUND")) return false;
    throw error;
  }
}
