/** `honoApp` adds the gateway to a Hono app on Node, sockets included. Printed in docs/gateway.md. */
import { serve } from "@hono/node-server";
import { createGateway, type GatewayOptions } from "@turnstream/server";
import { Hono } from "hono";

export function honoApp(options: GatewayOptions, port: number) {
  const gateway = createGateway(options);
  const app = new Hono();
  app.get("/", (c) => c.text("your own routes stay as they are"));
  const server = serve({ fetch: app.fetch, port });
  gateway.attach(server);
  return { gateway, server };
}
