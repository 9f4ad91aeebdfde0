/**
 * `RedisEngine` implements `LogEngine` on Redis: it runs the scripts on the server that has the session's keys and
 * parses their replies.
 *
 * Invariant: an error reply means that the command was not executed; a broken connection means that it may have been.
 * The engine then retries only idempotent commands. Appends and claims are left to their writers.
 */
import { ErrorReply } from "@redis/client";
import { formatCursor, type Position } from "@turnstream/protocol";
import {
  toAppendResult,
  UNARCHIVED_TTL_MS,
  type EngineAppend,
  type EngineClaim,
  type EngineHead,
  type EngineRange,
  type LogEngine,
  type LogNotification,
  type AppendOutcome,
} from "../engine.ts";
import { retry } from "../../util/retry.ts";
import { isLogError, LogError } from "../errors.ts";
import type { AppendResult } from "../log.ts";
import { type RedisConnection, unavailable } from "./connection/connection.ts";
import { isMoved } from "./connection/node.ts";
import type { OutageMonitor } from "./connection/outage-monitor.ts";
import { APPEND, APPEND_WITH_LOOKBACK, CLAIM, EXPIRE, HEAD, REMOVE, SET_ASIDE, TRIM } from "./scripts.ts";
import type { RedisTopology, TopologySettings } from "./topology/topology.ts";
import {
  formatHeadKey,
  isExpiring,
  parseEntries,
  parseHead,
  parseHeadEpoch,
  parsePosition,
} from "./script-replies.ts";

/** How long an operator can read a log that was set aside. */
const SET_ASIDE_TTL_MS = 7 * 24 * 60 * 60 * 1_000;
const MAX_REDIRECTS = 5;
const MAX_ATTEMPTS = 6;

/** A command failed. `connection` is the one over which it was sent, if there was one. */
interface Failure {
  readonly error: unknown;
  readonly connection: RedisConnection | null;
}

export class RedisEngine implements LogEngine {
  readonly #topology: RedisTopology;
  readonly #keyPrefix: string;
  readonly #outages: OutageMonitor;

  constructor(topology: RedisTopology, { keyPrefix, outages }: TopologySettings) {
    this.#topology = topology;
    this.#keyPrefix = keyPrefix;
    this.#outages = outages;
  }

  append(name: string, append: EngineAppend): Promise<AppendResult> {
    const { writer, epoch, generation, lines } = append;
    if (epoch === null || append.repeat) return this.#appendWithLookback(name, append);
    const log = this.#log(name);
    const send = (connection: RedisConnection) => {
      const head = `${formatHeadKey(epoch, connection.replicationId, writer)}${generation}`;
      const sha = connection.shaOf(APPEND);
      return connection.send(["EVALSHA", sha, "2", log, `${log}:head`, head, `${epoch}-*`, ...lines]);
    };
    const read = (reply: unknown): AppendResult | Promise<AppendResult> => {
      if (typeof reply === "string")
        return toAppendResult({ type: "added", last: parsePosition(reply) }, lines.length);
      const head = String((reply as string[])[1]);
      if (isExpiring(head)) return this.#appendWithLookback(name, append);
      return toAppendResult(refusal(head, epoch), lines.length);
    };
    const { connection } = this.#topology.nodeFor(log);
    if (connection === null) return this.#followRedirects(log, send).then(read);
    // Without `await`: each adds a pass through the microtask queue to every append.
    return send(connection).then(read, (error: unknown) =>
      this.#followRedirects(log, send, { error, connection }).then(read),
    );
  }

  async #appendWithLookback(name: string, append: EngineAppend): Promise<AppendResult> {
    const { writer, counter, lines, epoch, generation, repeat, since } = append;
    const reply = (await this.#evalOnce(name, APPEND_WITH_LOOKBACK, ({ replicationId }) => [
      epoch === null ? "" : formatHeadKey(epoch, replicationId, writer),
      String(generation),
      replicationId,
      repeat ? writer : "",
      String(counter),
      since === null ? "" : formatCursor(since),
      String(UNARCHIVED_TTL_MS),
      ...lines,
    ])) as [string, string];
    return toAppendResult(readOutcome(reply, epoch), lines.length);
  }

  async claim(name: string, claim: EngineClaim): Promise<AppendOutcome> {
    const { epoch, writer, line, floor, last, repeat } = claim;
    const reply = (await this.#evalOnce(name, CLAIM, ({ replicationId }) => [
      String(epoch),
      replicationId,
      writer,
      formatCursor(floor),
      line,
      repeat ? "1" : "",
      last === null ? "" : formatCursor(last),
      String(UNARCHIVED_TTL_MS),
      String(SET_ASIDE_TTL_MS),
    ])) as [string, string, number?];
    const [code, value, isSetAside] = reply;
    if (code === "moved") return { type: "moved", last: parsePosition(value) };
    if (code === "outbid") return { type: "outbid", epoch: Number(value) };
    const type = code === "found" ? "found" : "added";
    const outcome = { type, last: parsePosition(value) } as const;
    return isSetAside === 1 ? { ...outcome, setAside: `${this.#log(name)}${SET_ASIDE}` } : outcome;
  }

  async range(name: string, from: Position, limit: number): Promise<EngineRange | null> {
    const log = this.#log(name);
    const commands = [
      ["GET", `${log}:head`],
      ["GET", `${log}:base`],
      ["XRANGE", log, formatCursor(from), "+", "COUNT", String(limit)],
    ];
    const [head, base, entries] = await this.#retry(() =>
      this.#followRedirects(log, (connection) => connection.multi(commands)),
    );
    if (typeof head !== "string" || typeof base !== "string") return null;
    return {
      epoch: parseHeadEpoch(head) ?? 0,
      base: parsePosition(base),
      entries: parseEntries(entries),
    };
  }

  async head(name: string): Promise<EngineHead | null> {
    return parseHead(await this.#eval(name, HEAD, () => []));
  }

  async trim(name: string, upTo: Position): Promise<boolean> {
    const next = formatCursor({ epoch: upTo.epoch, seq: upTo.seq + 1 });
    return (await this.#eval(name, TRIM, () => [formatCursor(upTo), next])) === 1;
  }

  async expire(name: string, archived: Position, afterMs: number): Promise<boolean> {
    return (await this.#eval(name, EXPIRE, () => [formatCursor(archived), String(afterMs)])) === 1;
  }

  async remove(name: string): Promise<void> {
    await this.#eval(name, REMOVE, () => []);
  }

  subscribe(name: string, listener: (notification: LogNotification) => void): Promise<() => void> {
    return this.#topology.subscribe(this.#log(name), listener);
  }

  async evaluate(script: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const names = keys.map((key) => `${this.#keyPrefix}:${key}`);
    const { connection } = this.#topology.nodeFor(names[0] ?? "");
    if (connection === null) throw new LogError("UNAVAILABLE", { detail: "No connection" });
    try {
      return await connection.send(["EVAL", script, String(names.length), ...names, ...args]);
    } catch (error) {
      if (isMoved(error)) void this.#topology.refresh(connection).catch(() => undefined);
      throw this.#toLogError(error, connection);
    }
  }

  onOutage(listener: (error: LogError) => void): () => void {
    return this.#outages.listen(listener);
  }

  get isImpaired(): boolean {
    return this.#outages.isImpaired;
  }

  close(): Promise<void> {
    return this.#topology.close();
  }

  /** The hash tag keeps all keys of a session on one server. A name has no braces, so it is the whole tag. */
  #log(name: string): string {
    return `${this.#keyPrefix}:{${name}}`;
  }

  #eval(
    name: string,
    script: string,
    args: (connection: RedisConnection) => readonly string[],
  ): Promise<unknown> {
    return this.#retry(() => this.#evalOnce(name, script, args));
  }

  #evalOnce(
    name: string,
    script: string,
    args: (connection: RedisConnection) => readonly string[],
  ): Promise<unknown> {
    const log = this.#log(name);
    return this.#followRedirects(log, (connection) => {
      const keys = [log, `${log}:head`, `${log}:base`];
      return connection.send(["EVALSHA", connection.shaOf(script), "3", ...keys, ...args(connection)]);
    });
  }

  /**
   * Sends a command once. Sends it again only if an error reply proves that it was not executed and names the remedy.
   */
  async #followRedirects<T>(
    key: string,
    send: (connection: RedisConnection) => Promise<T>,
    failure: Failure | null = null,
  ): Promise<T> {
    for (let [failed, redirects] = [failure, 0]; ; redirects++) {
      const migratingTo = failed === null ? null : await this.#remedy(failed, redirects);
      let connection = failed?.connection ?? null;
      try {
        if (migratingTo !== null) return await this.#ask(migratingTo, send);
        const node = this.#topology.nodeFor(key);
        connection = node.connection ?? (await node.waitForConnection());
        return await send(connection);
      } catch (error) {
        failed = { error, connection };
      }
    }
  }

  /**
   * Prepares for sending a command again. @returns the address of the server to which its slot is migrating, or null
   * @throws LogError with UNAVAILABLE if the command must not be sent again
   */
  async #remedy({ error, connection }: Failure, redirects: number): Promise<string | null> {
    const isRedirect = error instanceof ErrorReply && redirects <= MAX_REDIRECTS;
    const [code, , address = ""] = isRedirect ? error.message.split(" ") : [];
    if (code === "ASK") return address;
    if (code === "MOVED") await this.#topology.refresh(connection);
    // Another server answers behind the same connection, or the scripts were flushed.
    else if (code === "NOSCRIPT") await connection?.discard();
    else throw this.#toLogError(error, connection);
    return null;
  }

  /** The slot is migrating to another server: send the command there, for this call only. */
  async #ask<T>(address: string, send: (connection: RedisConnection) => Promise<T>): Promise<T> {
    const connection = await this.#topology.nodeAt(address).waitForConnection();
    const [, reply] = await Promise.all([connection.send(["ASKING"]), send(connection)]);
    return reply;
  }

  /**
   * Retries only if some server was ever reached. If not, the URL is probably wrong, and the caller must learn it soon.
   */
  #retry<T>(work: () => Promise<T>): Promise<T> {
    return retry(work, {
      isRetryable: (error) => this.#outages.hasConnected && isLogError(error, "UNAVAILABLE"),
      maxAttempts: MAX_ATTEMPTS,
      // Each attempt already waits for a connection.
      initialDelayMs: 0,
    });
  }

  #toLogError(error: unknown, connection: RedisConnection | null): LogError {
    if (!(error instanceof ErrorReply)) return unavailable(error);
    const [code = ""] = error.message.split(" ");
    // The server is no longer a primary, so its replication id is out of date.
    if (code === "READONLY") connection?.destroy();
    return new LogError("UNAVAILABLE", { detail: `Redis refused (${code})`, cause: error });
  }
}

function readOutcome([code, value]: [string, string], epoch: number | null): AppendOutcome {
  if (code === "added" || code === "found") return { type: code, last: parsePosition(value) };
  return code === "unsure" ? { type: "unsure" } : refusal(value, epoch);
}

function refusal(head: string, epoch: number | null): AppendOutcome {
  const found = parseHeadEpoch(head);
  if (found === null) return { type: "unclaimed", detail: "There is no log" };
  if (epoch !== null && found > epoch) return { type: "fenced", epoch: found };
  return {
    type: "unclaimed",
    detail: "The log was claimed on another Redis, or before this one restarted",
  };
}
