/**
 * A subscription to one turn that is told whole, whatever became of the log: where that no longer reaches back to the turn's
 * beginning, the turn is told from the archive once it is over. A client that sends its message again much later gets the
 * same answer.
 */
import { parseCursor } from "@turnstream/protocol";
import { isStoreError } from "../../store/errors.ts";
import type { Ref } from "../../store/refs.ts";
import type { Choice } from "../encoding/stream-format.ts";
import type { Subscription, SubscriptionWish, Viewer } from "../subscription/types.ts";
import type { GatewayParts } from "../http/route.ts";
import type { Outlet } from "../connection/sink.ts";
import { tellArchivedTurn } from "./archived-turn.ts";

/** Like `subscribe` of feeds. */
export function subscribeToTurn(
  parts: GatewayParts,
  ref: Ref,
  wish: SubscriptionWish,
  viewer: Viewer,
): Subscription {
  const { until } = wish;
  if (until === undefined) return parts.feeds.subscribe(ref, wish, viewer);
  const left = new AbortController();
  const pace = new Pace();
  let isFromArchive = false;
  const fromArchive = (): void => {
    if (isFromArchive) return;
    isFromArchive = true;
    inner.closed();
    void tellFromArchive(parts, ref, { turn: until, choice: wish.choice }, viewer, pace, left.signal);
  };
  /** It goes on from now: if the turn was over by then, its end would never come. */
  const endWithTurn = async (from: number): Promise<void> => {
    try {
      const { end } = (await parts.feeds.ended(ref, until, left.signal)).turn;
      if (end !== null && end <= from) fromArchive();
    } catch {
      // The subscription itself meets it too.
    }
  };
  const inner = parts.feeds.subscribe(ref, wish, {
    outlet: viewer.outlet,
    told(told) {
      viewer.told(told);
      if (told.resumed) return;
      if (told.reason !== "slow") return fromArchive();
      void endWithTurn(parseCursor(inner.position)?.seq ?? 0);
    },
    ended: (reason) => {
      if (isFromArchive) return;
      left.abort();
      viewer.ended(reason);
    },
  });
  return {
    get position() {
      return inner.position;
    },
    flushed() {
      pace.heard("flushed");
      inner.flushed();
    },
    drained() {
      pace.heard("drained");
      inner.drained();
    },
    closed() {
      left.abort();
      pace.heard("closed");
      inner.closed();
    },
  };
}

async function tellFromArchive(
  parts: GatewayParts,
  ref: Ref,
  { turn, choice }: { readonly turn: string; readonly choice: Choice },
  viewer: Viewer,
  pace: Pace,
  signal: AbortSignal,
): Promise<void> {
  try {
    const ended = await parts.feeds.ended(ref, turn, signal);
    const give = (bytes: Uint8Array): Promise<boolean> => pace.give(viewer.outlet, bytes, signal);
    const isTold = await tellArchivedTurn(parts, { ref, choice, ended }, give);
    if (!signal.aborted) viewer.ended(isTold ? "over" : "unavailable");
  } catch (error) {
    if (signal.aborted) return;
    const isGone = isStoreError(error, "NOT_FOUND");
    if (!isGone) parts.onError(error, `turn ${turn}, from the archive`);
    viewer.ended(isGone ? "gone" : "unavailable");
  }
}

/** Gives an outlet one thing after the other, as fast as it leaves: so it never fills the queue. */
class Pace {
  #left: ((how: "flushed" | "drained" | "closed") => void) | null = null;

  heard(how: "flushed" | "drained" | "closed"): void {
    this.#left?.(how);
    this.#left = null;
  }

  /** @returns false when the connection is over */
  async give(outlet: Outlet, bytes: Uint8Array, signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      const sent = outlet.send(bytes);
      if (sent === "written") break;
      const how = await new Promise((resolve) => (this.#left = resolve));
      // After a drop, what had been queued is given once more.
      if (sent === "queued" && how === "flushed") break;
    }
    return !signal.aborted;
  }
}
