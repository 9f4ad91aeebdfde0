/**
 * `registerHealthRoutes` adds `/healthz` (the process is alive) and `/readyz` (store and log are reachable and accept
 * writes).
 * Invariant: the routes are public, so they reveal only one status word, and requests share one check per 500 ms. A
 * check fails after 2 seconds. It sends no write of its own: the log tests one in each health check, and the store
 * remembers writes that a full disk refused. During shutdown `/readyz` fails without a check.
 */
import type { FastifyInstance, FastifyReply } from "fastify";
import type { Backend } from "../../session/backend.ts";
import { sleep } from "../../util/sleep.ts";

const CHECK_TIMEOUT_MS = 2_000;
/** How long a result is reused. The routes are public, so requests must not each trigger a check. */
const FRESH_MS = 500;
/** Names no session and no tenant: the check needs only a response. */
const PROBE = { tenant: "readyz", session: "readyz" };

export function registerHealthRoutes(app: FastifyInstance, backend: Backend, isClosing: () => boolean): void {
  let lastCheck: { readonly at: number; readonly result: Promise<boolean> } | null = null;
  const isReady = () => {
    const now = performance.now();
    if (lastCheck === null || now - lastCheck.at > FRESH_MS)
      lastCheck = { at: now, result: isReachable(backend) };
    return lastCheck.result;
  };
  app.get("/healthz", async (_request, reply) => send(reply, true, "live"));
  app.get("/readyz", async (_request, reply) => {
    if (isClosing()) return send(reply, false, "closing");
    const ready = await isReady();
    return send(reply, ready, ready ? "ready" : "unavailable");
  });
}

function send(reply: FastifyReply, isHealthy: boolean, status: string): FastifyReply {
  return reply
    .code(isHealthy ? 200 : 503)
    .header("cache-control", "no-store")
    .send({ status });
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
