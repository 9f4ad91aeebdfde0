/** `serveFolder` serves the files of a built page on a free local port. It never serves files outside of the folder. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize, sep } from "node:path";
import { freePort, HOST } from "../kit/network/free-port.ts";

const KINDS: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".png": "image/png",
};

export interface ServedFolder {
  readonly url: string;
  close(): Promise<void>;
}

export async function serveFolder(folder: string): Promise<ServedFolder> {
  const server = createServer(({ url = "/" }, response) => {
    const { pathname } = new URL(url, "http://page");
    const path = normalize(decodeURIComponent(pathname.endsWith("/") ? `${pathname}index.html` : pathname));
    const file = join(folder, path);
    try {
      if (!file.startsWith(folder + sep)) throw new Error("outside");
      const body = readFileSync(file);
      response.setHeader("content-type", KINDS[extname(file)] ?? "application/octet-stream");
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  const port = await freePort();
  server.listen(port, HOST);
  await once(server, "listening");
  return {
    url: `http://${HOST}:${port}`,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
