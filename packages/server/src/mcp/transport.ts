/** How a server is reached: its process, or its address. Makes the transport; connects nothing. */
import type { Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { HttpTransport } from "./http-transport.ts";
import { isStdio, type McpServerOptions } from "./options.ts";
import type { Redactor } from "./redact.ts";

const MAX_TAIL = 1_000;

export interface TransportFactory {
  readonly transport: Transport;
  /** The end of what the server's process wrote to stderr. */
  tail(): string;
}

export function createTransport(options: McpServerOptions, redactor: Redactor): TransportFactory {
  if (!isStdio(options)) {
    const url = new URL(options.url);
    for (const secret of [url.username, url.password, ...url.searchParams.values()]) redactor.add(secret);
    return { transport: new HttpTransport(options, redactor), tail: () => "" };
  }
  const { command, args = [], env = {}, cwd } = options;
  for (const value of Object.values(env)) redactor.add(value);
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...env },
    stderr: "pipe",
    ...(cwd === undefined ? {} : { cwd }),
  });
  let tail = "";
  transport.stderr?.on("data", (chunk: Buffer) => {
    tail = (tail + chunk.toString()).slice(-MAX_TAIL);
  });
  return { transport, tail: () => tail };
}
