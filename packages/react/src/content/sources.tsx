/** What a text has cited, once it is complete: number, title and host, each a way to the source. */
import type { Annotation } from "@turnstream/protocol";
import { useShared } from "../context.ts";
import { judgeLink } from "../link-policy.ts";
import { visibleText } from "../visible-text.ts";
import { numbersOf } from "./citations/citation-marks.ts";
import { useReference } from "./use-reference.ts";
import { SafeLink } from "../ui/safe-link.tsx";

interface SourcesProps {
  readonly annotations: readonly Annotation[];
  readonly turn: string;
}

export function Sources({ annotations, turn }: SourcesProps) {
  const { strings } = useShared();
  return (
    <ol className="ts-sources" aria-label={strings.cards.sources}>
      {[...numbersOf(annotations)].map(([reference, number]) => (
        <Source key={reference} reference={reference} number={number} turn={turn} />
      ))}
    </ol>
  );
}

interface SourceProps {
  readonly reference: number;
  readonly number: number;
  readonly turn: string;
}

function Source({ reference, number, turn }: SourceProps) {
  const { links, strings } = useShared();
  const part = useReference(turn, reference);
  const { title = "", url = "" } = part?.reference ?? {};
  const verdict = judgeLink(url, links);
  const host = verdict.may === "dead" ? "" : visibleText(verdict.to);
  const name = visibleText(title) || host || strings.cards.source(number, "");
  return (
    <li className="ts-source">
      <span className="ts-cite-chip" aria-hidden="true">
        {number}
      </span>
      <SafeLink address={url}>{name}</SafeLink>
      {host !== "" && host !== name && <bdi className="ts-faint">{host}</bdi>}
    </li>
  );
}
