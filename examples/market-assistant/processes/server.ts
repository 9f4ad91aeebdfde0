/** The server of the example: the gateway and the chat page on one origin. */
import { fastify } from "fastify";
import { createMarket } from "./market.ts";
import { addPage } from "./page-files.ts";
import { readSetting, runProcess } from "./process-life.ts";

await runProcess(async () => {
  const { app } = createMarket();
  const gateway = await app.gateway();
  const server = fastify({ forceCloseConnections: true });
  await server.register(gateway.plugin);
  addPage(server, readSetting("MARKET_PAGE"));
  const url = await server.listen({ port: Number(readSetting("MARKET_PORT")), host: "127.0.0.1" });
  return {
    ready: url,
    async leave() {
      await app.close();
      await server.close();
    },
  };
});
