/**
 * `Thread` shows a whole conversation: turns, queued messages, the connection status, the composer and the announcer.
 * Invariant: the log itself has `aria-live` off, because the announcer announces changes. Another session resets the
 * draft and scroll position. A render error stays inside its turn. Turns render in chunks, so that the cost of a delta
 * does not grow with the thread.
 */
import { memo, type ReactNode, type RefObject, useEffect, useId, useRef } from "react";
import { isSameList, chunkTurns } from "@turnstream/client/view";
import type { ComposerProps } from "../components.ts";
import { lazyMarkdown } from "../content/text-block.tsx";
import { useThreadContext } from "../context.ts";
import { lazyCards } from "../cards/lazy-cards.ts";
import { useHistory } from "../hooks/use-history.ts";
import { usePendingMessages } from "../hooks/use-message.ts";
import { useSessionSelector } from "../hooks/use-session-selector.ts";
import { useStickToBottom } from "../hooks/use-stick-to-bottom.ts";
import { useTurnIds } from "../hooks/use-turn.ts";
import { ErrorBoundary } from "../ui/error-boundary.tsx";
import { Icon } from "../ui/icons.tsx";
import { Slot, usePart } from "../parts.tsx";

export interface ThreadProps {
  /** The accessible name of the thread. */
  readonly label?: string;
  /** Shown while the thread is empty. */
  readonly empty?: ReactNode;
  /** null: no composer. */
  readonly composer?: ComposerProps | null;
}

/** Resets its state for each session, so that a draft or scroll position is not carried over. */
export function Thread(props: ThreadProps): ReactNode {
  const { session } = useThreadContext();
  return <SessionThread key={session.id} {...props} />;
}

function SessionThread({ label, empty, composer = {} }: ThreadProps): ReactNode {
  const { components, strings } = useThreadContext();
  const { UserMessage, Composer, ConnectionBanner, Announcer } = components;
  const threadStrings = strings.thread;
  const heading = useId();
  const root = useRef<HTMLElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const pendingIds = usePendingMessages();
  const isEmpty = useTurnIds().length === 0 && pendingIds.length === 0;
  const history = useHistory(scroller);
  const { isAtBottom, scrollToBottom } = useStickToBottom(scroller, content, !isEmpty);
  useKeyboardInset(root);
  useScrollToSent(scrollToBottom);
  // Loads the chunks before the first answer needs them.
  useEffect(() => {
    void lazyMarkdown.load();
    void lazyCards.load();
  }, []);
  return (
    <section {...usePart("thread", "ts-thread")} ref={root} aria-labelledby={heading}>
      {/* Level 2 is below the headings of the page and above those of answers, for navigation by headings. */}
      <h2 className="ts-sr" id={heading}>
        {label ?? threadStrings.conversation}
      </h2>
      {/* Focusable, so that a keyboard can scroll it. */}
      <div
        {...usePart("scroll", "ts-scroll")}
        ref={scroller}
        role="log"
        aria-live="off"
        aria-label={threadStrings.conversation}
        tabIndex={0}
      >
        <div {...usePart("turns", "ts-turns")} ref={content}>
          <Slot name="ThreadStart" />
          {history.hasMore && <LoadMoreButton {...history} />}
          {isEmpty && empty}
          <TurnList />
          {pendingIds.map((messageId) => (
            <ErrorBoundary key={messageId}>
              <UserMessage messageId={messageId} />
            </ErrorBoundary>
          ))}
          <Slot name="ThreadEnd" />
        </div>
      </div>
      <div {...usePart("dock", "ts-dock")}>
        {!isAtBottom && <NewestButton onClick={scrollToBottom} />}
        <ConnectionBanner />
        {composer !== null && <Composer {...composer} />}
      </div>
      <Announcer />
    </section>
  );
}

function NewestButton({ onClick }: { readonly onClick: () => void }): ReactNode {
  const { strings } = useThreadContext();
  return (
    <button
      type="button"
      {...usePart("newest-button", "ts-newest")}
      aria-label={strings.thread.toNewest}
      onClick={onClick}
    >
      <Icon name="down" />
    </button>
  );
}

/** Scrolls to a message that the user sends in this tab. A message from another tab doesn't move the view. */
function useScrollToSent(scrollToBottom: () => void): void {
  const outbox = useSessionSelector((view) => view.outbox);
  const lastOutbox = useRef(outbox);
  useEffect(() => {
    const before = lastOutbox.current;
    lastOutbox.current = outbox;
    if (outbox.some(({ id, isOwn }) => isOwn && !before.some((entry) => entry.id === id))) scrollToBottom();
  }, [outbox, scrollToBottom]);
}

function LoadMoreButton({ isLoading, error, loadMore }: ReturnType<typeof useHistory>): ReactNode {
  const threadStrings = useThreadContext().strings.thread;
  return (
    <div {...usePart("load-more", "ts-older")}>
      {error !== null && <span className="ts-fail">{threadStrings.loadEarlierFailed}</span>}
      <button type="button" className="ts-button" disabled={isLoading} onClick={loadMore}>
        {isLoading ? threadStrings.loadingEarlier : threadStrings.loadEarlier}
      </button>
    </div>
  );
}

/**
 * Renders the turns in chunks. React visits every sibling of an updated element, so without chunks a delta would cost
 * more in a long thread.
 */
const TurnList = memo(function TurnList(): ReactNode {
  const { store } = useThreadContext();
  const turns = useTurnIds();
  const chunks = chunkTurns(turns, (id) => store.getTurn(id)?.number ?? 0);
  return chunks.map(({ key, ids }) => <TurnChunk key={key} ids={ids} />);
});

const TurnChunk = memo(
  function TurnChunk({ ids }: { readonly ids: readonly string[] }): ReactNode {
    const { Turn } = useThreadContext().components;
    return ids.map((turnId) => (
      <ErrorBoundary key={turnId}>
        <Turn turnId={turnId} />
      </ErrorBoundary>
    ));
  },
  (entry, other) => isSameList(entry.ids, other.ids),
);

/** Sets `--ts-keyboard` to the height that an on-screen keyboard covers, so that the composer stays above it. */
function useKeyboardInset(root: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const viewport = globalThis.visualViewport ?? null;
    const element = root.current;
    if (viewport === null || element === null) return undefined;
    const onChange = (): void => {
      // A zoomed page also has a small viewport, but no keyboard.
      const isZoomed = viewport.scale > 1.01;
      const below = element.getBoundingClientRect().bottom - viewport.height - viewport.offsetTop;
      const covered = isZoomed ? 0 : Math.max(0, Math.round(Math.min(below, innerHeight - viewport.height)));
      element.style.setProperty("--ts-keyboard", `${covered}px`);
    };
    viewport.addEventListener("resize", onChange);
    viewport.addEventListener("scroll", onChange);
    return () => {
      viewport.removeEventListener("resize", onChange);
      viewport.removeEventListener("scroll", onChange);
    };
  }, [root]);
}
