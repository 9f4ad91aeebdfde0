/** `FakeNetwork` drives the connection machine in tests, with a clock and a server that the test controls. */
import type { ClientError } from "../../src/errors.ts";
import { stepConnection } from "../../src/transport/connection-machine.ts";
import {
  type ConnectionEffect,
  type ConnectionInput,
  type ConnectionState,
  INITIAL_STATE,
  type StepContext,
  type ChannelName,
} from "../../src/transport/connection-state.ts";

type Bare<Input> = Input extends { readonly attempt: number } ? Omit<Input, "attempt"> : Input;
export type FakeNetworkInput = Bare<ConnectionInput>;

export class FakeNetwork {
  state: ConnectionState = INITIAL_STATE;
  now = 1_000_000;
  receivedAt = 0;
  readonly effects: ConnectionEffect[] = [];
  /** The times at which credentials were requested. */
  readonly authorizations: number[] = [];
  /** What the real transport would have open: a request for credentials, or a channel. */
  isAuthorizing = false;
  channel: ChannelName | null = null;
  readonly #random: () => number;
  readonly #channels: StepContext["channels"];
  isOtherDialect = false;
  mayClose = false;

  constructor(random: () => number = () => 0.5, channels: StepContext["channels"] = ["websocket", "sse"]) {
    this.#random = random;
    this.#channels = channels;
  }

  /** Passes an input. If it belongs to an attempt, that is the last one. */
  take(input: FakeNetworkInput): this {
    return this.raw({ attempt: this.state.attempt, ...input } as ConnectionInput);
  }

  raw(input: ConnectionInput): this {
    const isReceived = "attempt" in input && input.attempt === this.state.attempt;
    if (isReceived && input.type === "closed") this.channel = null;
    if (isReceived && (input.type === "authorized" || input.type === "rejected")) this.isAuthorizing = false;
    if (isReceived && input.type === "opened") this.receivedAt = this.now;
    const context = {
      now: this.now,
      random: this.#random(),
      channels: this.#channels,
      isOtherDialect: this.isOtherDialect,
      mayClose: this.mayClose,
    };
    const { state, effects } = stepConnection(this.state, input, context);
    this.state = state;
    for (const effect of effects) this.#run(effect);
    return this;
  }

  /** Advances the clock to the timer and fires it. */
  fire(): this {
    if (this.state.timerAt === null) throw new Error(`no timer while ${this.state.phase}`);
    this.now = Math.max(this.now, this.state.timerAt);
    return this.take({ type: "timer", receivedAt: this.receivedAt });
  }

  pass(ms: number): this {
    this.now += ms;
    return this;
  }

  setPage(isOnline: boolean, isHidden: boolean, isFrozen = false): this {
    return this.take({ type: "page", isOnline, isHidden, isFrozen, receivedAt: this.receivedAt });
  }

  reject(error: ClientError): this {
    return this.take({ type: "rejected", error });
  }

  open(): this {
    return this.take({ type: "start" }).take({ type: "authorized" }).take({ type: "opened" });
  }

  live(): this {
    return this.open().take({ type: "live" });
  }

  lastEffects(): string[] {
    return this.effects.splice(0).map(({ type }) => type);
  }

  #run(effect: ConnectionEffect): void {
    this.effects.push(effect);
    if (effect.type === "drop") {
      this.isAuthorizing = false;
      this.channel = null;
      return;
    }
    if (effect.type === "probe") return;
    if (this.channel !== null || this.isAuthorizing)
      throw new Error(`${effect.type} while something is open`);
    if (effect.type === "open") this.channel = effect.channel;
    else {
      this.isAuthorizing = true;
      this.authorizations.push(this.now);
    }
  }
}
