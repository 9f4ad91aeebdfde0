/** The address of a database: whether something is one, and what it names. Pure, and never shows the password. */

export interface Place {
  readonly role: string;
  /** `host:port` */
  readonly server: string;
  readonly name: string;
}

const DEFAULT_PORT = "5432";

/** What the driver takes: also a socket in the file system, and no host at all, which is this machine. */
export function isDatabaseUrl(url: unknown): url is string {
  if (typeof url !== "string") return false;
  if (/^(socket:|\/)/.test(url)) return true;
  return /^postgres(ql)?:\/\//.test(url) && URL.canParse(url.replace("@/", "@localhost/"));
}

/** Null for an address that only the driver can read. */
export function placeOf(url: string): Place | null {
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
