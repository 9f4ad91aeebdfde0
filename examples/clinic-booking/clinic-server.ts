/**
 * `startClinic` runs the clinic in one process: the gateway with the payment pages, the worker, the sign-in and the
 * chat page on one origin. In production, gateway and worker are separate processes that get the same `payments`.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import {
  createGateway,
  createKey,
  createPostgresStore,
  createRedisLog,
  createRedisSignals,
  type ErrorContext,
  migrate,
  openDatabase,
  startWorker,
} from "@turnstream/server";
import { newebPay, type NewebPayOptions, type PaymentOptions } from "@turnstream/server/payments";
import { fastify, type FastifyInstance } from "fastify";
import { clinicAgent } from "./clinic-agent.ts";

export interface ClinicOptions {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** Folder of the built page. */
  readonly page: string;
  readonly port: number;
  readonly newebPay: NewebPayOptions;
  /** How long a deposit can be paid. */
  readonly expiresMs: number;
}

export interface Clinic {
  readonly url: string;
  close(): Promise<void>;
}

const HOST = "127.0.0.1";
const TENANT = "clinic-booking";

export async function startClinic(options: ClinicOptions): Promise<Clinic> {
  const { databaseUrl, redisUrl, port, expiresMs } = options;
  const url = `http://${HOST}:${port}`;
  const db = openDatabase({ url: databaseUrl, max: 8 });
  await migrate(db);
  // Leases have their own connections, so that a busy worker doesn't lose its lease.
  const leases = openDatabase({ url: databaseUrl, max: 2 });
  const store = createPostgresStore(db, { leases });
  const log = await createRedisLog({ url: redisUrl });
  const signals = createRedisSignals({ url: redisUrl });
  const backend = { store, log, signals };

  const payments: PaymentOptions = { providers: [newebPay(options.newebPay)], publicUrl: url, expiresMs };
  const gateway = createGateway({
    ...backend,
    payments,
    secrets: [randomBytes(32).toString("hex")],
    onError: report,
  });
  const worker = await startWorker({
    ...backend,
    payments,
    agents: [clinicAgent()],
    defaultLocale: "zh-TW",
    shutdownGraceMs: 1_000,
    onError: report,
  });

  const { secret } = await createKey(store, TENANT, {
    name: "own server",
    scopes: ["tokens", "read", "write", "decide"],
  });
  const app = fastify({ forceCloseConnections: true });
  await app.register(gateway.plugin);
  addSignIn(app, `${url}/api/v1/tokens`, secret);
  addPage(app, options.page);
  await app.listen({ port, host: HOST });
  return {
    url,
    async close() {
      await gateway.close();
      await app.close();
      await worker.shutdown();
      await Promise.all([signals.close(), log.close()]);
      await store.close();
      await leases.destroy();
    },
  };
}

function report(error: unknown, { during }: ErrorContext): void {
  console.error(`${during}: ${error instanceof Error ? error.message : String(error)}`);
}

const GUEST = /(?:^|;\s*)clinic_guest=(guest-[0-9a-f-]{36})(?:;|$)/;

/** Every visitor is a guest with a cookie. The API key never reaches the page: it is exchanged for a short-lived token. */
function addSignIn(app: FastifyInstance, tokens: string, key: string): void {
  app.post("/sign-in", async (request, reply) => {
    // Prevents another site from signing users in.
    if (request.headers["sec-fetch-site"] === "cross-site") return reply.code(403).send({});
    const user = GUEST.exec(request.headers.cookie ?? "")?.[1] ?? `guest-${randomUUID()}`;
    const answer = await fetch(tokens, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: JSON.stringify({ user_id: user, seconds: 900 }),
    });
    if (!answer.ok) return reply.code(502).send({});
    return reply
      .header("set-cookie", `clinic_guest=${user}; Path=/; HttpOnly; SameSite=Strict`)
      .header("cache-control", "no-store")
      .send(await answer.json());
  });
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
};

const POLICY =
  "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

function addPage(app: FastifyInstance, folder: string): void {
  for (const path of globSync("**/*.*", { cwd: folder })) {
    const body = readFileSync(join(folder, path));
    const type = TYPES[extname(path)] ?? "application/octet-stream";
    app.get(path === "index.html" ? "/" : `/${path}`, (_request, reply) =>
      reply.header("content-type", type).header("content-security-policy", POLICY).send(body),
    );
  }
}
