/** The server of the example: the gateway and the chat page on one origin. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createMarket } from "./market.ts";
import { servePage } from "./page-files.ts";
import { readSetting, runProcess } from "./process-life.ts";

await runProcess(async () => {
  const { app } = createMarket();
  const gateway = await app.gateway();
  const server = createServer(servePage(readSetting("MARKET_PAGE")));
  gateway.attach(server);
  await once(server.listen(Number(readSetting("MARKET_PORT")), "127.0.0.1"), "listening");
  return {
    ready: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async leave() {
      await app.close();
      server.close();
      server.closeAllConnections();
    },
  };
});
