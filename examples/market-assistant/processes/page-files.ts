/**
 * `servePage` serves the built page from memory, and makes every visitor a guest. Names of its files contain a hash, so
 * browsers may cache them.
 */
import { globSync, readFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { extname, join } from "node:path";
import { createGuestCookie, isOwnHost, readGuest } from "./market.ts";

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

export function servePage(folder: string): RequestListener {
  const paths = globSync("**/*.*", { cwd: folder });
  const files = new Map(paths.map((path) => [`/${path}`, readFileSync(join(folder, path))]));
  return ({ headers, method, url = "/" }, response) => {
    if (!isOwnHost(headers.host)) {
      response.writeHead(421).end("Open this server under 127.0.0.1 or localhost.");
      return;
    }
    const asked = url.replace(/\?.*$/s, "");
    const isPage = asked === "/";
    const path = isPage ? "/index.html" : asked;
    const body = files.get(path);
    if (body === undefined || method !== "GET") {
      response.writeHead(404).end("Not found.");
      return;
    }
    if (isPage && readGuest(headers.cookie) === null) response.setHeader("set-cookie", createGuestCookie());
    response.writeHead(200, {
      "content-type": TYPES[extname(path)] ?? "application/octet-stream",
      "cache-control": isPage ? "no-cache" : "public, max-age=31536000, immutable",
      "content-security-policy": POLICY,
      "x-content-type-options": "nosniff",
    });
    response.end(body);
  };
}
