/**
 * `Citation` shows a small number that opens a card with the cited source. `Sources` lists all sources of a text.
 * Invariant: every address passes `checkLink`, and the user sees its host before the link can be opened. A blocked
 * address has no link. Titles and quotes are untrusted and pass `visibleText`.
 */
import { useEffect, useRef, useState } from "react";
import type { Annotation } from "@turnstream/protocol";
import type { CitationProps } from "../../components.ts";
import { useThreadContext } from "../../context.ts";
import { checkLink } from "../../link-policy.ts";
import { ExternalLink, SafeLink } from "../../ui/safe-link.tsx";
import { visibleText } from "../../visible-text.ts";
import { numberReferences, useReference } from "./references.ts";
import { usePart } from "../../parts.tsx";
import { useCardStrings } from "../../hooks/use-card-strings.ts";

const GAP_PX = 6;
const MARGIN_PX = 8;
const MAX_QUOTE_CHARS = 280;

export function Citation({ number, annotation, turnId }: CitationProps) {
  const { linkPolicy } = useThreadContext();
  const strings = useCardStrings();
  const part = useReference(turnId, annotation.reference);
  const chip = useRef<HTMLButtonElement>(null);
  const card = useRef<HTMLSpanElement>(null);
  const [isOpen, setOpen] = useState(false);
  const { title = "", url = "" } = part?.reference ?? {};
  const link = checkLink(url, linkPolicy);
  const name = title === "" ? (link.may === "dead" ? "" : link.to) : title;
  const quote = part?.media === "text" ? withoutTitle(part.data.trim(), title) : "";
  useEffect(() => {
    const [button, popup] = [chip.current, card.current];
    if (button === null || popup === null) return undefined;
    // Not as props, because React 18 knows neither of them.
    button.popoverTargetElement = popup;
    const follow = (event: Event): void => {
      const opened = (event as ToggleEvent).newState === "open";
      setOpen(opened);
      if (opened) positionCard(popup, button);
    };
    popup.addEventListener("toggle", follow);
    return () => popup.removeEventListener("toggle", follow);
  }, []);
  return (
    <span {...usePart("citation", "ts-cite")}>
      <button
        ref={chip}
        type="button"
        className="ts-cite-chip"
        aria-label={strings.cards.source(number, visibleText(name))}
        aria-expanded={isOpen}
      >
        {number}
      </button>
      <span
        ref={card}
        popover="auto"
        className="ts-cite-card"
        role="group"
        aria-label={strings.cards.source(number, "")}
      >
        {part === null && <span className="ts-faint">{strings.cards.sourceMissing}</span>}
        {name !== "" && <bdi className="ts-cite-title">{visibleText(name)}</bdi>}
        {quote !== "" && (
          <bdi className="ts-cite-quote">
            {visibleText(quote.length > MAX_QUOTE_CHARS ? `${quote.slice(0, MAX_QUOTE_CHARS)}…` : quote)}
          </bdi>
        )}
        {link.may !== "dead" && (
          <ExternalLink href={link.href} className="ts-cite-link">
            {strings.cards.openAt(visibleText(link.to))}
          </ExternalLink>
        )}
      </span>
    </span>
  );
}

/** A quote often starts with the title, which the card already shows. */
function withoutTitle(quote: string, title: string): string {
  return title !== "" && quote.startsWith(title)
    ? quote.slice(title.length).replace(/^[\s:.…–—-]+/, "")
    : quote;
}

/**
 * Places the card above the chip, where the reader has already read, so that it covers neither the rest of the text nor
 * the list of sources. Without space above, it is below. It is always inside the window.
 */
function positionCard(card: HTMLElement, chip: HTMLElement): void {
  const at = chip.getBoundingClientRect();
  const { width, height } = card.getBoundingClientRect();
  const above = at.top - GAP_PX - height;
  const top = above < MARGIN_PX ? at.bottom + GAP_PX : above;
  card.style.left = `${Math.max(MARGIN_PX, Math.min(at.left, innerWidth - width - MARGIN_PX))}px`;
  card.style.top = `${Math.max(MARGIN_PX, top)}px`;
}

/** The sources of a complete text: number, title and host, each with a link. */
interface SourcesProps {
  readonly annotations: readonly Annotation[];
  readonly turn: string;
}

export function Sources({ annotations, turn: turnId }: SourcesProps) {
  const strings = useCardStrings();
  return (
    <ol {...usePart("sources", "ts-sources")} aria-label={strings.cards.sources}>
      {[...numberReferences(annotations)].map(([reference, number]) => (
        <Source key={reference} reference={reference} number={number} turn={turnId} />
      ))}
    </ol>
  );
}

interface SourceProps {
  readonly reference: number;
  readonly number: number;
  readonly turn: string;
}

function Source({ reference, number, turn: turnId }: SourceProps) {
  const { linkPolicy } = useThreadContext();
  const strings = useCardStrings();
  const part = useReference(turnId, reference);
  const { title = "", url = "" } = part?.reference ?? {};
  const link = checkLink(url, linkPolicy);
  const host = link.may === "dead" ? "" : visibleText(link.to);
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
