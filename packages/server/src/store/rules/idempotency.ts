/**
 * `resolveIdempotentRequest` decides what `begin` returns for a known key, and `checkAnswer` which responses can be
 * stored. Pure.
 *
 * Invariant: a key with another digest is neither executed nor answered. A stored response is returned again, and a
 * claimed request is `busy`. Only null permits the caller to execute the request.
 */
import type { Json } from "@turnstream/protocol";
import { StoreError } from "../errors.ts";
import type { BeginResult, StoredResponse, RequestKey } from "../ports/access.ts";
import { checkId } from "./arguments.ts";

const MAX_BYTES = 256 * 1024;

export interface RequestState {
  readonly digest: string;
  /** Null while there is no response. */
  readonly status: number | null;
  readonly body: Json | null;
  readonly isClaimed: boolean;
}

/** Returns null if the caller may execute the request. */
export function resolveIdempotentRequest(
  row: RequestState,
  digest: string,
): Exclude<BeginResult, { state: "yours" }> | null {
  if (row.digest !== digest) return { state: "different" };
  if (row.status !== null) return { state: "done", answer: { status: row.status, body: row.body } };
  return row.isClaimed ? { state: "busy" } : null;
}

export function checkIdempotentRequest({ route, key }: RequestKey): RequestKey {
  return { route: checkId(route, "route"), key: checkId(key, "idempotency key") };
}

/** @returns the body as it is stored */
export function checkAnswer({ status, body }: StoredResponse): string {
  if (!Number.isInteger(status) || status < 100 || status > 599)
    throw new StoreError("INVALID", "response status must be an HTTP status from 100 to 599");
  const json = JSON.stringify(body) as string | undefined;
  if (json === undefined) throw new StoreError("INVALID", "response body must be JSON");
  if (Buffer.byteLength(json) > MAX_BYTES) throw new StoreError("TOO_LARGE", "response body");
  return json;
}
