/** Where a client is, for the audit: what the proxies say that are believed, or else who is connected. Decides nothing else. */
import type { IncomingMessage } from "node:http";
import proxyAddr from "@fastify/proxy-addr";

/** All proxies, those of these addresses or networks, or none. */
export type TrustProxy = boolean | string | readonly string[];

export function clientAddress(trust: TrustProxy): (incoming: IncomingMessage) => string {
  if (trust === false) return ({ socket }) => socket.remoteAddress ?? "";
  const isBelieved =
    trust === true ? () => true : proxyAddr.compile(typeof trust === "string" ? trust : [...trust]);
  return (incoming) => proxyAddr(incoming, isBelieved);
}
