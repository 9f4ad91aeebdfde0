/**
 * `startServer` starts one server as a child process that can be stopped, killed, frozen and restarted. It works for
 * any server, independent of its protocol.
 *
 * Invariant: no server outlives this process.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { ServiceError } from "./service-error.ts";
import { until } from "../util/until.ts";
import { freezeTree, isAlive, killTree, thawTree } from "../processes/process-tree.ts";
import { forget, removeFolder, watch } from "../processes/watch.ts";

export interface Owner {
  uid: number;
  gid: number;
}

export interface ServerProgram {
  name: string;
  file: string;
  args: string[];
  /** From `makeFolder`. The server's output is appended to server.log in it. */
  folder: string;
  /** The user to run as. @default the current user */
  owner?: Owner | undefined;
  /** The signal for a normal shutdown without data loss. */
  stopSignal: NodeJS.Signals;
  isReady: (pid: number) => boolean | Promise<boolean>;
  afterKill?: () => void;
}

export interface ServerProcess {
  /** The id of the running process. Throws if there is none. */
  readonly pid: number;
  readonly isRunning: boolean;
  /** Contains the server's files and its server.log. */
  readonly folder: string;
  /** Shuts the server down and removes its folder. It can't be restarted. */
  stop(): Promise<void>;
  /** Sends SIGKILL to the server and all of its children, and resolves when they have exited. The folder stays. */
  kill(): Promise<void>;
  /**
   * Starts the server again on the same port and folder, after a normal shutdown if it runs. Resolves when it is ready.
   */
  restart(): Promise<void>;
  /**
   * Sends SIGSTOP to all of its processes: connections stay open and bytes wait. This is not a partition; use the proxy
   * for one.
   */
  freeze(): void;
  thaw(): void;
}

interface Present {
  pid: number;
  child: ChildProcess;
  ended: Promise<void>;
}

const READY_MS = 60_000;
const END_MS = 20_000;
const ASK_AGAIN_MS = 200;
const LOG_LINES = 15;

function endOfLog(folder: string): string {
  const lines = readFileSync(join(folder, "server.log"), "utf8").trimEnd().split("\n");
  return lines.slice(-LOG_LINES).join("\n");
}

function launch({ file, args, folder, owner }: ServerProgram): ChildProcess {
  const log = openSync(join(folder, "server.log"), "a");
  try {
    // In its own session: Ctrl-C in a terminal reaches only us, and we stop the servers in our order.
    return spawn(file, args, { ...owner, cwd: folder, detached: true, stdio: ["ignore", log, log] });
  } finally {
    closeSync(log);
  }
}

class Server implements ServerProcess {
  readonly #program: ServerProgram;
  #present: Present | undefined;

  constructor(program: ServerProgram) {
    this.#program = program;
  }

  get folder(): string {
    return this.#program.folder;
  }

  get isRunning(): boolean {
    return this.#present !== undefined;
  }

  get pid(): number {
    return this.#running().pid;
  }

  async start(): Promise<void> {
    const { name, file, folder, isReady } = this.#program;
    const child = launch(this.#program);
    const { pid } = child;
    if (pid === undefined) {
      const [cause] = await once(child, "error");
      throw new ServiceError("start_failed", `${file} could not be run`, { cause });
    }
    watch(pid);
    // Lets a script exit that forgets to stop its servers. The watchdog stops them.
    child.unref();
    let how = "";
    const ended = new Promise<void>((resolve) => {
      child.once("exit", (code, signal) => {
        how = signal ?? `code ${code}`;
        forget(pid);
        this.#present = undefined;
        resolve();
      });
    });
    this.#present = { pid, child, ended };
    const ready = async () => {
      if (this.#present) return await isReady(pid);
      throw new ServiceError(
        "start_failed",
        `${name} exited (${how}); the end of its log:\n${endOfLog(folder)}`,
      );
    };
    await until(`${name} in ${folder} to be ready`, ready, { timeoutMs: READY_MS });
  }

  async stop(): Promise<void> {
    if (this.#present) await this.#end(this.#present);
    removeFolder(this.folder);
  }

  async kill(): Promise<void> {
    const { pid, child, ended } = this.#running();
    child.ref();
    const killed = killTree(pid);
    await ended;
    await until(`${this.#program.name} to exit`, () => !killed.some(isAlive));
    this.#program.afterKill?.();
  }

  async restart(): Promise<void> {
    const { name, folder } = this.#program;
    if (!existsSync(folder)) {
      throw new ServiceError(
        "not_running",
        `${name} was stopped and its folder ${folder} removed: start a new one`,
      );
    }
    if (this.#present) await this.#end(this.#present);
    await this.start();
  }

  freeze(): void {
    freezeTree(this.pid);
  }

  thaw(): void {
    thawTree(this.pid);
  }

  #running(): Present {
    if (this.#present) return this.#present;
    const { name, folder } = this.#program;
    throw new ServiceError("not_running", `${name} in ${folder} is not running: restart it first`);
  }

  async #end({ pid, child, ended }: Present): Promise<void> {
    const { stopSignal } = this.#program;
    child.ref();
    thawTree(pid);
    child.kill(stopSignal);
    // Redis refuses to shut down while it writes its first file, and forgets the request, so repeat it.
    const again = setInterval(() => child.kill(stopSignal), ASK_AGAIN_MS);
    const inTime = await Promise.race([ended.then(() => true), sleep(END_MS, false, { ref: false })]);
    clearInterval(again);
    if (!inTime) await this.kill();
  }
}

/** Resolves when the server is ready. A failed start leaves nothing behind. */
export async function startServer(program: ServerProgram): Promise<ServerProcess> {
  const server = new Server(program);
  try {
    await server.start();
  } catch (error) {
    await server.stop();
    throw error;
  }
  return server;
}
