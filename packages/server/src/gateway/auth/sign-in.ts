/**
 * `SignIn` is how the gateway finds out which user of the app sends a request. `findUser` calls the app's function. The
 * route is in http/routes/tokens.ts.
 * Invariant: the app's function sees only the headers of the request, never its body. Its answer is checked like any
 * id from outside.
 */
import { z } from "zod";
import { ID_RULE, isId } from "../../util/names.ts";
import { func, type OptionsOutput } from "../../util/parse-options.ts";
import { RequestError } from "../errors.ts";

/** Returns the id of the user who sends the request, or null if the user is not signed in. */
export type UserOf = (request: Request) => string | null | undefined | Promise<string | null | undefined>;

const signInShape = {
  /** The tenant of all users. */
  tenant: z.string(),
  /** Returns the id of the user who sends a request, or null if the user is not signed in. */
  user: func<UserOf>(),
};

export interface SignIn extends OptionsOutput<typeof signInShape> {}

export const signInOptions: z.ZodType<SignIn, SignIn> = z.strictObject(signInShape);

/** The host in the URL of the request that the app sees. Apps read headers and cookies, not the URL. */
const UNKNOWN_HOST = "localhost";

/**
 * @throws RequestError UNAUTHENTICATED if the user is not signed in
 * @throws TypeError if the app returned something else than an id
 */
export async function findUser(
  { user }: SignIn,
  path: string,
  headers: ReadonlyMap<string, string>,
): Promise<string> {
  const host = headers.get("host") ?? UNKNOWN_HOST;
  const base = URL.canParse(`http://${host}`) ? `http://${host}` : `http://${UNKNOWN_HOST}`;
  const found = await user(new Request(new URL(path, base), { method: "POST", headers: [...headers] }));
  if (found === null || found === undefined)
    throw new RequestError("UNAUTHENTICATED", "You are not signed in. Sign in to the app, then try again.");
  if (!isId(found))
    throw new TypeError(`\`user\` must return an id with ${ID_RULE}, or null if the user is not signed in.`);
  return found;
}
