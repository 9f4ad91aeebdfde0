/**
 * `createHealthCheck` answers `/healthz` (the process is alive) and `/readyz` (store and log are reachable and accept
 * writes).
 * Invariant: the paths are public, so they reveal only one status word, and requests share one check per 500 ms. A
 * check fails after 2 seconds. It sends no write of its own: the log tests one in each health check, and the store
 * remembers writes that a full disk refused. During shutdown `/readyz` fails without a check.
 */
import type { Backend } from "../../session/backend.ts";
import { sleep } from "../../util/sleep.ts";
import { jsonResponse } from "./handle-request.ts";
import type { HttpResponse } from "./http-messages.ts";

const CHECK_TIMEOUT_MS = 2_000;
/** How long a result is reused. The paths are public, so requests must not each trigger a check. */
const FRESH_MS = 500;
/** Names no session and no tenant: the check needs only a response. */
const PROBE = { tenant: "readyz", session: "readyz" };

/** @returns null for another path */
export function createHealthCheck(
  backend: Backend,
  isClosing: () => boolean,
): (path: string) => Promise<HttpResponse | null> {
  let lastCheck: { readonly at: number; readonly result: Promise<boolean> } | null = null;
  const isReady = () => {
    const now = performance.now();
    if (lastCheck === null || now - lastCheck.at > FRESH_MS)
      lastCheck = { at: now, result: isReachable(backend) };
    return lastCheck.result;
  };
  return async (path) => {
    if (path === "/healthz") return reply(true, "live");
    if (path !== "/readyz") return null;
    if (isClosing()) return reply(false, "closing");
    const ready = await isReady();
    return reply(ready, ready ? "ready" : "unavailable");
  };
}

function reply(isHealthy: boolean, status: string): HttpResponse {
  return jsonResponse(isHealthy ? 200 : 503, { status });
}

async function isReachable({ store, log }: Backend): Promise<boolean> {
  try {
    if (log.isImpaired === true || store.isRefusingWrites?.() === true) return false;
    const probe = Promise.all([store.tenants.get(PROBE.tenant), log.head(PROBE)]).then(() => true);
    return await Promise.race([probe, sleep(CHECK_TIMEOUT_MS, { unref: true }).then(() => false)]);
  } catch {
    return false;
  }
}
