/**
 * One connection to one Redis server, from its opening to its end. It never reconnects: a new connection may
 * reach another server, so that whatever was known over the old one has to be asked again (`node.ts` does).
 * For the same reason nothing is queued for later: what can't be sent now fails now.
 */
import { createClient } from "@redis/client";
import { LogError } from "../errors.ts";
import { SCRIPTS } from "./scripts.ts";

export interface LinkOptions {
  readonly url: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** How long a server may take to answer a ping before the connection counts as lost. */
  readonly patienceMs: number;
}

type Client = ReturnType<typeof connectable>;

function connectable({ url, username, password, patienceMs }: LinkOptions) {
  return createClient({
    url,
    RESP: 3,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    disableOfflineQueue: true,
    // A timer per command costs more than the command. The ping finds out about a dead server.
    commandOptions: { timeout: 0 },
    maintNotifications: "disabled",
    socket: { reconnectStrategy: false, connectTimeout: patienceMs },
  });
}

export class Link {
  /** Redis's replication id as of the opening. */
  readonly timeline: string;
  /** Fulfilled once the connection is gone. */
  readonly ended: Promise<void>;
  readonly #client: Client;

  private constructor(client: Client, timeline: string, ended: Promise<void>) {
    this.#client = client;
    this.timeline = timeline;
    this.ended = ended;
  }

  static async open(options: LinkOptions): Promise<Link> {
    const client = connectable(options);
    const ended = new Promise<void>((resolve) => {
      client.once("end", resolve).once("terminated", resolve);
      // Each command in flight gets the error itself.
      client.on("error", () => undefined);
    });
    try {
      await client.connect();
      const [info] = await inTime(
        Promise.all([
          client.sendCommand<string>(["INFO", "replication"]),
          ...SCRIPTS.map(({ source }) => client.sendCommand<string>(["SCRIPT", "LOAD", source])),
        ]),
        options.patienceMs,
      );
      return new Link(client, readTimeline(info), ended);
    } catch (error) {
      if (client.isOpen) client.destroy();
      throw unavailable(error);
    }
  }

  send(args: readonly string[]): Promise<unknown> {
    return this.#client.sendCommand(args);
  }

  /** Sends commands so that nothing comes between them. */
  async together(commands: readonly (readonly string[])[]): Promise<unknown[]> {
    const multi = this.#client.multi();
    for (const command of commands) multi.addCommand([...command]);
    return multi.exec();
  }

  subscribe(channel: string, listener: (message: string, channel: string) => void): Promise<void> {
    return this.#client.sSubscribe(channel, listener);
  }

  unsubscribe(channel: string): Promise<void> {
    return this.#client.sUnsubscribe(channel);
  }

  /** Calls back when the server says that a channel is no longer its business. */
  onMoved(callback: (channel: string) => void): void {
    this.#client.on("sharded-channel-moved", callback);
  }

  /** Whether it is still the server it was, and alive. Ends the connection if not. */
  async check(patienceMs: number): Promise<void> {
    try {
      const info = await inTime(this.send(["INFO", "replication"]), patienceMs);
      if (readTimeline(String(info)) === this.timeline) return;
    } catch {
      // Ended below, as it would be for another timeline.
    }
    this.destroy();
  }

  destroy(): void {
    if (this.#client.isOpen) this.#client.destroy();
  }
}

/** A replica answers too, but takes no appends: it is no timeline to claim a log on. */
function readTimeline(info: string): string {
  const id = /^master_replid:(\w+)/m.exec(info)?.[1];
  const role = /^role:(\w+)/m.exec(info)?.[1];
  if (id === undefined)
    throw new LogError("UNAVAILABLE", { detail: "Redis doesn't tell its replication id" });
  return role === "master" ? id : `${id}-${role}`;
}

async function inTime<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new LogError("UNAVAILABLE", { detail: `No answer in ${ms} ms` })), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

export function unavailable(cause: unknown): LogError {
  return cause instanceof LogError ? cause : new LogError("UNAVAILABLE", { cause });
}
