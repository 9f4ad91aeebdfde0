/**
 * `tokenRoutes` issue tokens for browsers and apps, and tickets for sockets and event streams. The developer's own server
 * requests the tokens for its users, or the app's own page does for the user who is signed in.
 * Invariant: a token never has a scope that its API key lacks, nor the scope `tokens`. Its tenant and key are those of
 * the caller. It is valid for at most one day if `seconds` is given, otherwise for 15 minutes. A ticket has no scope
 * that its caller lacks or that a token can't have, and expires with the caller's token. At a sign-in, the app's `user`
 * decides by the headers of the request. A page of another site can't read the answer, because the browser sends no
 * cookies to it or hides the response.
 */
import { z } from "zod";
import { ID_RULE, isId } from "../../../util/names.ts";
import { hasScope } from "../../auth/access.ts";
import { findUser } from "../../auth/sign-in.ts";
import { RequestError } from "../../errors.ts";
import { issueTicket } from "../../auth/tickets.ts";
import { issueToken } from "../../auth/tokens.ts";
import { API_PREFIX } from "../http-messages.ts";
import { type Route, defineRoute } from "../route.ts";

/** The socket must be opened within this time. */
const TICKET_TTL_MS = 30_000;
const SIGN_IN_PATH = "/sign-in";
const MAX_SCOPES = 50;
const MAX_SCOPE_LENGTH = 50;
const MAX_TOKEN_SECONDS = 24 * 60 * 60;

const createToken = defineRoute({
  method: "POST",
  path: "/tokens",
  summary: "Creates a token for one user, to pass to the user's browser or app.",
  scope: "tokens",
  body: z.strictObject({
    user_id: z.string().refine(isId, `must have ${ID_RULE}`),
    scopes: z.array(z.string().max(MAX_SCOPE_LENGTH)).min(1).max(MAX_SCOPES).exactOptional(),
    seconds: z.int().min(1).max(MAX_TOKEN_SECONDS).exactOptional(),
  }),
  async handle({ context, caller, body }) {
    const known = context.tokenRules.scopes;
    if (body.scopes?.every((scope) => known.includes(scope)) === false)
      throw new RequestError("BAD_REQUEST", `scopes must be of ${known.join(", ")}.`);
    const scopes = body.scopes ?? context.tokenRules.defaultScopes;
    const grantedScopes = scopes.filter((scope) => hasScope(caller, scope));
    if (grantedScopes.length === 0 || (body.scopes !== undefined && grantedScopes.length < scopes.length))
      throw new RequestError("FORBIDDEN", "A token can't have scopes that its API key does not have.");
    const { tenant, key } = caller;
    const ttlMs = body.seconds === undefined ? undefined : body.seconds * 1_000;
    const { maxTokenTtlMs } = context.limits;
    if (ttlMs !== undefined && ttlMs > maxTokenTtlMs)
      throw new RequestError("BAD_REQUEST", `seconds must be at most ${maxTokenTtlMs / 1_000}.`);
    const claims = { tenant, user: body.user_id, key, scopes: grantedScopes };
    // Without the user: pages renew their tokens several times in an hour.
    const subject = key === null ? {} : { key };
    const detail = { scopes: grantedScopes.toSorted() };
    await context.audit.noteHourly(tenant, { actor: null, action: "token.issued", subject, detail });
    return { status: 201, json: { ...(await issueToken(context, claims, ttlMs)), scopes: grantedScopes } };
  },
});

const createTicket = defineRoute({
  method: "POST",
  path: "/tickets",
  summary:
    "Creates a ticket for one socket or event stream. A page puts it into the URL, because it can't send headers. `now` is the server's time. A server without sockets adds `channels`.",
  scope: "read",
  body: z.strictObject({}),
  async handle({ context, caller, hasSockets }) {
    const { env } = context;
    const now = env.now();
    // A ticket must not open a connection for a token that has expired since.
    const goodUntil = Math.min(now + TICKET_TTL_MS, caller.expiresAt ?? Infinity);
    const ticket = issueTicket(caller, { id: env.id(), goodUntil }, context);
    // Otherwise a page would try two sockets before its first event stream.
    const channels = hasSockets ? {} : { channels: ["sse"] };
    return { status: 201, json: { ticket, expires_at: goodUntil, now, ...channels } };
  },
});

const signIn = defineRoute({
  method: "POST",
  path: SIGN_IN_PATH,
  summary:
    "Creates a token for the user who is signed in to the app. The app's `user` function decides who that is.",
  scope: null,
  async handle({ context, headers }) {
    if (context.signIn === null)
      throw new RequestError("NOT_FOUND", "This server has no sign-in. Create tokens with POST /tokens.");
    const user = await findUser(context.signIn, `${API_PREFIX}${SIGN_IN_PATH}`, headers);
    const { tenant } = context.signIn;
    const { defaultScopes: scopes } = context.tokenRules;
    const issued = await issueToken(context, { tenant, user, key: null, scopes });
    return { status: 200, json: { ...issued, user_id: user } };
  },
});

export const tokenRoutes: readonly Route[] = [createToken, createTicket, signIn];
