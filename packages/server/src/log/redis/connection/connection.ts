/**
 * One connection to one Redis server, from its opening to its end. It never reconnects: a new connection may
 * reach another server, so that whatever was known over the old one has to be asked again (`reconnecting.ts` opens it).
 * For the same reason nothing is queued for later: what can't be sent now fails now.
 */
import { LogError } from "../../errors.ts";
import { type RedisClient, createConnectionClient, type ConnectionOptions } from "./client.ts";
import { SCRIPTS } from "../scripts.ts";
import { type ShardedSubscriptionEvents, ShardedSubscriptions } from "./sharded-subscriptions.ts";
import { withTimeout } from "./with-timeout.ts";

export class RedisConnection {
  /** Redis's replication id as of the opening. */
  readonly replicationId: string;
  /** Fulfilled once the connection is gone. */
  readonly ended: Promise<void>;
  readonly #client: RedisClient;
  readonly #subscriptions: ShardedSubscriptions;
  readonly #timeout: { readonly ms: number; readonly message: string };

  private constructor(
    client: RedisClient,
    replicationId: string,
    ended: Promise<void>,
    responseTimeoutMs: number,
  ) {
    this.#client = client;
    this.#subscriptions = new ShardedSubscriptions(client);
    this.#timeout = { ms: responseTimeoutMs, message: "No answer" };
    this.replicationId = replicationId;
    this.ended = ended;
  }

  /** Takes no longer than the server may take to answer. */
  static async open(options: ConnectionOptions, signal?: AbortSignal): Promise<RedisConnection> {
    const { responseTimeoutMs } = options;
    const client = createConnectionClient(options);
    const ended = new Promise<void>((resolve) => {
      client.once("end", resolve).once("terminated", resolve);
      // Each command in flight gets the error itself.
      client.on("error", () => undefined);
    });
    let isAborted = false;
    const abort = () => {
      isAborted = true;
      client.destroy();
    };
    // Until then there is no socket that it could destroy.
    client.on("connect", () => {
      if (isAborted) client.destroy();
    });
    client.unref();
    signal?.addEventListener("abort", abort, { once: true });
    try {
      signal?.throwIfAborted();
      const replicationId = await withTimeout(prepare(client), {
        ms: responseTimeoutMs,
        message: "No connection",
      });
      client.ref();
      return new RedisConnection(client, replicationId, ended, responseTimeoutMs);
    } catch (error) {
      abort();
      throw unavailable(error);
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  send(args: readonly string[]): Promise<unknown> {
    return this.#client.sendCommand(args);
  }

  /** Sends commands so that nothing comes between them. */
  async multi(commands: readonly (readonly string[])[]): Promise<unknown[]> {
    const multi = this.#client.multi();
    for (const command of commands) multi.addCommand([...command]);
    return multi.exec();
  }

  /** Messages of the channels that are subscribed over this connection go there. */
  listen(events: ShardedSubscriptionEvents): void {
    this.#subscriptions.listen(events);
  }

  /** A server that doesn't answer ends the connection; one that refuses doesn't. */
  async subscribe(channel: string): Promise<void> {
    try {
      await withTimeout(this.#subscriptions.subscribe(channel), this.#timeout);
    } catch (error) {
      if (error instanceof LogError) this.destroy();
      throw error;
    }
  }

  async unsubscribe(channel: string): Promise<void> {
    await this.#subscriptions.unsubscribe(channel);
  }

  /** Whether it is still the server it was, alive, and tells us what we subscribed to. Ends the connection if not. */
  async healthCheck(): Promise<void> {
    try {
      const answers = Promise.all([this.send(["INFO", "replication"]), this.#subscriptions.isIntact()]);
      const [info, isIntact] = await withTimeout(answers, this.#timeout);
      if (isIntact && parseReplicationId(String(info)) === this.replicationId) return;
    } catch {
      // Ended below, as it would be for another replication id.
    }
    this.destroy();
  }

  destroy(): void {
    this.#client.destroy();
  }
}

/** Asks who the server is, before anything else is sent, and sees to it that it knows our scripts. */
async function prepare(client: RedisClient): Promise<string> {
  await client.connect();
  const [info] = await Promise.all([
    client.sendCommand<string>(["INFO", "replication"]),
    ...SCRIPTS.map(({ source }) => client.sendCommand<string>(["SCRIPT", "LOAD", source])),
  ]);
  return parseReplicationId(info);
}

/** Enough of the id to tell two apart; every append carries it. */
const REPLICATION_ID_LENGTH = 12;

/** A replica answers too, but takes no appends: a log can not be claimed on it. */
function parseReplicationId(info: string): string {
  const id = /^master_replid:(\w+)/m.exec(info)?.[1]?.slice(0, REPLICATION_ID_LENGTH);
  const role = /^role:(\w+)/m.exec(info)?.[1];
  if (id === undefined)
    throw new LogError("UNAVAILABLE", { detail: "Redis doesn't tell its replication id" });
  return role === "master" ? id : `${id}-${role}`;
}

export function unavailable(cause: unknown): LogError {
  return cause instanceof LogError ? cause : new LogError("UNAVAILABLE", { cause });
}
