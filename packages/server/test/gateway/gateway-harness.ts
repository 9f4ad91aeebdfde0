/**
 * A turn harness with a gateway, for tests of resources. It checks every JSON response against the schema of its route,
 * and every error against the error schema.
 */
import { errorReply } from "@turnstream/protocol/schema";
import { createRouter } from "../../src/gateway/http/router.ts";
import type { ServerOptions } from "../../src/gateway/create-server.ts";
import { TurnHarness, type HarnessBackend } from "../engine/turn-harness.ts";
import { ALL_ROUTES } from "./all-routes.ts";
import { type TestRequest, openServer, type TestServer, type TestResponse } from "./test-server.ts";

const router = createRouter(ALL_ROUTES);

export class GatewayHarness {
  readonly stage: TurnHarness;
  readonly server: TestServer;

  private constructor(stage: TurnHarness, server: TestServer) {
    this.stage = stage;
    this.server = server;
  }

  static async open(parts: HarnessBackend, options: Partial<ServerOptions> = {}): Promise<GatewayHarness> {
    const stage = await TurnHarness.open(parts);
    return new GatewayHarness(stage, await openServer(parts, { ...options, actor: stage.actor }));
  }

  async request(method: string, path: string, request?: TestRequest): Promise<TestResponse> {
    return validateResponse(method, path, await this.server.request(method, path, request));
  }

  /** The JSON of a response, which must be successful. */
  async json(method: string, path: string, body?: unknown): Promise<TestResponse["json"]> {
    const { status, json, text } = await this.request(method, path, body === undefined ? {} : { body });
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
    return json;
  }

  /** The status and the code of an error response. */
  async requestError(method: string, path: string, body?: unknown): Promise<string> {
    const { status, json, text } = await this.request(method, path, body === undefined ? {} : { body });
    if (status < 400) throw new Error(`${method} ${path}: ${status} ${text}`);
    return `${status} ${json.error}`;
  }

  async close(): Promise<void> {
    await this.server.close();
    await this.stage.close();
  }
}

/** Throws if a response doesn't match the schema of its route or of errors. */
function validateResponse(method: string, path: string, response: TestResponse): TestResponse {
  if (response.status >= 400) {
    errorReply.parse(response.json);
    return response;
  }
  const found = router.find(method, path.split("?")[0] ?? path);
  const schema = found.kind === "route" ? found.route.responseSchema : undefined;
  if (schema !== undefined) schema.parse(response.json);
  return response;
}
