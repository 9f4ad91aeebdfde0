/**
 * What stands behind the pages of a test: a gateway on real servers, with a proxy before it that is the network's faults,
 * and a person with a token. Who works on the turns is the test's matter.
 */
import { randomBytes } from "node:crypto";
import { type Actor, createServer, signToken, type Server } from "@turnstream/server";
import { type TcpProxy, startProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import { freshPrefix, sharedRedisUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import type { Browser, BrowserContext } from "playwright-core";
import { partsOn } from "../packages/server/test/runtime/real-backend.ts";
import type { StageParts } from "../packages/server/test/runtime/turn-harness.ts";
import { migratedDatabaseUrl } from "../packages/server/test/store/migrated-database.ts";
import { keepArtefacts } from "./artefacts.ts";
import { GatewayProcess } from "./gateway-process.ts";
import { pageUrl } from "./pages.ts";

/** Where everything is, for this process and for others. */
export interface Places {
  readonly redisUrl: string;
  readonly postgresUrl: string;
  readonly prefix: string;
}

const TOKEN_MS = 3_600_000;
const SCOPES = ["read", "write", "decide"];

export class House {
  readonly places: Places;
  readonly parts: StageParts;
  readonly proxy: TcpProxy;
  /** Null when the gateway is a process of its own. */
  readonly server: Server | null;
  readonly process: GatewayProcess | null;
  readonly failures: string[];
  readonly #secret: string;

  private constructor(
    made: Pick<House, "places" | "parts" | "proxy" | "server" | "process" | "failures">,
    secret: string,
  ) {
    this.places = made.places;
    this.parts = made.parts;
    this.proxy = made.proxy;
    this.server = made.server;
    this.process = made.process;
    this.failures = made.failures;
    this.#secret = secret;
  }

  /** @param gateway `apart`: as a process, to be killed */
  static async open(gateway: "here" | "apart" = "here"): Promise<House> {
    const places = {
      redisUrl: sharedRedisUrl(),
      postgresUrl: await migratedDatabaseUrl(),
      prefix: freshPrefix(),
    };
    const parts = await partsOn(places.redisUrl, places.postgresUrl, places.prefix);
    const secret = randomBytes(32).toString("hex");
    const origins = [pageUrl("live")];
    const failures: string[] = [];
    // The gateway has to know where pages reach it, which is the proxy.
    const proxy = await startProxy({ to: { host: "127.0.0.1", port: 1 } });
    const publicUrl = `http://${proxy.host}:${proxy.port}`;
    const onError = (error: unknown, about: string) => failures.push(`${about}: ${String(error)}`);
    const { store, log, signals } = parts;
    const server =
      gateway === "here"
        ? createServer({
            store,
            log,
            signals,
            secrets: [secret],
            allowedOrigins: origins,
            publicUrl,
            onError,
          })
        : null;
    const child = gateway === "apart" ? new GatewayProcess({ ...places, secret, origins, publicUrl }) : null;
    const url = server === null ? await child?.start() : await server.listen();
    proxy.retarget({ host: "127.0.0.1", port: Number(new URL(url ?? "").port) });
    return new House({ places, parts, proxy, server, process: child, failures }, secret);
  }

  get url(): string {
    return `http://${this.proxy.host}:${this.proxy.port}`;
  }

  /** How many sockets and streams the gateway has open. */
  get connections(): number {
    return this.server?.stats().connections ?? Number.NaN;
  }

  /** A browser of one person: its tabs know each other, and nobody else's. */
  async person(browser: Browser, { tenant, user }: Actor): Promise<BrowserContext> {
    const grant = { tenant, user, key: null, scopes: SCOPES, expiresAt: Date.now() + TOKEN_MS };
    const token = await signToken(grant, this.#secret, Date.now());
    const context = await browser.newContext();
    keepArtefacts(context);
    await context.addInitScript(`window.turnstreamToken = ${JSON.stringify(token)}`);
    return context;
  }

  /** Closes what it has opened; whoever works on the turns has left before. */
  async close(): Promise<void> {
    await this.proxy.close();
    await this.server?.close();
    await this.process?.kill();
  }
}
