/** `GatewayLimits` are the limits of connections, bodies and uploads, with their defaults. */
import { z } from "zod";
import { DEFAULT_UPLOAD_LIMITS } from "../session/blobs/upload.ts";
import { MAX_PAGE } from "../store/rules/arguments.ts";
import { integer, type OptionsInput, type OptionsOutput } from "../util/parse-options.ts";
import { MAX_TIMER_MS } from "../util/sleep.ts";

/**
 * Each heartbeat interval visits the connections in this many slices. It is also the minimum of `heartbeatMs`, because
 * a slice can't be shorter than a millisecond.
 */
export const HEARTBEAT_SLICES = 20;
/** The range that the WebSocket library accepts as the maximum message size. */
const MAX_BODY_BYTES = 2 ** 31 - 1;
const limitShape = {
  /**
   * Closes a connection whose full buffer doesn't become empty within this time, because its
   * [client](gateway.md#slow-clients) reads nothing or too slowly.
   * @default 60000
   */
  stallTimeoutMs: integer(1, MAX_TIMER_MS).default(60_000),
  /** Pings a socket whose client has sent nothing for this long. @default 25000 */
  pingIntervalMs: integer(1, MAX_TIMER_MS).default(25_000),
  /** Closes a socket whose client doesn't answer a ping within this time. @default 10000 */
  pongTimeoutMs: integer(1, MAX_TIMER_MS).default(10_000),
  /** Sends a comment as a keep-alive on an event stream that carried nothing for this long. @default 15000 */
  sseKeepAliveMs: integer(1, MAX_TIMER_MS).default(15_000),
  /** How often the gateway checks each connection. Pings and timeouts can be late by this much. @default 1000 */
  heartbeatMs: integer(HEARTBEAT_SLICES, MAX_TIMER_MS).default(1_000),
  /**
   * If a running turn produces no event for this long, the gateway ends the event streams of its session. The turn
   * continues.
   * @default 180000
   */
  turnIdleTimeoutMs: integer(1, MAX_TIMER_MS).default(180_000),
  /** Sessions that one socket can subscribe to. Further subscriptions fail with `RATE_LIMITED`. @default 100 */
  maxSubscriptionsPerSocket: integer(1).default(100),
  /** Maximum size of a message and of a knowledge import, over a socket or as a JSON body. @default 2097152 */
  maxBodyBytes: integer(1, MAX_BODY_BYTES).default(2 * 1024 * 1024),
  /**
   * How fast the gateway reads from one socket, after a burst of one message of `maxBodyBytes`. Above it, the gateway
   * [stops reading](gateway.md#commands-on-a-socket) for a while.
   * @default 524288
   */
  socketBytesPerSecond: integer(1).default(512 * 1024),
  /** Maximum size of one uploaded file. @default 100000000 */
  maxUploadBytes: integer(1).default(DEFAULT_UPLOAD_LIMITS.bytes),
  /** Maximum size of all uploaded files of a session together. @default 1000000000 */
  maxSessionUploadBytes: integer(1).default(DEFAULT_UPLOAD_LIMITS.sessionBytes),
  /**
   * The longest life of a [token](gateway.md#tokens-and-tickets). The gateway refuses tokens that are valid for longer,
   * also those that your app signs.
   * @default 604800000
   */
  maxTokenTtlMs: integer(1_000).default(7 * 24 * 60 * 60_000),
  /** How many of the newest turns a new subscriber receives. Clients load older turns over HTTP. @default 20 */
  snapshotTurns: integer(1, MAX_PAGE).default(20),
  /** How often the gateway looks for revoked keys and expired tokens. @default 4000 */
  revocationCheckMs: integer(1, MAX_TIMER_MS).default(4_000),
};

export interface GatewayLimitOptions extends OptionsInput<typeof limitShape> {}

/** Maximum size of every command and JSON body but a message and a knowledge import. */
export const MAX_COMMAND_BYTES = 64 * 1024;

export interface GatewayLimits extends OptionsOutput<typeof limitShape> {}

export const gatewayLimits: z.ZodType<GatewayLimits, GatewayLimitOptions> = z.strictObject(limitShape);

export const DEFAULT_GATEWAY_LIMITS: GatewayLimits = gatewayLimits.parse({});
