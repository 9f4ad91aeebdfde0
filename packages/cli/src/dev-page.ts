/**
 * `readPage` reads the built chat page into memory and returns the function that serves it.
 * Invariant: only files that existed in the folder at the start are served, by their exact path, so no path leads out of
 * it. The policy lets the page load only its own files and call only this server.
 */
import { globSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { CommandError } from "./cli-context.ts";

/** `npm run build` puts the page here. The path is the same from `src` and from `dist`. */
export const PAGE_FOLDER = fileURLToPath(new URL("../dist/page", import.meta.url));

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
};

const HEADERS = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    // The page loads an image of another site only after the user has confirmed it.
    "img-src 'self' data: blob: https:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
};

/** @throws CommandError if the folder has no page */
export function readPage(folder: string): (request: Request) => Response | null {
  const files = new Map(
    globSync("**/*.{html,js,css}", { cwd: folder }).map((path) => {
      const body = readFileSync(join(folder, path));
      // The names of the other files contain a hash of their content.
      const cache = path === "index.html" ? "no-cache" : "public, max-age=31536000, immutable";
      const headers = { ...HEADERS, "content-type": TYPES[extname(path)] ?? "", "cache-control": cache };
      return [path === "index.html" ? "/" : `/${path.replaceAll("\\", "/")}`, { body, headers }];
    }),
  );
  if (!files.has("/"))
    throw new CommandError(
      `There is no page in ${folder}. In a clone of the repository, run \`npm run build\`.`,
    );
  return (request) => {
    const file = files.get(new URL(request.url).pathname);
    return file === undefined ? null : new Response(file.body, { headers: file.headers });
  };
}
