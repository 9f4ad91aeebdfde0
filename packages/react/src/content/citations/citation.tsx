/** A citation: a small number that opens to what it refers to, and leads there by the rules for links. */
import { type ToggleEvent, useId, useRef, useState } from "react";
import type { Annotation } from "@turnstream/protocol";
import type { CitationProps } from "../../components.ts";
import { useShared } from "../../context.ts";
import { judgeLink } from "../../link-policy.ts";
import { OutsideLink, SafeLink } from "../../ui/safe-link.tsx";
import { visibleText } from "../../visible-text.ts";
import { numbersOf } from "./citation-marks.ts";
import { useReference } from "./references.ts";

const GAP = 6;
const MARGIN = 8;
const MAX_QUOTE = 280;

export function Citation({ number, annotation, turn }: CitationProps) {
  const { strings, links } = useShared();
  const part = useReference(turn, annotation.reference);
  const chip = useRef<HTMLButtonElement>(null);
  const card = useRef<HTMLSpanElement>(null);
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const { title = "", url = "" } = part?.reference ?? {};
  const verdict = judgeLink(url, links);
  const quote = part?.media === "text" ? part.data.trim() : "";
  const name = title === "" ? (verdict.may === "dead" ? "" : verdict.to) : title;
  const follow = (event: ToggleEvent<HTMLSpanElement>): void => {
    const opened = event.newState === "open";
    setOpen(opened);
    if (opened && chip.current !== null && card.current !== null) place(card.current, chip.current);
  };
  return (
    <span className="ts-cite">
      <button
        ref={chip}
        type="button"
        className="ts-cite-chip"
        aria-label={strings.cards.source(number, visibleText(name))}
        aria-expanded={isOpen}
        popoverTarget={id}
      >
        {number}
      </button>
      <span
        ref={card}
        id={id}
        popover="auto"
        className="ts-cite-card"
        role="group"
        aria-label={strings.cards.source(number, "")}
        onToggle={follow}
      >
        {part === null && <span className="ts-faint">{strings.cards.sourceGone}</span>}
        {name !== "" && <bdi className="ts-cite-title">{visibleText(name)}</bdi>}
        {quote !== "" && (
          <bdi className="ts-cite-quote">
            {visibleText(quote.length > MAX_QUOTE ? `${quote.slice(0, MAX_QUOTE)}…` : quote)}
          </bdi>
        )}
        {verdict.may !== "dead" && (
          <OutsideLink href={verdict.href} className="ts-cite-link">
            {strings.cards.openAt(visibleText(verdict.to))}
          </OutsideLink>
        )}
      </span>
    </span>
  );
}

/** Below the chip, or above it where there is no room; never out of the window. */
function place(card: HTMLElement, chip: HTMLElement): void {
  const at = chip.getBoundingClientRect();
  const { width, height } = card.getBoundingClientRect();
  const below = at.bottom + GAP;
  const top = below + height + MARGIN > innerHeight && at.top > height + GAP ? at.top - height - GAP : below;
  card.style.left = `${Math.max(MARGIN, Math.min(at.left, innerWidth - width - MARGIN))}px`;
  card.style.top = `${Math.max(MARGIN, top)}px`;
}

/** What a text has cited, once it is complete: number, title and host, each a way to the source. */
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
