/** Signals within one process that are delivered synchronously and never lost. */
import { HintBoard } from "../../src/signals/hint-board.ts";
import type { Signals } from "../../src/signals/signals.ts";

export function standInSignals(): Signals {
  const listeners = new Map<string, Set<(text: string) => void>>();
  const send: Signals["send"] = (channel, text) => {
    for (const listener of listeners.get(channel) ?? []) listener(text);
  };
  const listen: Signals["listen"] = (channel, listener) => {
    const all = listeners.get(channel) ?? new Set();
    listeners.set(channel, all.add(listener));
    return () => void all.delete(listener);
  };
  const board = new HintBoard({ send, listen });
  return {
    send,
    listen,
    offer: (channel, offer) => board.offer(channel, offer),
    hint: (topic) => board.hint(topic),
    leastLoad: (topic, besides) => board.leastLoad(topic, besides),
    close: async () => listeners.clear(),
  };
}
