/** Sends requests to a gateway like an app: JSON in, JSON out, and an error for a refused request. */
import type { Endpoint } from "@turnstream/conformance/clients/connections.ts";

export class RestRefused extends Error {
  override readonly name = "RestRefused";
  readonly status: number;
  readonly error: unknown;

  constructor(status: number, body: unknown) {
    super(`refused with ${status}: ${JSON.stringify(body)}`);
    this.status = status;
    this.error = (body as { error?: unknown }).error;
  }
}

/** @param path the path after `/api/v1` */
export async function rest<T>(
  { url, headers }: Endpoint,
  method: "GET" | "POST" | "PUT",
  path: string,
  body?: object,
): Promise<T> {
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { ...headers, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as T;
  if (!response.ok) throw new RestRefused(response.status, answer);
  return answer;
}
