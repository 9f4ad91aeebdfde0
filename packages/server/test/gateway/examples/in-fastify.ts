/** `ownApp` adds the gateway to a Fastify app. Printed in docs/gateway.md. */
import { createGateway, type GatewayOptions } from "@turnstream/server";
import { fastify } from "fastify";

export async function ownApp(options: GatewayOptions) {
  const gateway = createGateway(options);
  const app = fastify();
  app.get("/", (_request, reply) => reply.send("your own routes stay as they are"));
  await app.register(gateway.plugin);
  app.addHook("preClose", () => gateway.close());
  return app;
}
