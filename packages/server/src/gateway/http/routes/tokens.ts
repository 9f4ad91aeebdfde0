/** Routes by which a team's own server lets its people in: tokens for apps and browsers, tickets for sockets. */
import { z } from "zod";
import { isId } from "../../../store/rules/arguments.ts";
import { isAllowed } from "../../auth/access.ts";
import { Refused } from "../../errors.ts";
import { makeTicket } from "../../auth/tickets.ts";
import { makeToken, OF_TOKENS } from "../../auth/tokens.ts";
import { type Route, route } from "../route.ts";

const MAX_TOKEN_SECONDS = 24 * 60 * 60;

const createToken = route({
  method: "POST",
  path: "/tokens",
  does: "Makes a token for one person, to be handed to their browser or app.",
  action: "tokens",
  body: z.strictObject({
    user_id: z.string().refine(isId, "must have 1 to 256 characters"),
    scopes: z.array(z.enum(OF_TOKENS)).min(1).exactOptional(),
    seconds: z.int().min(1).max(MAX_TOKEN_SECONDS).exactOptional(),
  }),
  async handle({ parts, caller, body }) {
    const { env, limits, secrets } = parts;
    const scopes = body.scopes ?? OF_TOKENS.filter((action) => action !== "knowledge");
    const own = scopes.filter((action) => isAllowed(caller, action));
    if (own.length === 0 || (body.scopes !== undefined && own.length < scopes.length))
      throw new Refused("FORBIDDEN", "A token can't do more than the key that makes it.");
    const now = env.now();
    const expiresAt = Math.floor((now + (body.seconds ?? limits.tokenMs / 1_000) * 1_000) / 1_000) * 1_000;
    const { tenant, key } = caller;
    const token = await makeToken(
      { tenant, user: body.user_id, key, scopes: own, expiresAt },
      secrets[0],
      now,
    );
    return { status: 201, json: { token, expires_at: expiresAt, scopes: own } };
  },
});

const createTicket = route({
  method: "POST",
  path: "/tickets",
  does: "Makes a ticket for one socket: what a page puts into the address, since it can send no headers. `now` is the server's time.",
  action: "read",
  body: z.strictObject({}),
  async handle({ parts, caller }) {
    const { env, limits, secrets } = parts;
    const now = env.now();
    const goodUntil = now + limits.ticketMs;
    const ticket = makeTicket(caller, { id: env.id(), goodUntil }, secrets[0]);
    return { status: 201, json: { ticket, expires_at: goodUntil, now } };
  },
});

export const tokenRoutes: readonly Route[] = [createToken, createTicket];
