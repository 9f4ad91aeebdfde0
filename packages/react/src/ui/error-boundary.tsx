/**
 * Keeps what goes wrong in drawing one part to that part: the rest of the thread stays. Says so in its place, and draws it
 * again when asked. Never hides the error: React still reports it.
 */
import { Component, type ReactNode } from "react";
import { useShared } from "../context.ts";

interface BoundaryProps {
  readonly children: ReactNode;
}

interface BoundaryState {
  readonly hasFailed: boolean;
}

export class Boundary extends Component<BoundaryProps, BoundaryState> {
  override state: BoundaryState = { hasFailed: false };

  static getDerivedStateFromError(): BoundaryState {
    return { hasFailed: true };
  }

  override render(): ReactNode {
    if (!this.state.hasFailed) return this.props.children;
    return <Broken onRetry={() => this.setState({ hasFailed: false })} />;
  }
}

function Broken({ onRetry }: { readonly onRetry: () => void }): ReactNode {
  const { strings } = useShared();
  return (
    <div className="ts-broken">
      <span>{strings.cards.cannotShow}</span>
      <button type="button" className="ts-link" onClick={onRetry}>
        {strings.thread.tryAgain}
      </button>
    </div>
  );
}
