/** `handlersOf` serves the gateway with Request and Response, for example in Next.js. Printed in docs/gateway.md. */
import { createGateway, type GatewayOptions } from "@turnstream/server";

export function handlersOf(options: GatewayOptions) {
  const gateway = createGateway(options);
  const handler = (request: Request) => gateway.handle(request);
  // Next.js: `export const { GET, POST, PUT, PATCH, DELETE, OPTIONS } = …` in app/api/v1/[...path]/route.ts.
  return { GET: handler, POST: handler, PUT: handler, PATCH: handler, DELETE: handler, OPTIONS: handler };
}
