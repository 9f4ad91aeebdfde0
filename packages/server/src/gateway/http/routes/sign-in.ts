/**
 * `signInRoutes` give the app's own page a token for its signed-in user, so that the app needs no route for tokens.
 * Invariant: the app's `user` decides who signs in, by the headers of the request. A page of another site can't read
 * the answer, because the browser sends no cookies to it or hides the response.
 */
import { findUser } from "../../auth/sign-in.ts";
import { issueToken } from "../../auth/tokens.ts";
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
    if (context.signIn === null)
      throw new RequestError("NOT_FOUND", "This server has no sign-in. Create tokens with POST /tokens.");
    const user = await findUser(context.signIn, `${API_PREFIX}${PATH}`, headers);
    const { tenant } = context.signIn;
    const { defaultScopes: scopes } = context.tokenRules;
    const issued = await issueToken(context, { tenant, user, key: null, scopes });
    return { status: 200, json: { ...issued, user_id: user } };
  },
});

export const signInRoutes: readonly Route[] = [signIn];
