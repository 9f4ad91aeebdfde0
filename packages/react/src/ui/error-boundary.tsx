/**
 * `ErrorBoundary` limits a render error to one part: the rest of the thread stays. It shows a message in place of the
 * part, with a retry button.
 * Invariant: it does not hide the error; React still reports it.
 */
import { Component, type ReactNode } from "react";
import { RetryNotice } from "./retry-notice.tsx";
import { useStrings } from "../hooks/use-strings.ts";

export interface ErrorBoundaryProps {
  readonly children: ReactNode;
}

interface ErrorBoundaryState {
  readonly hasFailed: boolean;
}

export class ErrorBoundary extends Component<ErrorBoundaryProps, ErrorBoundaryState> {
  override state: ErrorBoundaryState = { hasFailed: false };

  static getDerivedStateFromError(): ErrorBoundaryState {
    return { hasFailed: true };
  }

  override render(): ReactNode {
    if (!this.state.hasFailed) return this.props.children;
    return <ErrorFallback onRetry={() => this.setState({ hasFailed: false })} />;
  }
}

function ErrorFallback({ onRetry }: { readonly onRetry: () => void }): ReactNode {
  const strings = useStrings();
  return <RetryNotice strings={strings} text={strings.cards.cannotShow} onRetry={onRetry} />;
}
