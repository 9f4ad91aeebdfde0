/** The server of the example: the gateway and the chat page on one origin. */
import { fastify } from "fastify";
import { createMarket, isOwnHost } from "./market.ts";
import { addPage } from "./page-files.ts";
import { readSetting, runProcess } from "./process-life.ts";

await runProcess(async () => {
  const { app } = createMarket();
  const gateway = await app.gateway();
  const server = fastify({ forceCloseConnections: true });
  server.addHook("onRequest", async (request, reply) => {
    if (isOwnHost(request.headers.host)) return;
    const message = "This server answers only to 127.0.0.1 and localhost. Open it under one of these names.";
    await reply.code(421).send({ message });
  });
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
