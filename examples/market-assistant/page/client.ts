/** `client` is the only client of the page. It signs in through our own server; see processes/sign-in.ts. */
import { ClientError, createClient } from "@turnstream/client";

async function signIn(): Promise<{ token: string }> {
  const answer = await fetch("/sign-in", { method: "POST" });
  // The example accepts every visitor. With real accounts, this error sends the user to the sign-in page.
  if (answer.status === 401) throw new ClientError("UNAUTHENTICATED", "Sign in again.");
  if (!answer.ok) throw new Error(`The sign-in failed with status ${answer.status}.`);
  return (await answer.json()) as { token: string };
}

export const client = createClient({ url: location.origin, auth: signIn });
