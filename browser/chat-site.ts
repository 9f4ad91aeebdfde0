/**
 * `startChatSite` serves the page of a whole chat, the gateway and a sign-in on one origin. A user is signed in if the
 * cookie `user` is set.
 */
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { createGateway, signToken } from "@turnstream/server";
import type { Actor } from "@turnstream/server/ports";
import type { TestBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { pageUrl } from "./pages.ts";

export interface ChatSite {
  readonly url: string;
  /** How often a page has asked for a token. */
  readonly signIns: () => number;
  close(): Promise<void>;
}

const TOKEN_MS = 3_600_000;

export async function startChatSite({ store, log, signals }: TestBackend, actor: Actor): Promise<ChatSite> {
  const secret = randomBytes(32).toString("hex");
  const gateway = createGateway({ store, log, signals, secrets: [secret] });
  let signIns = 0;
  const signIn = async (cookies: string): Promise<Response> => {
    signIns++;
    if (!/(^|;\s*)user=/.test(cookies))
      return Response.json({ error: "UNAUTHENTICATED", message: "Sign in." }, { status: 401 });
    const expiresAt = Date.now() + TOKEN_MS;
    const claims = { ...actor, key: null, scopes: ["read", "write"], expiresAt };
    const token = await signToken(claims, secret, Date.now());
    return Response.json({ token, expires_at: expiresAt, user_id: actor.user });
  };
  const respond = async (incoming: IncomingMessage, origin: string): Promise<Response> => {
    const { method = "GET", headers } = incoming;
    const url = new URL(incoming.url ?? "/", origin);
    if (url.pathname === "/api/v1/sign-in") return await signIn(headers.cookie ?? "");
    if (!url.pathname.startsWith("/api/")) {
      const path = url.pathname === "/" ? "/chat.html" : url.pathname;
      return await fetch(`${pageUrl("live")}${path}`);
    }
    const body = method === "GET" ? null : (Readable.toWeb(incoming) as ReadableStream);
    const init = { method, headers: headers as Record<string, string>, body, duplex: "half" };
    return await gateway.handle(new Request(url, init));
  };
  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const response = await respond(incoming, site.url);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    for await (const chunk of response.body ?? []) outgoing.write(chunk);
    outgoing.end();
  };
  const server = createServer((incoming, outgoing) => void answer(incoming, outgoing));
  server.on("upgrade", (incoming, socket, head) => {
    if (!gateway.upgrade(incoming, socket, head)) socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const site: ChatSite = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    signIns: () => signIns,
    async close() {
      await gateway.close();
      server.close();
      server.closeAllConnections();
    },
  };
  return site;
}
