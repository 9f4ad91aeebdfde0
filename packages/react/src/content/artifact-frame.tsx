/** The card around an artifact: its title, what can be switched, and the way to the whole where this is only a part. */
import { type ReactNode, useId } from "react";
import { useThreadContext } from "../context.ts";
import { visibleText } from "../visible-text.ts";
import { SafeLink } from "../ui/safe-link.tsx";

interface ArtifactFrameProps {
  readonly title: string;
  /** What it is called without a title; "" for nothing. */
  readonly fallback: string;
  /** Where the whole is, if this is only a part; else "". */
  readonly fullUrl: string;
  readonly side?: ReactNode;
  readonly children: ReactNode;
}

export function ArtifactFrame({ title, fallback, fullUrl, side, children }: ArtifactFrameProps): ReactNode {
  const cardStrings = useThreadContext().strings.cards;
  const id = useId();
  const shown = visibleText(title || fallback);
  return (
    <figure className="ts-artifact" {...(shown === "" ? {} : { "aria-labelledby": id })}>
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
