/**
 * `HintBoard` implements the hints of `Signals` with broadcast offers: each process that sends hints knows the current
 * offers and chooses a receiver by itself.
 * Invariant: one hint reaches one channel, so a wake-up costs the same with any number of processes. Nothing is stored
 * outside of the processes. Offers expire, so a process that died gets no hints for long.
 */
import type { Offer, Signals } from "./signals.ts";

/** How long an offer is valid. Repeat it more often than this. */
const OFFER_MS = 2_500;
/** How long a hint waits for the first offer, for example in a process that has just started. */
const PENDING_MS = 1_000;
/** Signal channel of offers. */
const OFFERS = "offers";
/** Signal channel that requests all offers. */
const REQUESTS = "offer-requests";
const MAX_CHANNELS = 10_000;

interface KnownOffer extends Offer {
  readonly channel: string;
  readonly until: number;
  /** Hints that were sent since the offer. */
  hints: number;
}

export class HintBoard {
  readonly #signals: Pick<Signals, "send" | "listen">;
  readonly #random: () => number;
  readonly #known = new Map<string, KnownOffer>();
  readonly #own = new Map<string, Offer>();
  /** Topics of hints that no channel offered yet, with the time when they expire. */
  readonly #pending = new Map<string, number>();
  #isListening = false;
  #answersRequests = false;

  constructor(signals: Pick<Signals, "send" | "listen">, random: () => number = Math.random) {
    this.#signals = signals;
    this.#random = random;
  }

  offer(channel: string, offer: Offer | null): void {
    if (offer === null) this.#own.delete(channel);
    else this.#own.set(channel, offer);
    if (!this.#answersRequests) {
      this.#answersRequests = true;
      this.#signals.listen(REQUESTS, () => {
        for (const [name, current] of this.#own) this.#announce(name, current);
      });
    }
    this.#announce(channel, offer);
  }

  hint(topic: string): void {
    this.#learn();
    const receiver = this.#choose(topic);
    if (receiver === null) {
      this.#pending.set(topic, performance.now() + PENDING_MS);
      this.#signals.send(REQUESTS, "");
    } else this.#sendTo(receiver, topic);
  }

  leastLoad(topic: string, besides: string): number | null {
    this.#learn();
    const others = this.#offering(topic).filter(({ channel }) => channel !== besides);
    return others.length === 0 ? null : Math.min(...others.map(({ load }) => load));
  }

  #announce(channel: string, offer: Offer | null): void {
    this.#signals.send(OFFERS, JSON.stringify({ channel, offer }));
  }

  #learn(): void {
    if (this.#isListening) return;
    this.#isListening = true;
    this.#signals.listen(OFFERS, (text) => this.#receive(text));
    this.#signals.send(REQUESTS, "");
  }

  #receive(text: string): void {
    const received = parseOffer(text);
    if (received === null) return;
    const { channel, offer } = received;
    if (offer === null) {
      this.#known.delete(channel);
      return;
    }
    if (this.#known.size >= MAX_CHANNELS && !this.#known.has(channel)) this.#known.clear();
    const known = { ...offer, channel, until: performance.now() + OFFER_MS, hints: 0 };
    this.#known.set(channel, known);
    for (const [topic, until] of this.#pending) {
      if (until > performance.now() && !offer.topics.includes(topic)) continue;
      this.#pending.delete(topic);
      if (until > performance.now()) this.#sendTo(known, topic);
    }
  }

  /** The better one of two random offers. The best of all would get the hints of all senders at the same time. */
  #choose(topic: string): KnownOffer | null {
    const offers = this.#offering(topic);
    const first = offers.splice(Math.floor(this.#random() * offers.length), 1)[0];
    const second = offers[Math.floor(this.#random() * offers.length)];
    if (first === undefined || second === undefined) return first ?? null;
    return second.load + second.hints < first.load + first.hints ? second : first;
  }

  #offering(topic: string): KnownOffer[] {
    const now = performance.now();
    for (const { channel, until } of this.#known.values()) if (until <= now) this.#known.delete(channel);
    return [...this.#known.values()].filter(({ topics }) => topics.includes(topic));
  }

  #sendTo(receiver: KnownOffer, topic: string): void {
    receiver.hints++;
    this.#signals.send(receiver.channel, topic);
  }
}

/** Returns null for an invalid text, because any client of the signal server can send one. */
function parseOffer(text: string): { readonly channel: string; readonly offer: Offer | null } | null {
  try {
    const { channel, offer } = JSON.parse(text) as Record<string, unknown>;
    if (typeof channel !== "string") return null;
    if (offer === null) return { channel, offer };
    const { topics, load } = Object(offer) as Record<string, unknown>;
    if (!Array.isArray(topics) || typeof load !== "number") return null;
    return { channel, offer: { topics: topics.filter((topic) => typeof topic === "string"), load } };
  } catch {
    return null;
  }
}
