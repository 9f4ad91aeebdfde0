/**
 * `GatewayEnvironment` runs gateway processes on the servers of a `TurnEnvironment`, with an API key for their clients.
 */
import type { Endpoint } from "@turnstream/conformance/clients/connections.ts";
import type { SessionRef } from "@turnstream/server";
import type { CommandBackend } from "@turnstream/server/internal";
import { GatewayProgram, type GatewaySettings } from "@turnstream/testkit/gateway/gateway-program.ts";
import { HIGH_LIMITS } from "@turnstream/testkit/gateway/high-limits.ts";
import { ACTOR, TurnEnvironment } from "./turn-environment.ts";

export class GatewayEnvironment {
  readonly turns: TurnEnvironment;
  readonly #headers: Readonly<Record<string, string>>;
  #count = 0;

  private constructor(turns: TurnEnvironment, headers: Readonly<Record<string, string>>) {
    this.turns = turns;
    this.#headers = headers;
  }

  get backend(): CommandBackend {
    return this.turns.backend;
  }

  /** Runs `use`, then stops every process and server, also after an error. */
  static async use<T>(
    use: (environment: GatewayEnvironment) => Promise<T>,
    servers: Parameters<typeof TurnEnvironment.use>[1] = {},
  ): Promise<T> {
    return TurnEnvironment.use(async (turns) => use(await GatewayEnvironment.over(turns)), servers);
  }

  /** Adds gateways to servers that are running already. They stop with these. */
  static async over(turns: TurnEnvironment): Promise<GatewayEnvironment> {
    const { secret } = await turns.backend.store.keys.create(ACTOR.tenant, { name: "chaos", scopes: [] });
    return new GatewayEnvironment(turns, { "x-api-key": secret, "x-user-id": ACTOR.user });
  }

  /** @param root a copy of the repository with another version. Default: this repository */
  async launchGateway(settings: Partial<GatewaySettings> = {}, root?: string): Promise<GatewayProgram> {
    const all: GatewaySettings = {
      secrets: ["a secret that only this scenario knows, for all of its gateways"],
      callerLimits: HIGH_LIMITS,
      ...settings,
      backend: { ...this.turns.settings(`gateway-${++this.#count}`), database: { max: 10 } },
    };
    return this.turns.own(await GatewayProgram.launch(all, root));
  }

  /** Kills a gateway, and starts one on the same port. */
  async replaceGateway(gateway: GatewayProgram, root?: string): Promise<GatewayProgram> {
    await gateway.kill();
    return this.launchGateway(gateway.settings, root);
  }

  /** The URL and headers that a client needs for this gateway. */
  endpoint({ url }: Pick<GatewayProgram, "url">): Endpoint {
    return { url, headers: this.#headers };
  }

  get failures(): string[] {
    return this.turns.failures;
  }

  createSession(): Promise<SessionRef> {
    return this.turns.createSession();
  }
}
