/** The server of the example: the gateway, signing in, and the chat page, at one address. */
import type { AddressInfo } from "node:net";
import { createGateway } from "@turnstream/server";
import { fastify } from "fastify";
import { addPage } from "./page-files.ts";
import { openParts, report } from "./parts.ts";
import { live, setting } from "./process-life.ts";
import { addSignIn } from "./sign-in.ts";

const HOST = "127.0.0.1";

await live(async () => {
  const opened = await openParts();
  const gateway = createGateway({ ...opened.parts, secrets: [setting("MARKET_SECRET")], onError: report });
  const app = fastify({ forceCloseConnections: true });
  await app.register(gateway.plugin);
  const port = Number(setting("MARKET_PORT"));
  const url = () => `http://${HOST}:${(app.server.address() as AddressInfo).port}`;
  addSignIn(app, { api: url, key: setting("MARKET_KEY") });
  addPage(app, setting("MARKET_PAGE"));
  await app.listen({ port, host: HOST });
  return {
    ready: url(),
    async leave() {
      await gateway.close();
      await app.close();
      await opened.close();
    },
  };
});
