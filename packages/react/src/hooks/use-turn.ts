/**
 * `useTurn`, `useTurnSelector`, `useBlock`, `useTurnLayout` and similar hooks return one turn or one part of it, by id.
 * Invariant: they don't run for changes of other turns. A block or group that a takeover superseded becomes null. A
 * selector must return the same reference for unchanged data.
 */
import { type Block, findRun, isBlock, type Run, type ToolItem, type Turn } from "@turnstream/protocol";
import type { LayoutGroup, TurnLayout } from "@turnstream/client/view";
import { useStoreSelector } from "./stores.ts";

/** Oldest first. */
export function useTurnIds(): readonly string[] {
  return useStoreSelector("turns", (store) => store.getTurnIds());
}

/** Re-renders with every delta of the turn; use `useTurnSelector` for a part of it. */
export function useTurn(turnId: string): Turn | null {
  return useTurnSelector(turnId, (turn) => turn);
}

/** @param select must return the same reference (or an equal primitive) for unchanged data */
export function useTurnSelector<T>(turnId: string, select: (turn: Turn | null) => T): T {
  return useStoreSelector(`turn:${turnId}`, (store) => select(store.getTurn(turnId)));
}

/** Returns null if the block doesn't exist (any more): a takeover may have superseded it. */
export function useBlock<Kind extends Block["kind"]>(
  turnId: string,
  blockIndex: number,
  kind: Kind,
): Extract<Block, { readonly kind: Kind }> | null {
  return useTurnSelector(turnId, (turn) => {
    const item = turn?.items.get(blockIndex) ?? null;
    return isBlock(item) && item.kind === kind ? (item as Extract<Block, { readonly kind: Kind }>) : null;
  });
}

/** Returns the items of the turn's main agent, or of one run, in order. The same reference while only text grows. */
export function useTurnLayout(turnId: string, runId?: string): TurnLayout {
  return useStoreSelector(`turn:${turnId}`, (store) => store.getLayout(turnId, runId));
}

/** Returns a group by the index of its start marker. */
export function useGroup(turnId: string, blockIndex: number): LayoutGroup | null {
  return useStoreSelector(`turn:${turnId}`, (store) => {
    const item = store
      .getLayout(turnId)
      .find((other) => other.type === "group" && other.blockIndex === blockIndex);
    return item?.type === "group" ? item : null;
  });
}

/** Returns a call with its result, approvals and sub-agent. */
export function useToolCall(turnId: string, blockIndex: number): ToolItem | null {
  return useStoreSelector(`turn:${turnId}`, (store) => store.getToolCall(turnId, blockIndex));
}

export function useRun(turnId: string, runId: string): Run | null {
  return useTurnSelector(turnId, (turn) => (turn === null ? null : (findRun(turn, runId) ?? null)));
}
