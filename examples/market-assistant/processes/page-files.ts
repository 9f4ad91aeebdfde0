/**
 * `addPage` serves the built page from memory, and makes every visitor a guest. Names of its files contain a hash, so
 * browsers may cache them.
 */
import { globSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import type { FastifyInstance } from "fastify";
import { createGuestCookie, readGuest } from "./market.ts";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** Allows only the page's own scripts and only requests to this server. */
const POLICY = [
  "default-src 'self'",
  "img-src 'self' data: blob:",
  "style-src 'self' 'unsafe-inline'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

export function addPage(app: FastifyInstance, folder: string): void {
  for (const path of globSync("**/*.*", { cwd: folder })) {
    const body = readFileSync(join(folder, path));
    const type = TYPES[extname(path)] ?? "application/octet-stream";
    const isPage = path === "index.html";
    const keep = isPage ? "no-cache" : "public, max-age=31536000, immutable";
    app.get(isPage ? "/" : `/${path}`, (request, reply) => {
      if (isPage && readGuest(request.headers.cookie) === null)
        reply.header("set-cookie", createGuestCookie());
      return reply
        .header("content-type", type)
        .header("cache-control", keep)
        .header("content-security-policy", POLICY)
        .header("x-content-type-options", "nosniff")
        .send(body);
    });
  }
}
