/**
 * `startClinic` runs the clinic in one process: the gateway with the payment pages, the worker, the sign-in and the
 * chat page on one origin. In production, gateway and worker are separate processes that get the same `features`.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { globSync, readFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { extname, join } from "node:path";
import {
  createGateway,
  ensureTenant,
  createPostgresStore,
  createRedisLog,
  createRedisSignals,
  type ErrorContext,
  migrate,
  openDatabase,
  startWorker,
} from "@turnstream/server";
import { payments, tables as paymentTables } from "@turnstream/payments";
import { newebPay, type NewebPayOptions } from "@turnstream/payments/newebpay";
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
  await migrate(db, { features: [paymentTables] });
  // Leases have their own connections, so that a busy worker doesn't lose its lease.
  const leases = openDatabase({ url: databaseUrl, max: 2 });
  const store = createPostgresStore(db, { leases });
  const log = await createRedisLog({ url: redisUrl });
  const signals = createRedisSignals({ url: redisUrl });
  const backend = { store, log, signals };
  await ensureTenant(store, TENANT);

  const features = [payments({ providers: [newebPay(options.newebPay)], publicUrl: url, expiresMs })];
  const gateway = createGateway({
    ...backend,
    features,
    secrets: [randomBytes(32).toString("hex")],
    // Every visitor is a guest with a cookie.
    signIn: { tenant: TENANT, user: ({ headers }) => readGuest(headers.get("cookie")) },
    onError: report,
  });
  const worker = await startWorker({
    ...backend,
    features,
    agents: [clinicAgent()],
    defaultLocale: "zh-TW",
    shutdownGraceMs: 1_000,
    onError: report,
  });

  const server = createServer(servePage(options.page));
  gateway.attach(server);
  await once(server.listen(port, HOST), "listening");
  return {
    url,
    async close() {
      await gateway.close();
      server.close();
      server.closeAllConnections();
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

/** Returns the id of the guest, or null without the cookie. */
function readGuest(cookie: string | null | undefined): string | null {
  return GUEST.exec(cookie ?? "")?.[1] ?? null;
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
};

const POLICY =
  "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** Serves the built page from memory, and makes every visitor a guest. */
function servePage(folder: string): RequestListener {
  const paths = globSync("**/*.*", { cwd: folder });
  const files = new Map(paths.map((path) => [`/${path}`, readFileSync(join(folder, path))]));
  return ({ headers, method, url = "/" }, response) => {
    const asked = url.replace(/\?.*$/s, "");
    const path = asked === "/" ? "/index.html" : asked;
    const body = files.get(path);
    if (body === undefined || method !== "GET") {
      response.writeHead(404).end("Not found.");
      return;
    }
    if (asked === "/" && readGuest(headers.cookie) === null)
      response.setHeader(
        "set-cookie",
        `clinic_guest=guest-${randomUUID()}; Path=/; HttpOnly; SameSite=Strict`,
      );
    const type = TYPES[extname(path)] ?? "application/octet-stream";
    response.writeHead(200, { "content-type": type, "content-security-policy": POLICY }).end(body);
  };
}
