/**
 * `createGateway` assembles the gateway of one process: HTTP routes, socket upgrades, session feeds, and the check
 * that closes connections whose key or token has ended. Does not listen: see create-server.ts.
 * Invariant: options are validated before anything starts. Several gateways can use the same store and log. `close`
 * closes the connections before the feeds, and never the store, log or signals that were passed in.
 */
import type { Server } from "node:net";
import { createBlobUrls } from "../session/blobs/blob-url.ts";
import type { BlobOwner } from "../store/rules/blob-token.ts";
import { WEBHOOK_EVENTS } from "../store/webhooks.ts";
import type { FeatureCommands } from "./command.ts";
import { MAX_BATCH } from "../store/rules/arguments.ts";
import {
  type GatewayOptions,
  listTokenScopes,
  type ResolvedGatewayOptions,
  resolveOptions,
} from "./options.ts";
import { createAddressResolver } from "./auth/authenticate.ts";
import { GatewayAudit } from "./auth/gateway-audit.ts";
import { ConnectionRegistry } from "./connection/connection-registry.ts";
import { API_PREFIX } from "./http/http-messages.ts";
import { type HandleContext, handleRequest } from "./http/fetch-handler.ts";
import { attachTo } from "./http/attach.ts";
import type { GatewayContext } from "./context.ts";
import { createRouter } from "./http/router.ts";
import { ROUTES } from "./http/routes/index.ts";
import type { HttpContext } from "./http/handle-request.ts";
import { createReportOnce } from "../util/error-handler.ts";
import { createSecurityReporter, hashAddress, type ReportSecurityEvent } from "../util/security-event.ts";
import { CallerLimiter } from "./limits/caller-limiter.ts";
import { createLossReporter } from "../session/lifecycle/report-loss.ts";
import { createSessionFeeds } from "./feed/session-feeds.ts";
import { closeRevokedConnections } from "./auth/revocation.ts";
import { createTimeSlicer } from "../util/time-slicer.ts";
import { createUpgradeHandler } from "./ws/upgrade.ts";

export interface GatewayStats {
  readonly connections: number;
  /** Bytes buffered for slow clients, in total and for the slowest one. */
  readonly bufferedBytes: number;
  readonly maxBufferedBytes: number;
  /** Number of sessions with a feed. */
  readonly sessions: number;
}

export interface Gateway {
  /**
   * Serves a server of Node, sockets included: requests under `/api/v1` are the gateway's, all others go to the app that
   * the server belongs to. Call it once, after that app has added its listener.
   * @param options.prefix the path before `/api/v1`. @default none
   */
  attach(server: Server, options?: { readonly prefix?: string }): void;
  /** Handles HTTP requests and event streams, for servers that use Request and Response. */
  handle(request: Request, context?: HandleContext): Promise<Response>;
  /** Returns the current load of this process. */
  stats(): GatewayStats;
  /**
   * Closes every connection and asks clients to reconnect. Does not close the store, log or signals that were passed
   * in.
   */
  close(): Promise<void>;
}

const CLEANUP_INTERVAL_MS = 10 * 60_000;
const REFUSALS_INTERVAL_MS = 60 * 60_000;

/** @throws OptionsError that names the missing or invalid option */
export function createGateway(options: GatewayOptions): Gateway {
  const resolved = resolveOptions(options);
  const connections = new ConnectionRegistry(resolved.onError, resolved.limits.heartbeatMs);
  const http = createHttpContext(resolved, connections);
  const { audit, feeds, limiter, limits, onError } = http.context;
  const timers = [
    setInterval(() => void closeRevoked(http), limits.revocationCheckMs),
    setInterval(() => void deleteExpired(http.context), CLEANUP_INTERVAL_MS),
    setInterval(() => void audit.writeRefusals(), REFUSALS_INTERVAL_MS),
  ];
  for (const timer of timers) timer.unref();
  const removeOutageListener = options.log.onOutage?.((error) => {
    // Workers report that.
    if (error.code !== "NOT_DURABLE") onError(error, { during: "the log" });
  });
  const handleUpgrade = createUpgradeHandler(http);
  return {
    attach: (server, { prefix = "" } = {}) => attachTo(server, http, handleUpgrade, prefix),
    handle: (request, context) => handleRequest(http, request, context),
    stats() {
      const { total: bufferedBytes, max: maxBufferedBytes } = connections.bufferedBytes();
      const { sessions } = feeds.stats();
      return { connections: connections.size, bufferedBytes, maxBufferedBytes, sessions };
    },
    async close() {
      for (const timer of timers) clearInterval(timer);
      removeOutageListener?.();
      await connections.close();
      limiter.close();
      await feeds.close();
      await audit.writeRefusals();
    },
  };
}

/** Several gateways can run this at the same time: each deletes rows that the others have not deleted yet. */
async function deleteExpired({ store, onError }: GatewayContext): Promise<void> {
  try {
    while ((await store.tickets.sweep(MAX_BATCH)) === MAX_BATCH);
    while ((await store.idempotency.sweep(MAX_BATCH)) === MAX_BATCH);
  } catch (error) {
    onError(error, { during: "deleting expired tickets and idempotency keys" });
  }
}

async function closeRevoked({ context, connections }: HttpContext): Promise<void> {
  try {
    await closeRevokedConnections(connections, context.store.keys, context.env.now());
  } catch (error) {
    context.onError(error, { during: "checking for revoked keys" });
  }
}

function createHttpContext(options: ResolvedGatewayOptions, connections: ConnectionRegistry): HttpContext {
  const { publicUrl, features, env, onError, secrets } = options;
  const base = `${publicUrl?.replace(/\/$/, "") ?? ""}${API_PREFIX}/blobs/`;
  const [secret] = secrets;
  // Feeds live longer than blob URLs are valid, so the URLs are created for each use.
  const createBlobUrlResolver = (owner: BlobOwner) => (blob: string) =>
    createBlobUrls(owner, { base, secret, now: env.now() })(blob);
  const audit = new GatewayAudit(options);
  const report = createSecurityReporter([options.onSecurityEvent, (event) => audit.count(event)], onError);
  const reportSecurityEvent: ReportSecurityEvent = (event, from = "") =>
    report(from === "" ? event : { ...event, addressHash: hashAddress(from, secret) });
  const slices = createTimeSlicer();
  const onLoss = createLossReporter(reportSecurityEvent, onError);
  const context: GatewayContext = {
    ...options,
    onLoss,
    reportOnce: createReportOnce(onError),
    reportSecurityEvent,
    audit,
    feeds: createSessionFeeds({ ...options, onLoss, slices, createBlobUrlResolver }),
    slices,
    limiter: new CallerLimiter({ ...options, reportSecurityEvent }),
    createBlobUrlResolver,
    commands: Object.assign({}, ...features.map(({ commands }) => commands)) as FeatureCommands,
    webhookEvents: [...WEBHOOK_EVENTS, ...features.flatMap(({ webhookEvents = [] }) => webhookEvents)],
    signIn: options.signIn ?? null,
    tokenRules: { ...options.tokens, scopes: listTokenScopes(features) },
  };
  return {
    context,
    connections,
    router: createRouter([...ROUTES, ...features.flatMap(({ routes = [] }) => routes)]),
    origins: options.allowedOrigins,
    publicUrl,
    resolveClientAddress: createAddressResolver(options.trustProxy),
  };
}
