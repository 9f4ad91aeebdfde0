/** The server of the example: the gateway, the sign-in and the chat page on one origin. */
import type { AddressInfo } from "node:net";
import { createGateway } from "@turnstream/server";
import { fastify } from "fastify";
import { addPage } from "./page-files.ts";
import { openBackend, report } from "./backend.ts";
import { runProcess, readSetting } from "./process-life.ts";
import { addSignIn } from "./sign-in.ts";

const HOST = "127.0.0.1";

await runProcess(async () => {
  const opened = await openBackend();
  const gateway = createGateway({
    ...opened.backend,
    secrets: [readSetting("MARKET_SECRET")],
    onError: report,
  });
  const app = fastify({ forceCloseConnections: true });
  await app.register(gateway.plugin);
  const port = Number(readSetting("MARKET_PORT"));
  const url = () => `http://${HOST}:${(app.server.address() as AddressInfo).port}`;
  addSignIn(app, { api: url, key: readSetting("MARKET_KEY") });
  addPage(app, readSetting("MARKET_PAGE"));
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
