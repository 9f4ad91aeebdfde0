/** Getting in: credentials and a ticket. Both are asked for before every connect; the answer also tells the server's time. */
import type { Api } from "../http/api.ts";
import { refusalAtDoor } from "../http/error-response.ts";
import { ClientError } from "../errors.ts";
import type { ClientEnv, Credentials } from "../options.ts";

export interface Admission {
  readonly credentials: Credentials;
  readonly ticket: string;
  /** The server's clock minus this machine's; null when it isn't told. */
  readonly skewMs: number | null;
}

/** Rejects with a ClientError: UNAUTHENTICATED when these credentials let nobody in. */
export async function admission(
  api: Api,
  env: Pick<ClientEnv, "now">,
  renew: boolean,
  signal: AbortSignal,
): Promise<Admission> {
  const { auth } = api;
  if (renew && auth.known !== null) auth.refused(auth.known);
  // Not part of the way to the server and back.
  await auth.get();
  const before = env.now();
  const response = await api.request("/tickets", { method: "POST", signal });
  const after = env.now();
  if (!response.ok) throw await refusalAtDoor(response);
  const { ticket, now } = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  const credentials = auth.known;
  if (typeof ticket !== "string" || credentials === null)
    throw new ClientError("SERVER_ERROR", "The server gave no ticket.", { canRetry: true });
  const skewMs = typeof now === "number" ? now - Math.round((before + after) / 2) : null;
  return { credentials, ticket, skewMs };
}
