/** One turn, or one thing in it, by identity. A change elsewhere doesn't even run these. */
import { type Block, findRun, isBlock, type Run, type ToolItem, type Turn } from "@turnstream/protocol";
import type { LayoutGroup, TurnLayout } from "@turnstream/client/view";
import { useStore } from "./use-session-selector.ts";

/** Oldest first. */
export function useTurnIds(): readonly string[] {
  return useStore("turns", (store) => store.getTurnIds());
}

/** Draws anew with every delta of the turn; `useTurnPart` is for less. */
export function useTurn(turn: string): Turn | null {
  return useTurnPart(turn, (found) => found);
}

/** @param select must give the same reference (or an equal primitive) for what hasn't changed */
export function useTurnPart<T>(turn: string, select: (turn: Turn | null) => T): T {
  return useStore(`turn:${turn}`, (store) => select(store.getTurn(turn)));
}

/** Null when there is none (any more): a takeover may have made it void. */
export function useBlock<Kind extends Block["kind"]>(
  turn: string,
  index: number,
  kind: Kind,
): Extract<Block, { readonly kind: Kind }> | null {
  return useTurnPart(turn, (found) => {
    const item = found?.items.get(index) ?? null;
    return isBlock(item) && item.kind === kind ? (item as Extract<Block, { readonly kind: Kind }>) : null;
  });
}

/** What is shown in which order, by the turn's main agent or by one run. The same reference while only text grows. */
export function useOutline(turn: string, run?: string): TurnLayout {
  return useStore(`turn:${turn}`, (store) => store.getLayout(turn, run));
}

/** A group by the place of its marker. */
export function useGroup(turn: string, index: number): LayoutGroup | null {
  return useStore(`turn:${turn}`, (store) => {
    const entry = store.getLayout(turn).find((one) => one.type === "group" && one.blockIndex === index);
    return entry?.type === "group" ? entry : null;
  });
}

/** A call with its result, approvals and sub-agent. */
export function useTool(turn: string, index: number): ToolItem | null {
  return useStore(`turn:${turn}`, (store) => store.getToolCall(turn, index));
}

export function useRun(turn: string, run: string): Run | null {
  return useTurnPart(turn, (found) => (found === null ? null : (findRun(found, run) ?? null)));
}
