/**
 * `SubscriptionController` runs one subscription: it feeds inputs into `reduceSubscription` and executes the returned
 * effects, between one subscriber (socket or event stream) and one session feed.
 *
 * Invariant: live frames reach the subscriber only in phase "live". The position of the last directly written frame is
 * applied to the state machine before any other input. So the machine never sees a stale position.
 */
import { type Cursor, formatCursor, type Position, START_CURSOR } from "@turnstream/protocol";
import type { SendResult } from "../connection/frame-sink.ts";
import type { EncodingTarget } from "../encoding/encode.ts";
import type { ReplayState } from "./replay-page.ts";
import type { StalledFrame, SubscribeOptions, Subscriber, Subscription } from "./subscription.ts";
import {
  initialSubscription,
  reduceSubscription,
  type StartMode,
  startSubscription,
  type SubscriptionEffect,
  type SubscriptionInput,
  type SubscriptionState,
  type SubscriptionStep,
} from "./subscription-state.ts";

/** Requests of a controller to its feed. The feed answers with inputs. */
export interface SubscriptionHost {
  start(controller: SubscriptionController, requestId: number, mode: StartMode): void;
  read(controller: SubscriptionController, requestId: number, after: Position): void;
  /** Stops live frames for this subscription. */
  leaveGroup(controller: SubscriptionController): void;
  remove(controller: SubscriptionController): void;
  /** Called when the subscriber has thrown. The subscription is then removed. */
  reportError(error: unknown): void;
}

export class SubscriptionController implements Subscription {
  readonly options: SubscribeOptions;
  readonly target: EncodingTarget;
  /** Folded state while catching up, so that the next replay page continues where the last one ended. */
  replayState: ReplayState | null = null;
  /** Full restarts since the subscription was last live. The feed uses it to back off. */
  restarts = 0;
  readonly #host: SubscriptionHost;
  readonly #subscriber: Subscriber;
  #state: SubscriptionState = initialSubscription;
  /** Position after the last frame that was written without a state transition; see `sendLive`. */
  #writtenTo: Position | null = null;
  /** Where the subscriber was last notified that the session doesn't progress, by type of frame. */
  readonly #notifiedAt = new Map<StalledFrame["type"], Cursor>();

  constructor(
    host: SubscriptionHost,
    options: SubscribeOptions,
    target: EncodingTarget,
    subscriber: Subscriber,
  ) {
    this.#host = host;
    this.options = options;
    this.target = target;
    this.#subscriber = subscriber;
  }

  get cursor(): Cursor {
    const position = this.#writtenTo ?? this.#state.position;
    return position === null ? START_CURSOR : formatCursor(position);
  }

  /** Returns true if `requestId` is the newest request to the feed and its answer is still needed. */
  isWaitingFor(requestId: number): boolean {
    const { phase, requestId: newest } = this.#state;
    return newest === requestId && (phase === "starting" || phase === "catchingUp");
  }

  start(): void {
    this.#apply(startSubscription(this.#state));
  }

  dispatch(input: SubscriptionInput): void {
    const position = this.#writtenTo;
    this.#writtenTo = null;
    if (position !== null)
      this.#apply(
        reduceSubscription(this.#state, { type: "live", position, result: "written", isLastFrame: false }),
      );
    this.#apply(reduceSubscription(this.#state, input));
  }

  /**
   * Sends a live frame.
   *
   * Fast path: a frame that is written immediately and does not end the subscription only moves the position. It skips
   * the state machine, because this runs once per subscriber and delta.
   * @param bytes the encoded frame, or null if the dialect has no frame for this event
   */
  sendLive(bytes: Uint8Array | null, position: Position, endedTurnId: string | null): void {
    if (this.#state.phase !== "live") return;
    let result: SendResult | null = null;
    try {
      if (bytes !== null) result = this.#subscriber.sink.send(bytes, this.#writtenTo ?? this.#state.position);
    } catch (error) {
      this.#closeAfterError(error);
      return;
    }
    const isLastFrame = endedTurnId !== null && endsWithTurn(this.options, endedTurnId);
    if (result === "written" && !isLastFrame) this.#writtenTo = position;
    else this.dispatch({ type: "live", position, result, isLastFrame });
  }

  /** Notifies a live `native` subscriber once per position. Others don't show the end of the log yet. */
  notifyStalled(frame: StalledFrame): void {
    const { cursor } = this;
    if (this.#state.phase !== "live" || this.options.format.dialect !== "native") return;
    if (this.#notifiedAt.get(frame.type) === cursor) return;
    this.#notifiedAt.set(frame.type, cursor);
    try {
      this.#subscriber.onStalled?.(frame);
    } catch (error) {
      this.#closeAfterError(error);
    }
  }

  onFlush(): void {
    this.dispatch({ type: "flushed" });
  }

  onDrain(): void {
    this.dispatch({ type: "drained" });
  }

  onEvicted(position: Position | null): void {
    this.dispatch({ type: "evicted", position });
  }

  onClose(): void {
    this.dispatch({ type: "closed" });
    this.#host.remove(this);
  }

  #apply({ state, effects }: SubscriptionStep): void {
    const wasLive = this.#state.phase === "live";
    this.#state = state;
    if (wasLive && state.phase !== "live") {
      this.#notifiedAt.clear();
      this.#host.leaveGroup(this);
    }
    if (!wasLive && isSettled(state)) this.#subscriber.sink.yieldTurn?.();
    for (const effect of effects) {
      // The subscriber may close while an effect runs.
      if (this.#state.phase === "closed" && state.phase !== "closed") return;
      try {
        this.#execute(effect);
      } catch (error) {
        this.#closeAfterError(error);
      }
    }
  }

  #execute(effect: SubscriptionEffect): void {
    switch (effect.type) {
      case "start":
        this.replayState = null;
        this.#host.start(this, effect.requestId, effect.mode);
        break;
      case "notify":
        this.#subscriber.onSubscribed(effect.info);
        break;
      case "send":
        this.dispatch({ type: "sent", result: this.#subscriber.sink.send(effect.bytes) });
        break;
      case "read":
        this.#host.read(this, effect.requestId, effect.after);
        break;
      case "end":
        this.#host.remove(this);
        this.#subscriber.onEnd(effect.reason);
    }
  }

  /** Closes the subscription if its subscriber throws, so that one faulty subscriber doesn't affect the others. */
  #closeAfterError(error: unknown): void {
    this.#host.reportError(error);
    this.dispatch({ type: "end", reason: "unavailable" });
  }
}

/** Returns true if the subscription has caught up, waits, or has ended. */
function isSettled({ phase, waitingFor }: SubscriptionState): boolean {
  return phase === "live" || phase === "closed" || waitingFor !== null;
}

/** Returns true if the subscription ends with the end of this turn. */
export function endsWithTurn({ untilTurnEnd, untilIdle = false }: SubscribeOptions, turn: string): boolean {
  return untilIdle || turn === untilTurnEnd;
}
