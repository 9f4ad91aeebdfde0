/**
 * `startRegistry` runs a package registry on 127.0.0.1 and publishes the built packages of this repository to it with
 * `npm publish`, as a release does. It stores what npm publishes, and redirects requests for other packages.
 * Invariant: other packages come from the registry of this machine's npm settings, read at run time. The URL has a
 * random part, because npm's cache is shared and would return packages of an earlier run for the same URL.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { freePort, HOST } from "@turnstream/testkit/network/free-port.ts";
import { runCommand } from "./user-commands.ts";

const root = join(import.meta.dirname, "../..");

export interface LocalRegistry {
  readonly url: string;
  close(): Promise<void>;
}

export async function startRegistry(): Promise<LocalRegistry> {
  const port = await freePort();
  const path = `/${randomUUID()}/`;
  const url = `http://${HOST}:${port}${path}`;
  const { output: machine } = await runCommand("npm config get registry", { folder: root });
  const server = createServer(createListener(path, machine.trim()));
  server.listen(port, HOST);
  await once(server, "listening");
  const workspaces = listPublished().map((name) => `-w packages/${name}`);
  // npm requires a token, and this registry accepts any.
  const target = `--registry ${url} --//${HOST}:${port}${path}:_authToken=none`;
  await runCommand(`npm publish ${workspaces.join(" ")} ${target}`, { folder: root });
  return {
    url,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** The metadata of a package. npm sends it with its archives, and reads it without them. */
interface Published {
  _attachments?: Record<string, { readonly data: string }>;
}

const isOurs = (name: string): boolean => /^(@turnstream\/|create-turnstream(\/|$))/.test(name);

function createListener(path: string, machine: string) {
  const packages = new Map<string, Published>();
  const archives = new Map<string, Buffer>();

  async function publish(name: string, request: IncomingMessage): Promise<void> {
    const { _attachments = {}, ...metadata } = (await json(request)) as Published;
    packages.set(name, metadata);
    for (const [file, { data }] of Object.entries(_attachments))
      archives.set(`${name}/-/${file}`, Buffer.from(data, "base64"));
  }

  return (request: IncomingMessage, response: ServerResponse): void => {
    const asked = (request.url ?? "").slice(path.length);
    const name = decodeURIComponent(asked);
    const archive = archives.get(name);
    if (!isOurs(name)) response.writeHead(302, { location: new URL(asked, machine).href }).end();
    else if (archive !== undefined) response.end(archive);
    else if (request.method === "PUT")
      publish(name, request).then(
        () => response.writeHead(201).end("{}"),
        (error: unknown) => response.writeHead(400).end(String(error)),
      );
    else response.writeHead(packages.has(name) ? 200 : 404).end(JSON.stringify(packages.get(name) ?? {}));
  };
}

/** Returns the folders of all packages that a release publishes. */
function listPublished(): string[] {
  return readdirSync(join(root, "packages")).filter((name) => {
    const manifest = readFileSync(join(root, "packages", name, "package.json"), "utf8");
    return (JSON.parse(manifest) as { private?: boolean }).private !== true;
  });
}
