/**
 * `signInRoutes` give the app's own page a token for its signed-in user, so that the app needs no route for tokens.
 * Invariant: the app's `user` decides who signs in, by the headers of the request. A page of another site can't read
 * the answer, because the browser sends no cookies to it or hides the response.
 */
import { findUser } from "../../auth/sign-in.ts";
import { signToken, TOKEN_SCOPES } from "../../auth/tokens.ts";
import { RequestError } from "../../errors.ts";
import { API_PREFIX } from "../http-messages.ts";
import { type Route, defineRoute } from "../route.ts";

const PATH = "/sign-in";

const signIn = defineRoute({
  method: "POST",
  path: PATH,
  summary:
    "Creates a token for the user who is signed in to the app. The app's `user` function decides who that is.",
  scope: null,
  async handle({ context, headers }) {
    const { env, limits, secrets } = context;
    if (context.signIn === null)
      throw new RequestError("NOT_FOUND", "This server has no sign-in. Create tokens with POST /tokens.");
    const user = await findUser(context.signIn, `${API_PREFIX}${PATH}`, headers);
    const now = env.now();
    const expiresAt = Math.floor((now + limits.tokenTtlMs) / 1_000) * 1_000;
    const scopes = TOKEN_SCOPES.filter((scope) => scope !== "knowledge");
    const { tenant } = context.signIn;
    const token = await signToken({ tenant, user, key: null, scopes, expiresAt }, secrets[0], now);
    return { status: 200, json: { token, expires_at: expiresAt, user_id: user } };
  },
});

export const signInRoutes: readonly Route[] = [signIn];
