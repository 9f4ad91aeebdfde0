/**
 * `signIn` gets a token for the user whom the gateway recognizes by its cookies, from `POST /api/v1/sign-in`.
 * Invariant: a user who is not signed in causes UNAUTHENTICATED, which closes the connection. A gateway without sign-in
 * causes BAD_REQUEST, which a retry can't fix either. The client retries after every other error.
 */
import { ClientError } from "../errors.ts";
import { jsonInit } from "../http/api.ts";
import { errorFromConnectResponse } from "../http/error-response.ts";
import type { Credentials } from "./auth.ts";

/**
 * Pass it as `auth` of `createClient`, if the gateway has a `user` function.
 * @param url the address of the gateway. @default the origin of the page
 */
export async function signIn(url = ""): Promise<Credentials> {
  const response = await fetch(`${url.replace(/\/+$/, "")}/api/v1/sign-in`, jsonInit("POST", {}));
  if (!response.ok) {
    const error = await errorFromConnectResponse(response);
    if (error.code !== "NOT_FOUND") throw error;
    const message =
      "The gateway has no sign-in. Set `user` in `turnstream({ user })`, or pass your own `auth` to `createClient`.";
    throw new ClientError("BAD_REQUEST", message, { cause: error });
  }
  const { token } = (await response.json()) as { readonly token: string };
  return { token };
}
