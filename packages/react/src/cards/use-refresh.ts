/** Asks the server how things stand, for who doubts what is shown. */
import { useShared } from "../context.ts";
import { useCommand } from "../hooks/use-action.ts";

export function useRefresh(): {
  readonly refresh: () => void;
  readonly isRefreshing: boolean;
  readonly problem: string | null;
} {
  const { session } = useShared();
  const { isBusy, problem, run } = useCommand();
  return { refresh: () => run(() => session.refresh()), isRefreshing: isBusy, problem };
}
