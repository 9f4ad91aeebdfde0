/**
 * A whole conversation: turns, what waits, the connection, the composer, and the voice for screen readers. The log itself
 * is silent (`aria-live` off): the announcer speaks for it.
 */
import { type ReactNode, useEffect, useId, useRef } from "react";
import type { ComposerProps } from "../components.ts";
import { cards } from "../cards/later-cards.ts";
import { markdown } from "../content/markdown.tsx";
import { useShared } from "../context.ts";
import { useTurnIds } from "../hooks/use-turn.ts";
import { useFollow } from "../hooks/use-stick-to-bottom.ts";
import { usePendingMessages } from "../hooks/use-message.ts";
import { useOlder } from "../hooks/use-history.ts";
import { useKeyboardInset } from "../hooks/use-keyboard-inset.ts";
import { useView } from "../hooks/use-session-selector.ts";
import { Boundary } from "../ui/error-boundary.tsx";
import { Icon } from "../ui/icons.tsx";
import { TurnList } from "./turn-list.tsx";

export interface ThreadProps {
  /** What a screen reader calls it. */
  readonly label?: string;
  /** Shown while there is nothing. */
  readonly empty?: ReactNode;
  /** null: nothing can be written. */
  readonly composer?: ComposerProps | null;
}

/** Of one session: what is half written or scrolled to in one isn't carried into another. */
export function Thread(props: ThreadProps): ReactNode {
  const { session } = useShared();
  return <ThreadOfSession key={session.id} {...props} />;
}

function ThreadOfSession({ label, empty, composer = {} }: ThreadProps): ReactNode {
  const { components, strings } = useShared();
  const { UserMessage, Composer, ConnectionBanner, Announcer } = components;
  const words = strings.thread;
  const heading = useId();
  const root = useRef<HTMLElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const pending = usePendingMessages();
  const isEmpty = useTurnIds().length === 0 && pending.length === 0;
  const older = useOlder(scroller);
  const { isFollowing, toEnd } = useFollow(scroller, content, !isEmpty);
  useKeyboardInset(root);
  useSeeWhatIsSent(toEnd);
  // Before the first answer needs it.
  useEffect(() => {
    void markdown.load();
    void cards.load();
  }, []);
  return (
    <section className="ts-thread" ref={root} aria-labelledby={heading}>
      {/* Below the page's own, and above those of answers, for people who go by headings. */}
      <h2 className="ts-sr" id={heading}>
        {label ?? words.conversation}
      </h2>
      {/* Focusable, so that a keyboard can scroll it. */}
      <div
        className="ts-scroll"
        ref={scroller}
        role="log"
        aria-live="off"
        aria-label={words.conversation}
        tabIndex={0}
      >
        <div className="ts-turns" ref={content}>
          {older.hasMore && <OlderButton {...older} />}
          {isEmpty && empty}
          <TurnList />
          {pending.map((message) => (
            <Boundary key={message}>
              <UserMessage message={message} />
            </Boundary>
          ))}
        </div>
      </div>
      <div className="ts-dock">
        {!isFollowing && (
          <button type="button" className="ts-newest" aria-label={words.toNewest} onClick={toEnd}>
            <Icon name="down" />
          </button>
        )}
        <ConnectionBanner />
        {composer !== null && <Composer {...composer} />}
      </div>
      <Announcer />
    </section>
  );
}

/** Who sends something wants to see it; who reads is not moved by what they wrote in another tab. */
function useSeeWhatIsSent(toEnd: () => void): void {
  const outbox = useView((view) => view.outbox);
  const known = useRef(outbox);
  useEffect(() => {
    const before = known.current;
    known.current = outbox;
    if (outbox.some(({ id, isOwn }) => isOwn && !before.some((one) => one.id === id))) toEnd();
  }, [outbox, toEnd]);
}

function OlderButton({ isLoading, error, load }: ReturnType<typeof useOlder>): ReactNode {
  const words = useShared().strings.thread;
  return (
    <div className="ts-older">
      {error !== null && <span className="ts-fail">{words.loadEarlierFailed}</span>}
      <button type="button" className="ts-button" disabled={isLoading} onClick={load}>
        {isLoading ? words.loadingEarlier : words.loadEarlier}
      </button>
    </div>
  );
}
