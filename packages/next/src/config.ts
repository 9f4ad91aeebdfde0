/**
 * `@turnstream/next/config`: `withTurnstream` adds to a Next.js configuration what Turnstream needs.
 * Invariant: every other setting stays as it is. It imports nothing, because Next.js loads it before everything else.
 */

/** The settings of Next.js that `withTurnstream` reads or changes. */
export interface TurnstreamConfig {
  serverExternalPackages?: string[];
  basePath?: string;
  trailingSlash?: boolean;
}

/** Not bundled: it starts threads from its own files, and its database drivers load files at run time. */
const EXTERNAL = "@turnstream/server";

/** @throws TypeError if a setting of the configuration moves the path of the API */
export function withTurnstream<Config extends object>(config: Config & TurnstreamConfig): Config {
  const { serverExternalPackages = [], basePath = "", trailingSlash = false } = config;
  if (basePath !== "" || trailingSlash)
    throw new TypeError(
      `Turnstream serves its API at /api/v1. Remove \`${trailingSlash ? "trailingSlash" : "basePath"}\` from next.config, or run Turnstream as a server of its own.`,
    );
  return { ...config, serverExternalPackages: [...new Set([...serverExternalPackages, EXTERNAL])] };
}
