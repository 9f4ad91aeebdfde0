/**
 * `RedisConnection` is one connection to one Redis server, until it ends.
 *
 * Invariant: it never reconnects and never queues. A new connection may reach another server, so everything learned
 * over the old one must be read again (`reconnecting.ts` opens new connections). A command that can't be sent now fails
 * now. `replicationId` is read before the first command, and the node ends the connection if it changes.
 */
import { LogError } from "../../errors.ts";
import { addressOf } from "./address.ts";
import { type RedisClient, createConnectionClient, type ConnectionOptions } from "./client.ts";
import { readDurability } from "./durability.ts";
import { REPLICATION_ID_LENGTH, SCRIPTS, scriptOn } from "../scripts.ts";
import { type ShardedSubscriptionEvents, ShardedSubscriptions } from "./sharded-subscriptions.ts";
import { withTimeout } from "./with-timeout.ts";

export class RedisConnection {
  /** The server's replication id when the connection opened. */
  readonly replicationId: string;
  /** What the server does when its memory is full, such as `noeviction`; null if it is unknown. */
  readonly evictionPolicy: string | null;
  /** Resolves when the connection has ended. */
  readonly ended: Promise<void>;
  readonly #client: RedisClient;
  readonly #subscriptions: ShardedSubscriptions;
  readonly #timeout: { readonly ms: number; readonly message: string };
  readonly #shas: ReadonlyMap<string, string>;
  #sent = 0;
  #answered = 0;
  /** `#answered` at the last call of `isSilent`. */
  #answeredBefore = 0;

  private constructor(
    client: RedisClient,
    server: ServerInfo,
    ended: Promise<void>,
    responseTimeoutMs: number,
  ) {
    this.#client = client;
    this.#subscriptions = new ShardedSubscriptions(client);
    this.#timeout = { ms: responseTimeoutMs, message: "No answer" };
    this.replicationId = server.replicationId;
    this.evictionPolicy = server.evictionPolicy;
    this.#shas = server.shas;
    this.ended = ended;
  }

  /** Opens a connection, or fails after `responseTimeoutMs`. */
  static async open(options: ConnectionOptions, signal?: AbortSignal): Promise<RedisConnection> {
    const { responseTimeoutMs } = options;
    const client = createConnectionClient(options);
    const ended = new Promise<void>((resolve) => {
      client.once("end", resolve).once("terminated", resolve);
      // Without a listener Node throws the error. Each command in flight also gets it.
      client.on("error", () => undefined);
    });
    let isAborted = false;
    const abort = () => {
      isAborted = true;
      client.destroy();
    };
    // `destroy` has no effect before the socket exists, so an abort during the connect takes effect here.
    client.on("connect", () => {
      if (isAborted) client.destroy();
    });
    client.unref();
    signal?.addEventListener("abort", abort, { once: true });
    try {
      signal?.throwIfAborted();
      const server = await withTimeout(prepare(client, options), {
        ms: responseTimeoutMs,
        message: "No connection",
      });
      client.ref();
      return new RedisConnection(client, server, ended, responseTimeoutMs);
    } catch (error) {
      abort();
      throw unavailable(error);
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  /** The SHA of one of `SCRIPTS` on the timeline of this connection. */
  shaOf(script: string): string {
    return this.#shas.get(script) ?? "";
  }

  send(args: readonly string[]): Promise<unknown> {
    return this.#watch(this.#client.sendCommand<unknown>(args));
  }

  /** Sends the commands as one transaction, so no other command runs between them. */
  multi(commands: readonly (readonly string[])[]): Promise<unknown[]> {
    const multi = this.#client.multi();
    for (const command of commands) multi.addCommand([...command]);
    return this.#watch<unknown[]>(multi.exec());
  }

  readonly #onAnswer = (): void => void this.#answered++;

  /** Counts replies, so that `isSilent` needs no command. */
  #watch<T>(reply: Promise<T>): Promise<T> {
    this.#sent++;
    reply.then(this.#onAnswer, this.#onAnswer);
    return reply;
  }

  /** Returns true if commands wait for a reply, and none has arrived since the last call. */
  isSilent(): boolean {
    const isSilent = this.#sent > this.#answered && this.#answered === this.#answeredBefore;
    this.#answeredBefore = this.#answered;
    return isSilent;
  }

  /** Sets the handlers for messages of the channels that are subscribed over this connection. */
  listen(events: ShardedSubscriptionEvents): void {
    this.#subscriptions.listen(events);
  }

  /** Ends the connection if the server doesn't answer, but not if it refuses the subscription. */
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

  /** Sends a command of a health check, and fails with UNAVAILABLE if the answer takes too long. */
  check(args: readonly string[]): Promise<unknown> {
    return withTimeout(this.send(args), this.#timeout);
  }

  /** Ends the connection if the server lost a subscription. Asks the server only if subscriptions have changed. */
  async checkSubscriptions(): Promise<void> {
    try {
      if (await withTimeout(this.#subscriptions.isIntact(this.#sent), this.#timeout)) return;
    } catch {
      // Handled below, like a lost subscription.
    }
    this.destroy();
  }

  destroy(): void {
    // Not while the client handles a message: it would handle the same message for ever.
    queueMicrotask(() => this.#client.destroy());
  }

  /** Ends the connection, and resolves when it is not used any more. */
  async discard(): Promise<void> {
    this.destroy();
    await this.ended;
  }
}

interface ServerInfo {
  readonly replicationId: string;
  readonly evictionPolicy: string | null;
  /** The SHA of each script on the timeline of the server. */
  readonly shas: ReadonlyMap<string, string>;
}

/** Reads the replication id before any other command is sent, and loads the scripts of its timeline. */
async function prepare(client: RedisClient, { url, outages }: ConnectionOptions): Promise<ServerInfo> {
  await client.connect();
  const [replication, memory, durability] = await Promise.all([
    client.sendCommand<string>(["INFO", "replication"]),
    client.sendCommand<string>(["INFO", "memory"]),
    outages === undefined ? null : readDurability(client, url),
  ]);
  if (durability !== null) outages?.stores(addressOf(url), durability);
  const replicationId = parseReplicationId(replication);
  const scripts = SCRIPTS.map((script) => [script, scriptOn(replicationId, script)] as const);
  const loads = scripts.map(([, { source }]) => client.sendCommand(["SCRIPT", "LOAD", source]));
  const [replicationNow] = await Promise.all([client.sendCommand<string>(["INFO", "replication"]), ...loads]);
  if (parseReplicationId(replicationNow) !== replicationId) {
    // A proxy has moved the connection, and the scripts of the old timeline may be on the new server.
    await client.sendCommand(["SCRIPT", "FLUSH"]);
    throw new LogError("UNAVAILABLE", { detail: "A failover happened while the connection was opened" });
  }
  return {
    replicationId,
    evictionPolicy: /^maxmemory_policy:(\S+)/m.exec(memory)?.[1] ?? null,
    shas: new Map(scripts.map(([script, { sha }]) => [script, sha])),
  };
}

/** Adds the role for a replica: it answers too, but refuses appends, so a log can't be claimed on it. */
export function parseReplicationId(info: string): string {
  const id = /^master_replid:(\w+)/m.exec(info)?.[1]?.slice(0, REPLICATION_ID_LENGTH);
  const role = /^role:(\w+)/m.exec(info)?.[1];
  if (id === undefined)
    throw new LogError("UNAVAILABLE", { detail: "The INFO reply of Redis has no replication id" });
  return role === "master" ? id : `${id}-${role}`;
}

export function unavailable(cause: unknown): LogError {
  return cause instanceof LogError ? cause : new LogError("UNAVAILABLE", { cause });
}
