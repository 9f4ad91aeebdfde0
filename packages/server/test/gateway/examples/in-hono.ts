/** `honoApp` adds the gateway to a Hono app on Node. Printed in docs/gateway.md. */
import { serve } from "@hono/node-server";
import { createGateway, type GatewayOptions } from "@turnstream/server";
import { Hono } from "hono";

export function honoApp(options: GatewayOptions, port: number) {
  const gateway = createGateway(options);
  const app = new Hono();
  app.get("/", (c) => c.text("your own routes stay as they are"));
  app.all("/api/v1/*", (c) => gateway.handle(c.req.raw));
  const server = serve({ fetch: app.fetch, port });
  server.on("upgrade", (incoming, socket, head) => {
    if (!gateway.upgrade(incoming, socket, head)) socket.destroy();
  });
  return { gateway, server };
}
