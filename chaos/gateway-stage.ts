/** The place where turns are watched through gateway processes: a stage for turns, and a key that lets viewers in. */
import type { CommandBackend, SessionRef } from "@turnstream/server";
import { GatewayProcess } from "./gateway-process.ts";
import { ACTOR, TurnStage } from "./turn-stage.ts";

export class GatewayStage {
  readonly turns: TurnStage;
  readonly actor = ACTOR;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #gateways: GatewayProcess[] = [];
  #count = 0;

  private constructor(turns: TurnStage, headers: Readonly<Record<string, string>>) {
    this.turns = turns;
    this.#headers = headers;
  }

  get parts(): CommandBackend {
    return this.turns.parts;
  }

  /** Everything is stopped and gone when `use` has come back. */
  static async use<T>(use: (stage: GatewayStage) => Promise<T>): Promise<T> {
    return TurnStage.use(async (turns) => {
      const { secret } = await turns.parts.store.keys.create(ACTOR.tenant, { name: "chaos", scopes: [] });
      const stage = new GatewayStage(turns, { "x-api-key": secret, "x-user-id": ACTOR.user });
      try {
        return await use(stage);
      } finally {
        await Promise.all(stage.#gateways.map((gateway) => gateway.kill()));
      }
    });
  }

  async gateway(): Promise<GatewayProcess> {
    const { postgresUrl, redisUrl } = this.turns;
    const name = `gateway-${++this.#count}`;
    const gateway = await GatewayProcess.start({ name, postgresUrl, redisUrl }, this.#headers);
    this.#gateways.push(gateway);
    return gateway;
  }

  get failures(): string[] {
    return this.#gateways.flatMap(({ failures }) => failures);
  }

  session(): Promise<SessionRef> {
    return this.turns.session();
  }
}
