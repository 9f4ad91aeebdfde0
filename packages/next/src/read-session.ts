/**
 * `readSession` reads a session for the user of a request, so that a server component can render it.
 * Invariant: it reads with a token of that user, so the page never contains what the user may not see. The requests stay
 * in the process.
 */
import { ClientError, createClient, dehydrateSession, type DehydrateOptions } from "@turnstream/client";
import type { Turnstream } from "@turnstream/server";

/** The host in the URLs of requests that never leave the process. */
const BASE = "http://localhost";

/**
 * @param headers the headers of the page's request: `await headers()` of `next/headers`
 * @returns the snapshot for `client.session(id, { snapshot })`; null if the user is not signed in or has no such session
 */
export async function readSession(
  app: Turnstream,
  sessionId: string,
  headers: Headers,
  options?: DehydrateOptions,
): Promise<string | null> {
  const request: typeof fetch = (url, init) => app.handle(new Request(url, init));
  const auth = async (): Promise<{ readonly token: string }> => {
    const response = await request(`${BASE}/api/v1/sign-in`, { method: "POST", headers: ofUser(headers) });
    if (!response.ok) throw new ClientError("UNAUTHENTICATED", "The user is not signed in.");
    return (await response.json()) as { readonly token: string };
  };
  const client = createClient({ url: BASE, auth, env: { fetch: request, storage: null } });
  try {
    const session = client.session(sessionId);
    await session.refresh();
    return dehydrateSession(session, options);
  } catch (error) {
    const isRefused = error instanceof ClientError && ["UNAUTHENTICATED", "NOT_FOUND"].includes(error.code);
    if (isRefused) return null;
    throw error;
  } finally {
    client.close();
  }
}

/** The request that signs in has no body. */
function ofUser(headers: Headers): Headers {
  const own = new Headers(headers);
  for (const name of ["content-length", "content-type", "transfer-encoding"]) own.delete(name);
  return own;
}
