/** Asks the server how things stand, for who doubts what is shown. */
import { useState } from "react";
import { useShared } from "../context.ts";

export function useRefresh(): {
  readonly refresh: () => void;
  readonly isRefreshing: boolean;
  readonly problem: string | null;
} {
  const { session, strings } = useShared();
  const [isRefreshing, setRefreshing] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const refresh = (): void => {
    setRefreshing(true);
    setProblem(null);
    session.refresh().then(
      () => setRefreshing(false),
      (error: unknown) => {
        setRefreshing(false);
        setProblem(strings.cards.problem(error instanceof Error ? error.message : String(error)));
      },
    );
  };
  return { refresh, isRefreshing, problem };
}
