/**
 * `createGateway` assembles the gateway of one process: HTTP, the upgrade of sockets, the feeds behind them, and the check
 * that closes connections whose key or token has ended. Never listens: see create-server.ts.
 */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { FastifyPluginAsync } from "fastify";
import { createBlobUrls } from "../session/blobs/blob-url.ts";
import { systemEnv } from "../util/env.ts";
import { MAX_BATCH } from "../store/ports/sessions.ts";
import type { SessionRef } from "../store/refs.ts";
import { validateOptions, DEFAULT_GATEWAY_LIMITS, type GatewayOptions } from "./options.ts";
import { createAddressResolver } from "./auth/authenticate.ts";
import { ConnectionRegistry } from "./connection/connection-registry.ts";
import { API_PREFIX } from "./http/http-messages.ts";
import { type HandleContext, handleRequest } from "./http/fetch-handler.ts";
import { gatewayPlugin } from "./http/fastify-plugin.ts";
import type { GatewayContext } from "./context.ts";
import { createRouter } from "./http/router.ts";
import { ROUTES } from "./http/routes/index.ts";
import type { HttpContext } from "./http/handle-request.ts";
import { createSessionFeeds } from "./feed/session-feeds.ts";
import { closeRevokedConnections } from "./auth/revocation.ts";
import { createTimeSlicer } from "../util/time-slicer.ts";
import { createSocketAcceptor, handleUpgrade, rejectUpgrade } from "./ws/upgrade.ts";

export interface GatewayStats {
  readonly connections: number;
  /** What is buffered for slow clients, in bytes: of all, and of the slowest. */
  readonly bufferedBytes: number;
  readonly maxBufferedBytes: number;
  /** Sessions with a feed. */
  readonly sessions: number;
}

export interface Gateway {
  /** Everything under `/api/v1`, sockets included, for an app of Fastify. */
  readonly plugin: FastifyPluginAsync;
  /** HTTP and event streams, for servers with Request and Response. */
  handle(request: Request, context?: HandleContext): Promise<Response>;
  /**
   * For a server of Node: sockets. @returns whether the address is the gateway's; others are left alone
   * @param prefix what stands before `/api/v1`
   */
  upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer, prefix?: string): boolean;
  /** The current load of this process. */
  stats(): GatewayStats;
  /** Closes every connection; clients are told to reconnect. Closes nothing that was passed in. */
  close(): Promise<void>;
}

const CLEANUP_INTERVAL_MS = 10 * 60_000;

/** Throws a TypeError or RangeError that names the option which is missing or can't be kept to. */
export function createGateway(options: GatewayOptions): Gateway {
  validateOptions(options);
  const heartbeatMs = options.limits?.heartbeatMs ?? DEFAULT_GATEWAY_LIMITS.heartbeatMs;
  const connections = new ConnectionRegistry(options.onError ?? ignore, heartbeatMs);
  const http = createHttpContext(options, connections);
  const revocationCheck = setInterval(
    () => void closeRevoked(http),
    http.context.limits.revocationCheckMs,
  ).unref();
  const cleanup = setInterval(() => void deleteExpired(http.context), CLEANUP_INTERVAL_MS).unref();
  const removeOutageListener = options.log.onOutage?.((error) =>
    http.context.onError(error, { during: "the log" }),
  );
  const acceptSocket = createSocketAcceptor(http);
  const upgrade: Gateway["upgrade"] = (incoming, socket, head, prefix = "") =>
    handleUpgrade(http, acceptSocket, { incoming, socket, head }, prefix);
  return {
    plugin: gatewayPlugin(http, {
      upgrade,
      rejectUpgrade: (socket, error) => rejectUpgrade(http, socket, error),
    }),
    handle: (request, context) => handleRequest(http, request, context),
    upgrade,
    stats() {
      const { total: bufferedBytes, max: maxBufferedBytes } = connections.bufferedBytes();
      const { sessions } = http.context.feeds.stats();
      return {
        connections: connections.size,
        bufferedBytes,
        maxBufferedBytes,
        sessions,
      };
    },
    async close() {
      clearInterval(revocationCheck);
      clearInterval(cleanup);
      removeOutageListener?.();
      await connections.close();
      await http.context.feeds.close();
    },
  };
}

/** Several gateways may do it at once: each deletes what the others leave. */
async function deleteExpired({ store, onError }: GatewayContext): Promise<void> {
  try {
    while ((await store.tickets.sweep(MAX_BATCH)) === MAX_BATCH);
    while ((await store.idempotency.sweep(MAX_BATCH)) === MAX_BATCH);
  } catch (error) {
    onError(error, { during: "forgetting old tickets and requests" });
  }
}

async function closeRevoked({ context, connections }: HttpContext): Promise<void> {
  try {
    await closeRevokedConnections(connections, context.store.keys, context.env.now());
  } catch (error) {
    context.onError(error, { during: "asking which keys are still good" });
  }
}

function createHttpContext(options: GatewayOptions, connections: ConnectionRegistry): HttpContext {
  const {
    store,
    log,
    signals,
    secrets,
    publicUrl,
    allowedOrigins = [],
    trustProxy = false,
    env = systemEnv,
    onError = ignore,
  } = options;
  const blobBase = `${publicUrl?.replace(/\/$/, "") ?? ""}${API_PREFIX}/blobs/`;
  const limits = { ...DEFAULT_GATEWAY_LIMITS, ...options.limits };
  const [secret] = secrets;
  // Feeds live longer than blob URLs do.
  const createBlobUrlResolver = (ref: SessionRef) => (blob: string) =>
    createBlobUrls(ref, { base: blobBase, secret, now: env.now() })(blob);
  const slices = createTimeSlicer();
  const feeds = createSessionFeeds({ store, log, limits, slices, createBlobUrlResolver, onError });
  const context: GatewayContext = {
    store,
    log,
    signals,
    secrets,
    env,
    onError,
    feeds,
    slices,
    limits,
    blobBase,
  };
  return {
    context,
    connections,
    router: createRouter(ROUTES),
    origins: allowedOrigins,
    publicUrl,
    resolveClientAddress: createAddressResolver(trustProxy),
  };
}

function ignore(): void {}
