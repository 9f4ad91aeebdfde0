/**
 * `opensByItself`, `isAsking` and `listArtifacts` decide what a tool call shows without a click. Pure.
 * Invariant: a call inside a group never opens by itself, unless the app asks for it or its sub-agent works.
 */
import { type Artifact, isPending, type ToolItem } from "@turnstream/protocol";
import type { CallPlace, ToolDetails } from "../context.ts";

/** Whether its own approval waits for the user. Its card then stands for the call. */
export function isAsking({ approvals }: ToolItem): boolean {
  return approvals.some(isPending);
}

export function opensByItself(item: ToolItem, place: CallPlace, details: ToolDetails): boolean {
  if (details === "open") return true;
  const isRunning = item.status === "pending" && !isAsking(item);
  return isRunning && (item.run !== null || (details === "auto" && place === "turn"));
}

/** Returns the artifact of a call, or the pictures that it streams. */
export function listArtifacts({ artifact, result }: ToolItem): readonly Artifact[] {
  if (artifact !== null) return [artifact];
  const pictures = result?.parts.filter(({ media }) => media === "image") ?? [];
  return pictures.map(({ data }) => ({ type: "image", data: { url: data } }));
}
