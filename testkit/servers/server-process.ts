/**
 * One server as a child process that can be ended, killed, frozen and started again. Knows nothing of what the
 * server speaks, and never starts one that would outlive this process.
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
  /** From `makeFolder`. Whatever the server says is appended to server.log in it. */
  folder: string;
  /** Left out: whoever we are. */
  owner?: Owner | undefined;
  /** Asks for an end in which nothing is lost. */
  stopSignal: NodeJS.Signals;
  isReady: (pid: number) => boolean | Promise<boolean>;
  afterKill?: () => void;
}

export interface ServerProcess {
  /** Of the present process; throws when there is none. */
  readonly pid: number;
  readonly isRunning: boolean;
  /** With its files and its server.log. */
  readonly folder: string;
  /** Ends it in peace and removes its folder. There is no way back. */
  stop(): Promise<void>;
  /** SIGKILL to it and all of its children at once; answers once they are gone. The folder stays. */
  kill(): Promise<void>;
  /** Starts it again on the same port and folder, after ending it in peace if it runs. Answers once it is ready. */
  restart(): Promise<void>;
  /** SIGSTOP to all of its processes: connections stay and bytes wait. It is not a partition; a proxy makes one. */
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
    // A session of its own: Ctrl-C in a terminal is for us, and we end the servers in our order.
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
    // A script that forgets to stop its servers may still end; the watchdog ends them.
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
        `${name} has ended (${how}); its last words:\n${endOfLog(folder)}`,
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
    await until(`${this.#program.name} to be gone`, () => !killed.some(isAlive));
    this.#program.afterKill?.();
  }

  async restart(): Promise<void> {
    const { name, folder } = this.#program;
    if (!existsSync(folder)) {
      throw new ServiceError(
        "not_running",
        `${name} was stopped for good, ${folder} is gone: start a new one`,
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
    // Redis refuses to end while it writes its first file, and forgets that it was asked.
    const again = setInterval(() => child.kill(stopSignal), ASK_AGAIN_MS);
    const inTime = await Promise.race([ended.then(() => true), sleep(END_MS, false, { ref: false })]);
    clearInterval(again);
    if (!inTime) await this.kill();
  }
}

/** Answers once the server is ready. When that fails nothing is left of it. */
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
