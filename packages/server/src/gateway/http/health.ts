/** Whether this process lives, and whether it can serve: for whoever sends it traffic. Tells nothing else to anybody. */
import type { FastifyInstance, FastifyReply } from "fastify";
import type { Backend } from "../../session/backend.ts";
import { sleep } from "../../util/sleep.ts";

const READY_TIMEOUT_MS = 2_000;
/** Anybody may ask, as often as they like: one look does for all who ask meanwhile. */
const FRESH_MS = 500;
/** No session and no tenant: only whether there is an answer. */
const NOTHING = "readyz";

export function registerHealthRoutes(app: FastifyInstance, parts: Backend, isClosing: () => boolean): void {
  let looked: { readonly at: number; readonly answer: Promise<boolean> } | null = null;
  const isReady = () => {
    const now = performance.now();
    if (looked === null || now - looked.at > FRESH_MS) looked = { at: now, answer: canServe(parts) };
    return looked.answer;
  };
  app.get("/healthz", async (_request, reply) => send(reply, true, "live"));
  app.get("/readyz", async (_request, reply) => {
    if (isClosing()) return send(reply, false, "closing");
    const ready = await isReady();
    return send(reply, ready, ready ? "ready" : "unavailable");
  });
}

function send(reply: FastifyReply, isGood: boolean, status: string): FastifyReply {
  return reply
    .code(isGood ? 200 : 503)
    .header("cache-control", "no-store")
    .send({ status });
}

async function canServe({ store, log }: Backend): Promise<boolean> {
  try {
    const asked = Promise.all([store.tenants.get(NOTHING), log.head(NOTHING)]).then(() => true);
    return await Promise.race([asked, sleep(READY_TIMEOUT_MS, { unref: true }).then(() => false)]);
  } catch {
    return false;
  }
}
