/**
 * `authorizeUpgrade` decides whether a client may open a socket, and in which dialect.
 * Invariant: it runs before the upgrade, so that an error is an HTTP response. Pages of origins that are not allowed
 * are always rejected, before any credential is checked. A ticket is accepted only with an origin and without other
 * credentials, because only pages use tickets. The query has no other parameters, so a key or token in the URL is
 * refused.
 */
import type { IncomingMessage } from "node:http";
import { z } from "zod";
import { requireScope } from "../auth/access.ts";
import { authenticate } from "../auth/authenticate.ts";
import type { Caller } from "../caller.ts";
import { nodeHeaders } from "../http/node-request.ts";
import { type HttpContext, isFromAllowedOrigin } from "../http/handle-request.ts";
import { RequestError } from "../errors.ts";
import { authenticateByTicket } from "../auth/tickets.ts";
import { reportRefusedSignIn } from "../auth/security-events.ts";

/** `responses` is available as an event stream only. */
const SOCKET_DIALECTS = ["blocks", "native", "tasks"] as const;

export interface AuthorizedUpgrade {
  readonly caller: Caller;
  readonly dialect: (typeof SOCKET_DIALECTS)[number];
  /** Counts the socket as closed. */
  readonly release: () => void;
}

/** No other parameters: URLs appear in logs, so a key or token in the URL is rejected. */
const query = z.strictObject({
  dialect: z.enum(SOCKET_DIALECTS).default("blocks"),
  ticket: z.string().max(8_000).exactOptional(),
});

/**
 * @param search the query of the URL
 * @throws an error for `toErrorResponse`
 */
export async function authorizeUpgrade(
  http: HttpContext,
  incoming: IncomingMessage,
  { search, from }: { readonly search: URLSearchParams; readonly from: string },
): Promise<AuthorizedUpgrade> {
  const headers = nodeHeaders(incoming);
  if (!isFromAllowedOrigin(http, headers, { from, reason: "socket" }))
    throw new RequestError("FORBIDDEN", "Pages of this origin may not open sockets here.");
  const { dialect, ticket } = query.parse(Object.fromEntries(search));
  const { limiter } = http.context;
  const caller = await limiter.guardSignIn({ from, isGuessable: headers.has("x-api-key") }, () =>
    reportRefusedSignIn(http.context, from, () =>
      ticket === undefined
        ? authenticate(http.context, headers, from)
        : authenticatePage(http, ticket, headers, from),
    ),
  );
  requireScope(caller, "read");
  return { caller, dialect, release: await limiter.countRequest(caller, { opens: "sockets" }) };
}

/**
 * Only pages need tickets, and pages send an origin. A request without one may use a ticket that was copied from a URL.
 */
async function authenticatePage(
  { context }: HttpContext,
  ticket: string,
  headers: ReadonlyMap<string, string>,
  from: string,
): Promise<Caller> {
  if (!headers.has("origin")) {
    context.reportSecurityEvent({ type: "sign_in_refused", reason: "ticket_without_page" }, from);
    throw new RequestError(
      "FORBIDDEN",
      "Tickets are for web pages, but this request has no origin. Send a token in the authorization header.",
    );
  }
  return authenticateByTicket(context, ticket, headers, from);
}
