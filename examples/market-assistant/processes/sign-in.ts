/**
 * `addSignIn` simulates a sign-in: every visitor is a guest with a cookie that only this server reads. The rest is as
 * in production: the server exchanges the API key, which it never sends to a page, for a short-lived token of the user.
 */
import { randomUUID } from "node:crypto";
import type { FastifyInstance } from "fastify";

export interface SignIn {
  readonly api: () => string;
  readonly key: string;
}

const COOKIE = "market_guest";
const YEAR_SECONDS = 365 * 24 * 60 * 60;
const TOKEN_SECONDS = 900;
const GUEST = /(?:^|;\s*)market_guest=(guest-[0-9a-f-]{36})(?:;|$)/;

export function addSignIn(app: FastifyInstance, { api, key }: SignIn): void {
  app.post("/sign-in", async (request, reply) => {
    // Prevents another site from signing users in.
    if (request.headers["sec-fetch-site"] === "cross-site") return reply.code(403).send({});
    const known = GUEST.exec(request.headers.cookie ?? "")?.[1];
    const user = known ?? `guest-${randomUUID()}`;
    const answer = await fetch(`${api()}/api/v1/tokens`, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: JSON.stringify({ user_id: user, seconds: TOKEN_SECONDS }),
    });
    if (!answer.ok) return reply.code(502).send({});
    const { token } = (await answer.json()) as { token: string };
    const cookie = `${COOKIE}=${user}; Path=/; Max-Age=${YEAR_SECONDS}; HttpOnly; SameSite=Strict`;
    return reply.header("set-cookie", cookie).header("cache-control", "no-store").send({ token });
  });
}
