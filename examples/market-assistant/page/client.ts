/** The one client of the page. Signing in is a matter of our own server: see processes/sign-in.ts. */
import { ClientError, createClient } from "@turnstream/client";

async function signIn(): Promise<{ token: string }> {
  const answer = await fetch("/sign-in", { method: "POST" });
  // Whoever comes is let in here; where people have accounts, this is what sends them to sign in.
  if (answer.status === 401) throw new ClientError("UNAUTHENTICATED", "Sign in again.");
  if (!answer.ok) throw new Error(`Signing in failed (${answer.status}).`);
  return (await answer.json()) as { token: string };
}

export const client = createClient({ url: location.origin, auth: signIn });
