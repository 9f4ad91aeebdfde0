/**
 * `Card` (frame), `CardHead` (title and time left), `TimeLeft`, `CardProblem`, `Outcome` and `ReasonForm` are the common parts of the
 * cards.
 * Invariant: if the focused button disappears with the decision, the focus stays in the card. Titles, outcomes and
 * reasons are untrusted and pass `visibleText`. Screen readers announce the time left at most three times.
 */
import { type ReactNode, type RefObject, useEffect, useId, useRef, useState } from "react";
import { Icon } from "../ui/icons.tsx";
import { visibleText } from "../visible-text.ts";
import { formatClock, useCountdown } from "./use-countdown.ts";
import { usePart } from "../parts.tsx";
import { useCardStrings } from "../hooks/use-card-strings.ts";
import { Button } from "../ui/button.tsx";

export interface CardProps {
  readonly kind: "approval" | "question" | "form" | "payment";
  /** The ids of the elements that name the card. */
  readonly labelledBy: string;
  readonly isPending: boolean;
  /** Changes whenever buttons can disappear, for a card with more than two states. */
  readonly status?: string;
  readonly children: ReactNode;
  readonly cardRef?: RefObject<HTMLElement | null>;
  readonly keys?: string;
}

export function Card({ kind, labelledBy, isPending, status, children, cardRef, keys }: CardProps): ReactNode {
  const own = useRef<HTMLElement>(null);
  const card = cardRef ?? own;
  const hadFocus = useRef(false);
  useEffect(() => {
    // The pressed button was removed. Without this, the focus would move to the top of the page.
    if (hadFocus.current && document.activeElement === document.body)
      card.current?.focus({ preventScroll: true });
  }, [isPending, status, card]);
  return (
    <section
      ref={card}
      {...usePart(`${kind}-card`, `ts-card ts-${kind}`)}
      data-card={kind}
      data-waiting={isPending || undefined}
      aria-labelledby={labelledBy}
      aria-keyshortcuts={keys}
      tabIndex={-1}
      role="group"
      onFocus={() => {
        hadFocus.current = true;
      }}
      onBlur={({ relatedTarget }) => {
        if (relatedTarget !== null) hadFocus.current = card.current?.contains(relatedTarget) ?? false;
      }}
    >
      {children}
    </section>
  );
}

interface CardHeadProps {
  readonly id: string;
  readonly title: string;
  readonly deadline: number | null;
}

export function CardHead({ id, title, deadline }: CardHeadProps): ReactNode {
  return (
    <div className="ts-card-head">
      <span className="ts-card-title" id={id}>
        <bdi>{visibleText(title)}</bdi>
      </span>
      {deadline !== null && <TimeLeft deadline={deadline} />}
    </div>
  );
}

interface TimeLeftProps {
  readonly deadline: number;
  /** The text for screen readers. @default the time left to answer */
  readonly announce?: (seconds: number) => string;
}

export function TimeLeft({ deadline, announce }: TimeLeftProps): ReactNode {
  const cardStrings = useCardStrings().cards;
  const announced = announce ?? cardStrings.secondsLeft;
  const { seconds, announcedSeconds } = useCountdown(deadline);
  return (
    <>
      {/* Screen readers don't announce a `timer`. The element next to it announces the time, at most three times. */}
      <span className="ts-time-left" role="timer" aria-live="off">
        {seconds === null ? "" : cardStrings.timeLeft(formatClock(seconds))}
      </span>
      <span className="ts-sr" aria-live="polite">
        {announcedSeconds === null ? "" : announced(announcedSeconds)}
      </span>
    </>
  );
}

export function CardProblem({ problem }: { readonly problem: string | null }): ReactNode {
  if (problem === null) return null;
  return (
    <p className="ts-card-problem" role="alert">
      {problem}
    </p>
  );
}

interface OutcomeProps {
  readonly isPositive: boolean;
  /** A check mark means that something was done. Something that was only allowed has another icon. */
  readonly mark?: "check" | "allowed";
  readonly text: string;
  readonly reason: string | null;
}

/**
 * Shows the outcome of a decided card, whether it was decided here, in another tab, by another user or by its deadline.
 */
export function Outcome({ isPositive, mark = "check", text, reason }: OutcomeProps): ReactNode {
  const strings = useCardStrings();
  return (
    <p className="ts-outcome" data-good={isPositive || undefined}>
      <Icon name={isPositive ? mark : "close"} />
      <bdi>{visibleText(text)}</bdi>
      {reason !== null && reason !== "" && (
        <span className="ts-faint">{strings.cards.reasonGiven(visibleText(reason))}</span>
      )}
    </p>
  );
}

interface ReasonFormProps {
  readonly action: string;
  readonly isSending: boolean;
  readonly onSend: (reason: string) => void;
  readonly onCancel: () => void;
}

export function ReasonForm({ action, isSending, onSend, onCancel }: ReasonFormProps): ReactNode {
  const cardStrings = useCardStrings().cards;
  const [reason, setReason] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const id = useId();
  // The user has just opened this form.
  useEffect(() => field.current?.focus(), []);
  return (
    <form
      className="ts-reason"
      onSubmit={(event) => {
        event.preventDefault();
        onSend(reason.trim());
      }}
      onKeyDown={(event) => {
        // During composition, Escape only cancels the text of the input method.
        if (event.key === "Escape" && !event.nativeEvent.isComposing) onCancel();
      }}
    >
      <label htmlFor={id}>{cardStrings.reason}</label>
      <input
        ref={field}
        id={id}
        className="ts-input"
        value={reason}
        maxLength={4_000}
        onChange={(event) => setReason(event.target.value)}
      />
      <div className="ts-row">
        <button type="submit" className="ts-button ts-danger" disabled={isSending}>
          {isSending ? cardStrings.sending : action}
        </button>
        <Button disabled={isSending} onClick={onCancel}>
          {cardStrings.cancel}
        </Button>
      </div>
    </form>
  );
}
