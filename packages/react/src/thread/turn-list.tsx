/**
 * The turns of a thread, in portions: React looks at every sibling of what it draws, also where nothing has changed, so that
 * a word would cost more in a long thread than in a short one.
 */
import { memo, type ReactNode } from "react";
import { useShared } from "../context.ts";
import { useTurnIds } from "../hooks/use-turn.ts";
import { Boundary } from "../ui/error-boundary.tsx";
import { isSameList, portionsOf } from "@turnstream/client/view";

export const TurnList = memo(function TurnList(): ReactNode {
  const { store } = useShared();
  const turns = useTurnIds();
  const portions = portionsOf(turns, (id) => store.turn(id)?.number ?? 0);
  return portions.map(({ key, ids }) => <TurnPortion key={key} ids={ids} />);
});

const TurnPortion = memo(
  function TurnPortion({ ids }: { readonly ids: readonly string[] }): ReactNode {
    const { Turn } = useShared().components;
    return ids.map((turn) => (
      <Boundary key={turn}>
        <Turn turn={turn} />
      </Boundary>
    ));
  },
  (one, other) => isSameList(one.ids, other.ids),
);
