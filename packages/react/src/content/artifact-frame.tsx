/**
 * `ArtifactFrame` is the frame of an artifact: its title, its switches, and a link to the full content if only a part
 * is shown.
 * Invariant: title and address are untrusted: the title passes `visibleText`, the address `SafeLink`. A frame with a
 * title is named by it, for screen readers.
 */
import { type ReactNode, useId } from "react";
import { visibleText } from "../visible-text.ts";
import { SafeLink } from "../ui/safe-link.tsx";
import { usePart } from "../parts.tsx";
import { useCardStrings } from "../hooks/use-card-strings.ts";

interface ArtifactFrameProps {
  readonly title: string;
  /** Used without a title; "" for no title. */
  readonly fallback: string;
  /** The address of the full content if only a part is shown, otherwise "". */
  readonly fullUrl: string;
  readonly side?: ReactNode;
  readonly children: ReactNode;
}

export function ArtifactFrame({ title, fallback, fullUrl, side, children }: ArtifactFrameProps): ReactNode {
  const cardStrings = useCardStrings().cards;
  const id = useId();
  const shown = visibleText(title || fallback);
  return (
    <figure {...usePart("artifact", "ts-artifact")} {...(shown === "" ? {} : { "aria-labelledby": id })}>
      {(shown !== "" || side !== undefined) && (
        <figcaption className="ts-artifact-head">
          <bdi id={id}>{shown}</bdi>
          {side}
        </figcaption>
      )}
      {children}
      {fullUrl !== "" && (
        <p className="ts-artifact-foot">
          <SafeLink address={fullUrl}>{cardStrings.downloadAll}</SafeLink>
        </p>
      )}
    </figure>
  );
}
