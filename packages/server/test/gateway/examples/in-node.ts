/** `nodeApp` adds the gateway to a server of `node:http`. Printed in docs/gateway.md. */
import { createServer } from "node:http";
import { createGateway, type GatewayOptions } from "@turnstream/server";

export function nodeApp(options: GatewayOptions, port: number) {
  const gateway = createGateway(options);
  const server = createServer((_request, response) => {
    response.end("your own routes stay as they are");
  });
  gateway.attach(server);
  server.listen(port);
  return { gateway, server };
}
