/** One block, or one turn, by identity. */
import { type Block, findTurn, isBlock, type Turn } from "@turnstream/protocol";
import { useView } from "./use-view.ts";

export function useTurn(turn: string): Turn | null {
  return useView(({ state }) => findTurn(state, turn) ?? null);
}

/** Null when there is none (any more): a takeover may have made it void. */
export function useBlock<Kind extends Block["kind"]>(
  turn: string,
  index: number,
  kind: Kind,
): Extract<Block, { readonly kind: Kind }> | null {
  return useView(({ state }) => {
    const item = findTurn(state, turn)?.items.at(index) ?? null;
    return isBlock(item) && item.kind === kind ? (item as Extract<Block, { readonly kind: Kind }>) : null;
  });
}
