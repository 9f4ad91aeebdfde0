/**
 * `TestEnvironment` is what a test's pages connect to: a gateway on real servers, a proxy in front of it for network
 * faults, and tokens for users. The test starts the worker.
 */
import { randomBytes } from "node:crypto";
import { createServer, type Server, signToken } from "@turnstream/server";
import type { Actor, ErrorContext } from "@turnstream/server/internal";
import {
  type BackendOptions,
  openBackend,
  type TestBackend,
} from "@turnstream/testkit/backend/open-backend.ts";
import { GatewayProgram } from "@turnstream/testkit/gateway/gateway-program.ts";
import { startProxy, type TcpProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import { migratedDatabaseUrl } from "@turnstream/testkit/backend/migrated-database-url.ts";
import { freshPrefix, sharedRedisUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import type { Browser, BrowserContext } from "playwright-core";
import { keepArtefacts } from "./artefacts.ts";
import { pageUrl } from "./pages.ts";

/** What other processes need to open the same backend. */
export type BackendUrls = Required<Pick<BackendOptions, "databaseUrl" | "redisUrl" | "keyPrefix">>;

/** Where the gateway runs: in the test's process, or in its own process, which can be killed. */
export type GatewayPlace = "in-process" | "child-process";

const TOKEN_MS = 3_600_000;
const SCOPES = ["read", "write", "decide", "share"];

export class TestEnvironment {
  readonly urls: BackendUrls;
  readonly backend: TestBackend;
  readonly proxy: TcpProxy;
  /** Errors that a gateway in this process has reported. */
  readonly failures: string[] = [];
  readonly #secret = randomBytes(32).toString("hex");
  #server: Server | null = null;
  #program: GatewayProgram | null = null;

  private constructor(urls: BackendUrls, backend: TestBackend, proxy: TcpProxy) {
    this.urls = urls;
    this.backend = backend;
    this.proxy = proxy;
  }

  static async open(
    place: GatewayPlace = "in-process",
    redisUrl = sharedRedisUrl(),
  ): Promise<TestEnvironment> {
    const urls = {
      redisUrl,
      databaseUrl: await migratedDatabaseUrl(),
      keyPrefix: freshPrefix(),
    };
    const backend = await openBackend({ ...urls, hasLeasePool: true });
    // The gateway must know the URL that pages use, which is the proxy's.
    const proxy = await startProxy({ to: { host: "127.0.0.1", port: 1 } });
    const environment = new TestEnvironment(urls, backend, proxy);
    const url = await environment.#openGateway(place);
    proxy.retarget({ host: "127.0.0.1", port: Number(new URL(url).port) });
    return environment;
  }

  async #openGateway(place: GatewayPlace): Promise<string> {
    const secrets: [string] = [this.#secret];
    const options = { secrets, allowedOrigins: [pageUrl("live")], publicUrl: this.url };
    if (place === "child-process") {
      const backend = { ...this.urls, database: { max: 10 } };
      this.#program = await GatewayProgram.launch({ ...options, backend });
      return this.#program.url;
    }
    const { store, log, signals } = this.backend;
    const onError = (error: unknown, { during }: ErrorContext) =>
      this.failures.push(`${during}: ${String(error)}`);
    this.#server = createServer({ ...options, store, log, signals, onError });
    return await this.#server.listen();
  }

  get url(): string {
    return `http://${this.proxy.host}:${this.proxy.port}`;
  }

  /** How many sockets and streams the gateway has open. NaN if it has its own process. */
  get connections(): number {
    return this.#server?.stats().connections ?? Number.NaN;
  }

  /** Kills a gateway that has its own process with -9. */
  async killGateway(): Promise<void> {
    await this.#program?.kill();
  }

  /** Restarts a killed gateway on the same port. */
  async restartGateway(): Promise<void> {
    this.#program = (await this.#program?.relaunch()) ?? null;
  }

  /** Opens a browser context for one user. Its tabs share state with each other, and with no other user. */
  async openContext(browser: Browser, { tenant, user }: Actor): Promise<BrowserContext> {
    const grant = { tenant, user, key: null, scopes: SCOPES, expiresAt: Date.now() + TOKEN_MS };
    const token = await signToken(grant, this.#secret, Date.now());
    const context = await browser.newContext();
    keepArtefacts(context);
    await context.addInitScript(`window.turnstreamToken = ${JSON.stringify(token)}`);
    return context;
  }

  /** Closes the gateway and the proxy. Shut down the worker first. */
  async close(): Promise<void> {
    await this.proxy.close();
    await this.#server?.close();
    await this.killGateway();
  }
}
