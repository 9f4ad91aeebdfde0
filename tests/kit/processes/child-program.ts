/**
 * `ChildProgram` runs one of our programs in its own process, so that a test can kill or freeze it, and exchanges
 * messages with it. The watchdog kills it when this process dies. Does not restart it.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { until } from "../util/until.ts";
import { forget, watch } from "./watch.ts";

export interface ChildProgramOptions {
  readonly file: string;
  /** Passed as JSON; the program reads them with `readSettings`. */
  readonly settings?: object;
  /** Names the program in error messages. @default the name of the file */
  readonly name?: string;
  /** Flags for Node, in front of the file. */
  readonly nodeFlags?: readonly string[];
  /** A command that runs Node, for example in another network namespace. It must replace itself by Node. */
  readonly launcher?: readonly string[];
}

export interface ReceivedMessage<Incoming> {
  readonly message: Incoming;
  /** When it arrived, by `performance.now()`. */
  readonly at: number;
}

export interface ExitStatus {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The messages of a union that have this key. */
export type MessageWith<Incoming, Key extends string> = Extract<Incoming, Record<Key, unknown>>;

export class ChildProgram<Incoming extends object = object, Outgoing extends object = object> {
  readonly name: string;
  /** All messages of the program so far. */
  readonly messages: ReceivedMessage<Incoming>[] = [];
  readonly exited: Promise<ExitStatus>;
  readonly #process: ChildProcess;

  constructor({
    file,
    settings = {},
    name = basename(file),
    nodeFlags = [],
    launcher = [],
  }: ChildProgramOptions) {
    this.name = name;
    const flags = ["--conditions=@turnstream/source", ...nodeFlags];
    const program = [process.execPath, ...flags, file, JSON.stringify(settings)];
    const [command, ...args] = [...launcher, ...program] as [string, ...string[]];
    this.#process = spawn(command, args, {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    const { pid } = this.#process;
    if (pid !== undefined) watch(pid);
    this.exited = once(this.#process, "exit").then(([code, signal]) => {
      if (pid !== undefined) forget(pid);
      return { code, signal };
    });
    this.onMessage((message) => this.messages.push({ message, at: performance.now() }));
  }

  /** @returns the program once it has sent its first message */
  static async start<Incoming extends object = object, Outgoing extends object = object>(
    options: ChildProgramOptions,
  ): Promise<ChildProgram<Incoming, Outgoing>> {
    const program = new ChildProgram<Incoming, Outgoing>(options);
    await program.ready();
    return program;
  }

  get hasExited(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  /** Waits for the first message. Throws if the program exits first. */
  async ready(): Promise<void> {
    if (this.messages.length > 0) return;
    await Promise.race([once(this.#process, "message"), this.exited]);
    if (this.messages.length === 0) throw new Error(`${this.name} exited before it was ready`);
  }

  send(message: Outgoing): void {
    if (this.#process.connected) this.#process.send(message);
  }

  /** @returns a function that removes the listener */
  onMessage(listener: (message: Incoming) => void): () => void {
    this.#process.on("message", listener);
    return () => void this.#process.off("message", listener);
  }

  /**
   * Sends a message and waits for the next reply that has this key.
   * The promise stays pending if the program is killed first.
   */
  request<Key extends string>(
    message: Outgoing,
    key: Key,
    isReply: (reply: MessageWith<Incoming, Key>) => boolean = () => true,
  ): Promise<MessageWith<Incoming, Key>> {
    return new Promise((resolve) => {
      const stop = this.onMessage((incoming) => {
        if (!has(incoming, key) || !isReply(incoming)) return;
        stop();
        resolve(incoming);
      });
      this.send(message);
    });
  }

  /** Returns the first message that has this key, or null before it arrives. */
  find<Key extends string>(key: Key): ReceivedMessage<MessageWith<Incoming, Key>> | null {
    const found = this.messages.find(({ message }) => key in message);
    return (found as ReceivedMessage<MessageWith<Incoming, Key>> | undefined) ?? null;
  }

  /** Returns all messages that have this key. */
  findAll<Key extends string>(key: Key): MessageWith<Incoming, Key>[] {
    return this.messages.map(({ message }) => message).filter((message) => has(message, key));
  }

  /** Waits for the first message that has this key. Throws if the program exits without sending it. */
  async waitFor<Key extends string>(key: Key): Promise<MessageWith<Incoming, Key>> {
    await until(`"${key}" from ${this.name}`, () => this.find(key) !== null || this.hasExited);
    const found = this.find(key);
    if (found === null) throw new Error(`${this.name} exited before it sent "${key}"`);
    return found.message;
  }

  /** Sends a signal and does not wait. */
  signal(signal: "SIGKILL" | "SIGTERM" | "SIGSTOP" | "SIGCONT"): void {
    this.#process.kill(signal);
  }

  /** Kills the process with -9. Its connections close at the same moment. */
  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.exited;
  }

  /** Stops the process with SIGSTOP and waits until it is stopped. */
  async freeze(): Promise<void> {
    this.signal("SIGSTOP");
    await until(`${this.name} to be frozen`, () => this.#isFrozen(), { everyMs: 1 });
  }

  #isFrozen(): boolean {
    const stat = readFileSync(`/proc/${this.#process.pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).startsWith("T");
  }
}

function has<Message extends object, Key extends string>(
  message: Message,
  key: Key,
): message is MessageWith<Message, Key> {
  return key in message;
}
