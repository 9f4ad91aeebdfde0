/**
 * `isDatabaseUrl` validates database URLs, and `describeConnectionError` explains connection errors. Pure.
 *
 * Invariant: messages never contain the password or the URL, only the role, `host:port` and the database name. Every
 * URL that the driver accepts must be valid here.
 */
import type { RedactedCause } from "./errors.ts";
import type { StoreError } from "../errors.ts";

interface DatabaseLocation {
  readonly role: string;
  /** `host:port` */
  readonly server: string;
  readonly name: string;
}

const DEFAULT_PORT = "5432";

/** Accepts what the driver accepts, including a Unix socket and a URL without a host, which means localhost. */
export function isDatabaseUrl(url: unknown): url is string {
  if (typeof url !== "string") return false;
  if (/^(socket:|\/)/.test(url)) return true;
  return /^postgres(ql)?:\/\//.test(url) && URL.canParse(url.replace("@/", "@localhost/"));
}

/** Returns null for a URL that only the driver can parse. */
function databaseLocation(url: string): DatabaseLocation | null {
  if (!URL.canParse(url)) return null;
  const { hostname, port, pathname, username, searchParams } = new URL(url);
  const host = searchParams.get("host") ?? (hostname === "" ? "localhost" : decoded(hostname));
  const role = username === "" ? "of this system's user" : decoded(username);
  const name = decoded(pathname.slice(1));
  return { role, server: `${host}:${port === "" ? DEFAULT_PORT : port}`, name: name === "" ? role : name };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Explains to the operator why a database can't be used, with its address but without its password.
 * @param url the URL with which the database was opened
 */
export function describeConnectionError(error: StoreError, url: string): string {
  const place = databaseLocation(url);
  if (error.code !== "UNAVAILABLE" || place === null) return error.message;
  const { sqlstate, system } = error.cause as RedactedCause;
  return (
    MESSAGES[sqlstate ?? system ?? ""]?.(place) ??
    `PostgreSQL at ${place.server}/${place.name} can't be reached or refuses statements (${sqlstate ?? system}). Read its log.`
  );
}

const closed = ({ server }: DatabaseLocation): string =>
  `Nothing listens at ${server}. Start PostgreSQL there, or correct the address.`;

const unknownHost = ({ server }: DatabaseLocation): string =>
  `The host of ${server} can't be found. Correct the address, or check the network.`;

const silent = ({ server }: DatabaseLocation): string =>
  `PostgreSQL at ${server} doesn't answer. Check that it runs, and that the network allows the connection.`;

const refusedRole = ({ role, server }: DatabaseLocation): string =>
  `PostgreSQL at ${server} refuses the role ${role}: there is no such role, or the password is wrong. Correct the address.`;

const MESSAGES: Readonly<Record<string, (place: DatabaseLocation) => string>> = {
  ECONNREFUSED: closed,
  ENOENT: closed,
  ENOTFOUND: unknownHost,
  EAI_AGAIN: unknownHost,
  ETIMEDOUT: silent,
  EHOSTUNREACH: silent,
  CONNECTION: silent,
  "28000": refusedRole,
  "28P01": refusedRole,
  "3D000": ({ server, name }) =>
    `There is no database ${name} at ${server}. Create it, or correct the address.`,
  "42501": ({ role, server, name }) =>
    `The role ${role} may not do this in the database ${name} at ${server}. Grant it the rights, or use its owner.`,
  "57P03": ({ server }) => `PostgreSQL at ${server} is starting or stopping. Retry in a moment.`,
};
