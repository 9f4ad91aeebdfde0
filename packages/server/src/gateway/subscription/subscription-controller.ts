/** The shell of one subscription: does what the machine says, with a viewer on one side and a feed on the other. */
import { type Cursor, formatCursor, type Position, START_CURSOR } from "@turnstream/protocol";
import type { EncodingTarget } from "../encoding/encode.ts";
import type { Subscription, SubscribeOptions, Subscriber } from "./subscription.ts";
import type { SendResult } from "../connection/frame-sink.ts";
import type { ReplayState } from "./replay-page.ts";
import {
  type StartMode,
  initialSubscription,
  startSubscription,
  type SubscriptionState,
  reduceSubscription,
  type SubscriptionInput,
  type SubscriptionStep,
} from "./subscription-state.ts";

/** What a seat asks of its feed. Answers come as inputs. */
export interface SubscriptionHost {
  begin(seat: SubscriptionController, ask: number, how: StartMode): void;
  read(seat: SubscriptionController, ask: number, after: Position): void;
  /** It takes no live pieces any more. */
  leaveGroup(seat: SubscriptionController): void;
  leave(seat: SubscriptionController): void;
  /** Its viewer has thrown, and is let go. */
  failed(error: unknown): void;
}

export class SubscriptionController implements Subscription {
  readonly wish: SubscribeOptions;
  readonly telling: EncodingTarget;
  /** While it catches up: the folded state where it stands, so that the next page goes on from there. */
  standing: ReplayState | null = null;
  /** How often it began anew since it was live. */
  restarts = 0;
  readonly #owner: SubscriptionHost;
  readonly #viewer: Subscriber;
  #state: SubscriptionState = initialSubscription;
  /** Where a piece has brought it that was written at once; the machine hears of it before anything else. */
  #passed: Position | null = null;

  constructor(owner: SubscriptionHost, wish: SubscribeOptions, telling: EncodingTarget, viewer: Subscriber) {
    this.#owner = owner;
    this.wish = wish;
    this.telling = telling;
    this.#viewer = viewer;
  }

  get position(): Cursor {
    const position = this.#passed ?? this.#state.position;
    return position === null ? START_CURSOR : formatCursor(position);
  }

  /** Whether anybody waits for that answer still. */
  isWaitingFor(ask: number): boolean {
    const { phase, requestId: newest } = this.#state;
    return newest === ask && (phase === "starting" || phase === "catching up");
  }

  start(): void {
    this.#take(startSubscription(this.#state));
  }

  step(input: SubscriptionInput): void {
    const to = this.#passed;
    this.#passed = null;
    if (to !== null)
      this.#take(reduceSubscription(this.#state, { type: "piece", to, sent: "written", over: false }));
    this.#take(reduceSubscription(this.#state, input));
  }

  /** A live piece. @param bytes null when the dialect says nothing of it */
  sendLive(bytes: Uint8Array | null, to: Position, endedTurn: string | null): void {
    if (this.#state.phase !== "live") return;
    let sent: SendResult | null = null;
    try {
      if (bytes !== null) sent = this.#viewer.sink.send(bytes, this.#passed ?? this.#state.position);
    } catch (error) {
      this.#letGo(error);
      return;
    }
    const over = endedTurn !== null && endsWithTurn(this.wish, endedTurn);
    // Nearly always, for every viewer: many of them come to the same as the last one.
    if (sent === "written" && !over) this.#passed = to;
    else this.step({ type: "piece", to, sent, over });
  }

  onFlush(): void {
    this.step({ type: "flushed" });
  }

  onDrain(): void {
    this.step({ type: "drained" });
  }

  onEvicted(at: Position | null): void {
    this.step({ type: "set back", at });
  }

  onClose(): void {
    this.step({ type: "closed" });
    this.#owner.leave(this);
  }

  #take({ state, effects }: SubscriptionStep): void {
    const wasLive = this.#state.phase === "live";
    this.#state = state;
    if (wasLive && state.phase !== "live") this.#owner.leaveGroup(this);
    if (!wasLive && isSettled(state)) this.#viewer.sink.yieldTurn?.();
    for (const effect of effects) {
      // The viewer may leave while it is told.
      if (this.#state.phase === "closed" && state.phase !== "closed") return;
      try {
        this.#do(effect);
      } catch (error) {
        this.#letGo(error);
      }
    }
  }

  #do(effect: SubscriptionStep["effects"][number]): void {
    switch (effect.type) {
      case "begin":
        this.standing = null;
        this.#owner.begin(this, effect.ask, effect.how);
        break;
      case "tell":
        this.#viewer.onSubscribed(effect.told);
        break;
      case "send":
        this.step({ type: "sent", sent: this.#viewer.sink.send(effect.bytes) });
        break;
      case "read":
        this.#owner.read(this, effect.ask, effect.after);
        break;
      case "end":
        this.#owner.leave(this);
        this.#viewer.onEnd(effect.reason);
    }
  }

  /** A viewer that throws ends, and nobody else does. */
  #letGo(error: unknown): void {
    this.#owner.failed(error);
    this.step({ type: "end", reason: "unavailable" });
  }
}

/** Whether it has caught up, waits, or is over. */
function isSettled({ phase, waitingFor }: SubscriptionState): boolean {
  return phase === "live" || phase === "closed" || waitingFor !== null;
}

/** Whether that turn's end is what the viewer waits for. */
export function endsWithTurn({ untilTurnEnd, untilIdle = false }: SubscribeOptions, turn: string): boolean {
  return untilIdle || turn === untilTurnEnd;
}
