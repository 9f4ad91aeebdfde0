/** `ownApp` adds the gateway to a Fastify app. Printed in docs/gateway.md. */
import { createServer } from "node:http";
import { createGateway, type GatewayOptions } from "@turnstream/server";
import { fastify } from "fastify";

export function ownApp(options: GatewayOptions) {
  const gateway = createGateway(options);
  const app = fastify({
    serverFactory(handler) {
      const server = createServer(handler);
      gateway.attach(server);
      return server;
    },
  });
  app.get("/", (_request, reply) => reply.send("your own routes stay as they are"));
  app.addHook("preClose", () => gateway.close());
  return app;
}
