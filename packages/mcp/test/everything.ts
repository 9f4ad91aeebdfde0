/** Starts the MCP reference server, which exercises all of MCP, over stdio and over HTTP. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { freePort, HOST } from "@turnstream/testkit/network/free-port.ts";

const EVERYTHING = fileURLToPath(
  import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"),
);
const ODD = fileURLToPath(new URL("misbehaving-server.ts", import.meta.url));

/** Lets the servers load compiled code, which halves the time until they start. */
const compileCache = { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? "" };

export const everythingStdio = { command: process.execPath, args: [EVERYTHING, "stdio"], env: compileCache };

/** The options of our own server that misbehaves on request. */
export function oddStdio(env: Record<string, string> = {}) {
  return { command: process.execPath, args: [ODD], env };
}

export class EverythingHttp {
  readonly port: number;
  #process: ChildProcess | null = null;

  private constructor(port: number) {
    this.port = port;
  }

  static async start(): Promise<EverythingHttp> {
    const server = new EverythingHttp(await freePort());
    await server.begin();
    return server;
  }

  get url(): string {
    return `http://${HOST}:${this.port}/mcp`;
  }

  async begin(): Promise<void> {
    const child = spawn(process.execPath, [EVERYTHING, "streamableHttp"], {
      env: { ...compileCache, PATH: process.env["PATH"] ?? "", PORT: String(this.port) },
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#process = child;
    for await (const chunk of child.stderr as AsyncIterable<Buffer>)
      if (chunk.toString().includes("listening")) break;
  }

  async kill(): Promise<void> {
    const child = this.#process;
    this.#process = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
}
