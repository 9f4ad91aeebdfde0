/** The one client of the page. Signing in is a matter of our own server: see processes/sign-in.ts. */
import { createClient } from "@turnstream/client";

async function signIn(): Promise<{ token: string }> {
  const answer = await fetch("/sign-in", { method: "POST" });
  if (!answer.ok) throw new Error(`Signing in failed (${answer.status}).`);
  return (await answer.json()) as { token: string };
}

export const client = createClient({ url: location.origin, auth: signIn });
