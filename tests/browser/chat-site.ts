/**
 * `startChatSite` serves the page of a whole chat and the gateway with its sign-in on one origin. A user is signed in if
 * the cookie `user` is set.
 */
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createGateway } from "@turnstream/server";
import type { Actor } from "@turnstream/server/internal";
import type { TestBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { pageUrl } from "./pages.ts";

export interface ChatSite {
  readonly url: string;
  /** How often a page has asked for a token. */
  readonly signIns: () => number;
  close(): Promise<void>;
}

const SIGN_IN = "/api/v1/sign-in";

function isSignedIn({ headers }: Request): boolean {
  return /(^|;\s*)user=/.test(headers.get("cookie") ?? "");
}

/** Serves the files of the page. */
async function answer({ url = "/" }: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const response = await fetch(`${pageUrl("live")}${url.replace(/^\/(?=$|\?)/, "/chat.html")}`);
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  for await (const chunk of response.body ?? []) outgoing.write(chunk);
  outgoing.end();
}

export async function startChatSite(
  { store, log, signals }: TestBackend,
  { tenant, user }: Actor,
): Promise<ChatSite> {
  const secret = randomBytes(32).toString("hex");
  const signIn = { tenant, user: (request: Request) => (isSignedIn(request) ? user : null) };
  const gateway = createGateway({ store, log, signals, secrets: [secret], signIn });
  let signIns = 0;
  const server = createServer((incoming, outgoing) => void answer(incoming, outgoing));
  gateway.attach(server);
  server.on("request", ({ url }) => {
    if (url === SIGN_IN) signIns++;
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
