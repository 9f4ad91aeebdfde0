/**
 * Puts the pieces of the gateway together, for one process: the doors for HTTP, the upgrade of sockets, the feeds behind
 * them, and the sweep that ends the connections of those who are no longer let in. Never listens: see create-server.ts.
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
  /** What waits for clients that are slow to take it, in bytes: of all, and of the slowest. */
  readonly bufferedBytes: number;
  readonly maxBufferedBytes: number;
  /** Sessions that somebody looks at. */
  readonly sessions: number;
}

export interface Gateway {
  /** Everything under `/api/v1`, sockets included, for an app of Fastify. */
  readonly plugin: FastifyPluginAsync;
  /** HTTP and event streams, for whatever speaks Request and Response. */
  handle(request: Request, context?: HandleContext): Promise<Response>;
  /**
   * For a server of Node: sockets. @returns whether the address is ours; anything else is left alone
   * @param prefix what stands before `/api/v1`
   */
  upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer, prefix?: string): boolean;
  /** What this process carries at the moment. */
  stats(): GatewayStats;
  /** Ends every connection; those at the other end are told to come back. Closes nothing that it was given. */
  close(): Promise<void>;
}

const TIDY_MS = 10 * 60_000;

/** Throws a TypeError or RangeError that names the option which is missing or can't be kept to. */
export function createGateway(options: GatewayOptions): Gateway {
  validateOptions(options);
  const heartbeatMs = options.limits?.heartbeatMs ?? DEFAULT_GATEWAY_LIMITS.heartbeatMs;
  const connections = new ConnectionRegistry(options.onError ?? ignore, heartbeatMs);
  const door = doorOf(options, connections);
  const sweep = setInterval(() => void endQuietly(door), door.parts.limits.revocationCheckMs).unref();
  const tidy = setInterval(() => void tidyQuietly(door.parts), TIDY_MS).unref();
  const unlisten = options.log.onOutage?.((error) => door.parts.onError(error, "the log"));
  const open = createSocketAcceptor(door);
  const onUpgrade: Gateway["upgrade"] = (incoming, socket, head, prefix = "") =>
    handleUpgrade(door, open, { incoming, socket, head }, prefix);
  return {
    plugin: gatewayPlugin(door, {
      upgrade: onUpgrade,
      rejectUpgrade: (socket, error) => rejectUpgrade(door, socket, error),
    }),
    handle: (request, context) => handleRequest(door, request, context),
    upgrade: onUpgrade,
    stats() {
      const { all: heldBytes, most: mostHeldBytes } = connections.held();
      const { sessions } = door.parts.feeds.stats();
      return {
        connections: connections.size,
        bufferedBytes: heldBytes,
        maxBufferedBytes: mostHeldBytes,
        sessions,
      };
    },
    async close() {
      clearInterval(sweep);
      clearInterval(tidy);
      unlisten?.();
      await connections.close();
      await door.parts.feeds.close();
    },
  };
}

/** Several gateways may do it at once: each takes what the others leave. */
async function tidyQuietly({ store, onError }: GatewayContext): Promise<void> {
  try {
    while ((await store.tickets.sweep(MAX_BATCH)) === MAX_BATCH);
    while ((await store.idempotency.sweep(MAX_BATCH)) === MAX_BATCH);
  } catch (error) {
    onError(error, "forgetting old tickets and requests");
  }
}

async function endQuietly({ parts, connections }: HttpContext): Promise<void> {
  try {
    await closeRevokedConnections(connections, parts.store.keys, parts.env.now());
  } catch (error) {
    parts.onError(error, "asking which keys are still good");
  }
}

function doorOf(options: GatewayOptions, connections: ConnectionRegistry): HttpContext {
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
  // Feeds live longer than addresses do.
  const addressesOf = (ref: SessionRef) => (blob: string) =>
    createBlobUrls(ref, { base: blobBase, secret, now: env.now() })(blob);
  const slices = createTimeSlicer();
  const feeds = createSessionFeeds({ store, log, limits, slices, addressesOf, onError });
  const parts: GatewayContext = {
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
    parts,
    connections,
    router: createRouter(ROUTES),
    origins: allowedOrigins,
    publicUrl,
    addressOf: createAddressResolver(trustProxy),
  };
}

function ignore(): void {}
