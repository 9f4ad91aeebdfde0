/**
 * The link of this very client: one wire for all sessions that are watched, brought back whenever it is lost. Does what the
 * machines say; decides nothing itself. Sessions that nobody watches need no wire: then commands go by HTTP.
 */
import type { Cursor, SessionEvent, Snapshot } from "@turnstream/protocol";
import type { SocketCommand } from "@turnstream/protocol/schema";
import { connectionOf, NOT_CONNECTED } from "./status.ts";
import type { ClientDialect, DialectWires } from "../dialects/client-dialect.ts";
import { asClientError, ClientError } from "../errors.ts";
import { type Admission, admission, type Api } from "../http/api.ts";
import { refusalOf } from "../http/error-response.ts";
import type { Link, LinkCommand, LinkHandler, Watch } from "./transport.ts";
import type { ClientEnv } from "../env.ts";
import { openSocket } from "./websocket.ts";
import { openStreams } from "./sse.ts";
import type { Frame, Wire, WireEvents } from "./channel.ts";
import { commandByHttp } from "../http/commands.ts";
import {
  type ConnectionEffect,
  type ConnectionInput,
  IDLE,
  isUp,
  stepConnection,
  type WireName,
} from "./connection-machine.ts";
import { PendingCommands } from "./pending-commands.ts";
import {
  OFF,
  stepSubscription,
  type SubscriptionInput,
  type SubscriptionState,
} from "./subscription-machine.ts";

export interface DirectLinkOptions {
  readonly api: Api;
  readonly env: ClientEnv;
  readonly wires: readonly WireName[];
  /** For servers that speak another one than ours. */
  readonly dialect?: ClientDialect | undefined;
}

interface Watched {
  readonly session: string;
  /** Names its requests, so that an answer is found even where the server calls the session otherwise. */
  readonly key: string;
  readonly cursor: () => Cursor | null;
  readonly handler: LinkHandler;
  state: SubscriptionState;
  told: typeof NOT_CONNECTED;
  cancelTimer: () => void;
}

/** Larger ones go by HTTP, where a refusal doesn't cost the connection. */
const MAX_FRAME = 256 * 1024;
/** Less than that is the way there and back. */
const SKEW_MS = 250;

export function directLink(options: DirectLinkOptions): Link {
  return new DirectLink(options);
}

class DirectLink implements Link {
  readonly #options: DirectLinkOptions;
  readonly #watched = new Map<string, Watched>();
  /** By the id that frames have, where a session was asked for by its number. */
  readonly #names = new Map<string, Watched>();
  readonly #commands = new PendingCommands();
  readonly #stopListening: () => void;
  #state = IDLE;
  readonly #translator: DialectWires | null;
  #wire: Wire | null = null;
  #asking: AbortController | null = null;
  #admission: Admission | null = null;
  #heardAt = 0;
  #skewMs: number | null = null;
  #timerAt: number | null = null;
  #cancelTimer = (): void => {};
  #requests = 0;

  constructor(options: DirectLinkOptions) {
    this.#options = options;
    const { outside } = options.env;
    this.#translator = options.dialect?.begin(options) ?? null;
    this.#stopListening = outside.onChange(() => this.#lookOutside());
    this.#lookOutside();
  }

  watch(session: string, cursor: () => Cursor | null, handler: LinkHandler): Watch {
    if (this.#watched.has(session)) throw new Error(`session ${session} is watched already`);
    const watched: Watched = {
      session,
      key: `s${++this.#requests}`,
      cursor,
      handler,
      state: OFF,
      told: NOT_CONNECTED,
      cancelTimer: () => {},
    };
    this.#watched.set(session, watched);
    if (this.#skewMs !== null) handler.clock(this.#skewMs);
    if (this.#wire !== null && this.#isUp) this.#stepOne(watched, { type: "wire" });
    else this.#step({ type: "start" });
    this.#tell(watched);
    return {
      again: () => {
        if (this.#watched.get(session) !== watched) return;
        this.#step({ type: "again" });
        this.#stepOne(watched, { type: "again" });
      },
      stop: () => this.#unwatch(watched),
    };
  }

  command(command: LinkCommand): ReturnType<Link["command"]> {
    const { api, env } = this.#options;
    if (!env.outside.isOnline())
      return Promise.reject(
        new ClientError("OFFLINE", "There is no network. It was not sent.", { canRetry: true }),
      );
    const send = this.#isUp ? (this.#wire?.send ?? null) : null;
    const request_id = `c${++this.#requests}`;
    const whole: SocketCommand = { ...command, request_id };
    if (send === null || JSON.stringify(whole).length > MAX_FRAME) return commandByHttp(api, command);
    return this.#commands.add(request_id, () => send(whole));
  }

  request(path: string, init?: RequestInit): Promise<Response> {
    return this.#options.api.request(path, init);
  }

  close(): void {
    this.#stopListening();
    for (const watched of this.#watched.values()) watched.cancelTimer();
    this.#watched.clear();
    this.#names.clear();
    this.#step({ type: "stop" });
  }

  get #isUp(): boolean {
    return isUp(this.#state);
  }

  #unwatch(watched: Watched): void {
    const { session } = watched;
    if (this.#watched.get(session) !== watched) return;
    watched.cancelTimer();
    this.#watched.delete(session);
    for (const [name, one] of this.#names) if (one === watched) this.#names.delete(name);
    if (this.#isUp) this.#wire?.unsubscribe(session);
    if (this.#watched.size === 0) this.#step({ type: "stop" });
  }

  // ---- the connection

  #lookOutside(): void {
    const { outside } = this.#options.env;
    const [isOnline, isHidden] = [outside.isOnline(), outside.isHidden()];
    this.#step({ type: "outside", isOnline, isHidden, heardAt: this.#lastHeard() });
  }

  #lastHeard(): number {
    if (this.#wire?.isIdle?.() === true) this.#heardAt = this.#options.env.now();
    return this.#heardAt;
  }

  #step(input: ConnectionInput): void {
    const { env, wires } = this.#options;
    const before = this.#state;
    const isForeign = this.#translator !== null;
    const moment = { now: env.now(), random: env.random(), wires, isForeign };
    const { state, effects } = stepConnection(before, input, moment);
    this.#state = state;
    if (isUp(before) && (!this.#isUp || state.attempt !== before.attempt)) this.#lost();
    for (const effect of effects) this.#do(effect);
    this.#setTimer();
    // A frame, or an effect, may have led on from there.
    if (this.#state === state && before.phase !== state.phase) this.#tellAll();
  }

  #do(effect: ConnectionEffect): void {
    switch (effect.type) {
      case "ask":
        void this.#ask(effect.attempt, effect.renew);
        break;
      case "open":
        this.#open(effect.attempt, effect.wire);
        break;
      case "probe":
        if (this.#wire?.send) this.#wire.send({ type: "ping", request_id: `p${++this.#requests}` });
        break;
      case "drop":
        this.#asking?.abort();
        this.#asking = null;
        this.#wire?.close();
        this.#wire = null;
    }
  }

  async #ask(attempt: number, renew: boolean): Promise<void> {
    const { api, env } = this.#options;
    const asking = new AbortController();
    this.#asking = asking;
    try {
      const admitted = await admission(api, env, renew, asking.signal);
      if (asking.signal.aborted) return;
      this.#admission = admitted;
      this.#clock(admitted.skewMs);
      this.#step({ type: "admitted", attempt });
    } catch (error) {
      if (asking.signal.aborted) return;
      const words = "Something unexpected went wrong while connecting.";
      const why = asClientError(error, "SERVER_ERROR", words, { canRetry: true });
      this.#step({ type: "refused", attempt, error: why });
    }
  }

  #open(attempt: number, name: WireName): void {
    const { api, env } = this.#options;
    const events: WireEvents = {
      opened: () => {
        this.#heardAt = env.now();
        this.#step({ type: "opened", attempt });
        if (this.#state.attempt !== attempt || !this.#isUp) return;
        for (const watched of this.#watched.values()) this.#stepOne(watched, { type: "wire" });
      },
      heard: () => {
        this.#heardAt = env.now();
        if (this.#state.phase === "probing" || !this.#state.hasHeard) this.#step({ type: "heard", attempt });
      },
      frame: (frame) => this.#take(frame),
      closed: (code, retryAfterMs) => {
        this.#wire = null;
        this.#step({
          type: "closed",
          attempt,
          code,
          ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
        });
      },
    };
    const admitted = this.#admission;
    if (admitted === null) return;
    try {
      const dialect = this.#options.dialect?.name ?? "native";
      const openWire = (on: WireEvents): Wire =>
        name === "stream"
          ? openStreams(api, on, dialect)
          : openSocket({ base: api.base, dialect, ...admitted }, env, on);
      this.#wire = this.#translator === null ? openWire(events) : this.#translator.open(openWire, events);
    } catch {
      // A page's policy may forbid sockets, and some surroundings have none.
      this.#step({ type: "closed", attempt, code: 1006 });
    }
  }

  /** What was under way may have arrived or not; what was watched begins again with the next wire. */
  #lost(): void {
    this.#commands.lose();
    for (const watched of this.#watched.values()) this.#stepOne(watched, { type: "lost" });
  }

  #setTimer(): void {
    const { timerAt } = this.#state;
    if (timerAt === this.#timerAt) return;
    const { env } = this.#options;
    this.#cancelTimer();
    this.#timerAt = timerAt;
    if (timerAt === null) return;
    const fire = (): void => {
      this.#timerAt = null;
      this.#step({ type: "timer", heardAt: this.#lastHeard() });
    };
    this.#cancelTimer = env.setTimer(fire, Math.max(0, timerAt - env.now()));
  }

  #clock(skewMs: number | null): void {
    if (skewMs === null) return;
    if (this.#skewMs !== null && Math.abs(skewMs - this.#skewMs) < SKEW_MS) return;
    this.#skewMs = skewMs;
    for (const { handler } of this.#watched.values()) handler.clock(skewMs);
  }

  // ---- sessions on it

  #stepOne(watched: Watched, input: SubscriptionInput): boolean {
    const { env } = this.#options;
    const step = stepSubscription(watched.state, input, { now: env.now(), random: env.random() });
    const before = watched.state;
    watched.state = step.state;
    if (step.state === before) return step.pass;
    if (step.state.retryAt !== before.retryAt) this.#wait(watched);
    if (step.subscribe)
      this.#wire?.subscribe(watched.session, requestOf(step.state.request, watched), watched.cursor());
    if (step.state.phase === "live" && before.phase !== "live")
      this.#step({ type: "live", attempt: this.#state.attempt });
    return step.pass;
  }

  #wait(watched: Watched): void {
    const { env } = this.#options;
    watched.cancelTimer();
    const { retryAt } = watched.state;
    if (retryAt === null) return;
    watched.cancelTimer = env.setTimer(
      () => {
        this.#stepOne(watched, { type: "timer" });
        this.#tell(watched);
      },
      Math.max(0, retryAt - env.now()),
    );
  }

  #tellAll(): void {
    for (const watched of this.#watched.values()) this.#tell(watched);
  }

  #tell(watched: Watched): void {
    const view = connectionOf(this.#state, watched.state, watched.told);
    if (view === watched.told) return;
    watched.told = view;
    watched.handler.connection(view);
  }

  #take(frame: Frame): void {
    const request = frame["request_id"];
    if (typeof request === "string" && this.#commands.settle(request, frame)) return;
    const session = frame["session_id"];
    if (frame.type === "error") return this.#refused(frame, request);
    const watched = this.#find(session, request);
    if (watched === undefined) return;
    switch (frame.type) {
      case "subscribed":
        return this.#subscribed(watched, frame, request);
      case "unsubscribed":
        this.#stepOne(watched, { type: "ended", reason: String(frame["reason"]) });
        return this.#tell(watched);
      case "snapshot": {
        const cursor = String(frame["event_id"]);
        const pass = this.#stepOne(watched, { type: "at", cursor });
        if (pass) watched.handler.snapshot(frame["snapshot"] as Snapshot, cursor);
        return this.#tell(watched);
      }
      default: {
        const before = watched.state;
        // What comes while it is live changes nothing of it.
        const pass =
          before.phase === "live" || this.#stepOne(watched, { type: "at", cursor: String(frame["id"]) });
        if (pass) watched.handler.events([frame as unknown as SessionEvent]);
        if (watched.state !== before) this.#tell(watched);
      }
    }
  }

  #subscribed(watched: Watched, frame: Frame, request: unknown): void {
    const { resumed, reason, head } = frame as unknown as Parameters<LinkHandler["begun"]>[0] & {
      readonly head?: string;
    };
    const pass = this.#stepOne(watched, {
      type: "subscribed",
      request: typeof request === "string" ? numberOf(request) : null,
      resumed,
      head: head ?? null,
      cursor: watched.cursor(),
    });
    // Before what is shown is live, whoever shows it knows what it stands on.
    if (pass) watched.handler.begun({ resumed, reason });
    this.#tell(watched);
  }

  #refused(frame: Frame, request: unknown): void {
    const watched = this.#find(undefined, request);
    if (watched === undefined || typeof request !== "string") return;
    const { type: _, ...fields } = frame;
    const error = refusalOf(fields);
    this.#stepOne(watched, { type: "refused", request: numberOf(request), error });
    this.#tell(watched);
  }

  /** An answer is found by its request: asked for by its number, a session is answered by its id. */
  #find(session: unknown, request: unknown): Watched | undefined {
    if (typeof request !== "string") return typeof session === "string" ? this.#named(session) : undefined;
    const key = request.slice(0, request.indexOf("."));
    const asked = [...this.#watched.values()].find((watched) => watched.key === key);
    if (asked !== undefined && typeof session === "string") this.#names.set(session, asked);
    return asked;
  }

  #named(session: string): Watched | undefined {
    return this.#names.get(session) ?? this.#watched.get(session);
  }
}

function requestOf(request: number, { key }: Watched): string {
  return `${key}.${request}`;
}

function numberOf(request: string): number {
  return Number(request.slice(request.indexOf(".") + 1));
}
