/** What a connection machine is driven by in tests: a clock that stands still, and a server that says what it is told to. */
import type { ClientError } from "../../src/errors.ts";
import {
  type ConnectionEffect,
  type ConnectionInput,
  type ConnectionState,
  IDLE,
  type Moment,
  stepConnection,
  type WireName,
} from "../../src/transport/connection-machine.ts";

type Bare<Input> = Input extends { readonly attempt: number } ? Omit<Input, "attempt"> : Input;
export type WorldInput = Bare<ConnectionInput>;

export class World {
  state: ConnectionState = IDLE;
  now = 1_000_000;
  heardAt = 0;
  readonly effects: ConnectionEffect[] = [];
  /** When credentials were asked for. */
  readonly asks: number[] = [];
  /** What the shell holds. */
  isAsking = false;
  wire: WireName | null = null;
  readonly #random: () => number;
  readonly #wires: Moment["wires"];
  isForeign = false;

  constructor(random: () => number = () => 0.5, wires: Moment["wires"] = ["socket", "stream"]) {
    this.#random = random;
    this.#wires = wires;
  }

  /** Inputs about an attempt are about the last one. */
  take(input: WorldInput): this {
    return this.raw({ attempt: this.state.attempt, ...input } as ConnectionInput);
  }

  raw(input: ConnectionInput): this {
    const isHeard = "attempt" in input && input.attempt === this.state.attempt;
    if (isHeard && input.type === "closed") this.wire = null;
    if (isHeard && (input.type === "admitted" || input.type === "refused")) this.isAsking = false;
    if (isHeard && input.type === "opened") this.heardAt = this.now;
    const moment = { now: this.now, random: this.#random(), wires: this.#wires, isForeign: this.isForeign };
    const { state, effects } = stepConnection(this.state, input, moment);
    this.state = state;
    for (const effect of effects) this.#do(effect);
    return this;
  }

  /** Lets time pass until the timer has fired. */
  fire(): this {
    if (this.state.timerAt === null) throw new Error(`no timer while ${this.state.phase}`);
    this.now = Math.max(this.now, this.state.timerAt);
    return this.take({ type: "timer", heardAt: this.heardAt });
  }

  pass(ms: number): this {
    this.now += ms;
    return this;
  }

  outside(isOnline: boolean, isHidden: boolean): this {
    return this.take({ type: "outside", isOnline, isHidden, heardAt: this.heardAt });
  }

  refuse(error: ClientError): this {
    return this.take({ type: "refused", error });
  }

  open(): this {
    return this.take({ type: "start" }).take({ type: "admitted" }).take({ type: "opened" });
  }

  live(): this {
    return this.open().take({ type: "live" });
  }

  lastEffects(): string[] {
    return this.effects.splice(0).map(({ type }) => type);
  }

  #do(effect: ConnectionEffect): void {
    this.effects.push(effect);
    if (effect.type === "drop") {
      this.isAsking = false;
      this.wire = null;
      return;
    }
    if (effect.type === "probe") return;
    if (this.wire !== null || this.isAsking) throw new Error(`${effect.type} while something is open`);
    if (effect.type === "open") this.wire = effect.wire;
    else {
      this.isAsking = true;
      this.asks.push(this.now);
    }
  }
}
