/**
 * `CallArtifacts` shows the artifacts of a tool call: below the call, or below its group.
 * Invariant: a render error stays inside its artifact.
 */
import type { ReactNode } from "react";
import type { BlockProps } from "../components.ts";
import { useThreadParts } from "../context.ts";
import { useToolCall } from "../hooks/use-turn.ts";
import { ErrorBoundary } from "../ui/error-boundary.tsx";
import { listArtifacts } from "./call-rules.ts";

export function CallArtifacts({ turnId, blockIndex }: BlockProps): ReactNode {
  const { Artifact } = useThreadParts().components;
  const item = useToolCall(turnId, blockIndex);
  if (item === null) return null;
  return listArtifacts(item).map((artifact, n) => (
    // Artifacts never move, so their index is their identity.
    <ErrorBoundary key={n}>
      <Artifact artifact={artifact} />
    </ErrorBoundary>
  ));
}
