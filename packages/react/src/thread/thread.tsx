/**
 * `Thread` shows a whole conversation: turns, queued messages, the connection status, the composer and the announcer.
 * Invariant: the log itself has `aria-live` off, because the announcer announces changes. Another session resets the
 * draft and scroll position. A render error stays inside its turn. Turns render in chunks, so that the cost of a delta
 * does not grow with the thread.
 */
import { memo, type ReactNode, useEffect, useId, useMemo, useRef } from "react";
import { isSameList, chunkTurns } from "@turnstream/client/view";
import type { ComposerProps } from "../components.ts";
import { lazyMarkdown } from "../content/text-block.tsx";
import {
  ThreadPartsContext,
  ThreadReactContext,
  type ToolDetails,
  useThreadContext,
  useThreadParts,
} from "../context.ts";
import { lazyCards } from "../cards/lazy-cards.ts";
import { useHistory } from "../hooks/use-history.ts";
import { usePendingMessages } from "../hooks/use-message.ts";
import { useSessionSelector } from "../hooks/use-session-selector.ts";
import { useStickToBottom } from "../hooks/use-stick-to-bottom.ts";
import { useTurnIds } from "../hooks/use-turn.ts";
import { ErrorBoundary } from "../ui/error-boundary.tsx";
import { Icon } from "../ui/icons.tsx";
import { Slot, usePart } from "../parts.tsx";
import { useThreadRoot } from "./thread-root.tsx";
import { useStrings } from "../hooks/use-strings.ts";
import { useThreadStore } from "../hooks/stores.ts";
import { Button } from "../ui/button.tsx";

const Welcome = lazyCards.part((parts) => parts.Welcome);

export interface ThreadProps {
  /** The accessible name of the thread. */
  readonly label?: string;
  /** Shown in the middle while the session has no messages. @default a greeting */
  readonly welcome?: ReactNode;
  /** Messages that a session without messages offers. A press fills the field of the composer. */
  readonly suggestions?: readonly string[];
  /** null: no composer. */
  readonly composer?: ComposerProps | null;
  /** When the arguments and the result of a tool call are shown. @default the value of the provider */
  readonly toolDetails?: ToolDetails;
}

/** Resets its state for each session, so that a draft or scroll position is not carried over. */
export function Thread({ toolDetails, ...props }: ThreadProps): ReactNode {
  const context = useThreadContext();
  const details = toolDetails ?? context.toolDetails;
  const own = useMemo(() => ({ ...context, toolDetails: details }), [context, details]);
  return (
    <ThreadReactContext.Provider value={own}>
      <SessionThread key={context.session.id} {...props} />
    </ThreadReactContext.Provider>
  );
}

function SessionThread({ label, welcome, suggestions, composer = {} }: ThreadProps): ReactNode {
  const { readOnly } = useThreadContext();
  const strings = useStrings();
  const { parts, attributes } = useThreadRoot<HTMLElement>();
  const { UserMessage, Composer, ConnectionBanner, Announcer } = parts.components;
  const threadStrings = strings.thread;
  const heading = useId();
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const pendingIds = usePendingMessages();
  const isEmpty = useTurnIds().length === 0 && pendingIds.length === 0;
  // Before a session is loaded, it is not known to be empty.
  const isLoaded = useSessionSelector(
    ({ state, connection }) => state.seq > 0 || connection.phase === "live",
  );
  const canWrite = composer !== null && !readOnly;
  const history = useHistory(scroller);
  const { isAtBottom, scrollToBottom } = useStickToBottom(scroller, content, !isEmpty);
  useScrollToSent(scrollToBottom);
  // Loads the chunks before the first answer needs them.
  useEffect(() => {
    void lazyMarkdown.load();
    void lazyCards.load();
  }, []);
  return (
    <ThreadPartsContext.Provider value={parts}>
      <section {...usePart("thread", "ts-root ts-thread")} {...attributes} aria-labelledby={heading}>
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
            {isEmpty && isLoaded && (canWrite || welcome !== undefined) && (
              <Welcome welcome={welcome} suggestions={canWrite ? suggestions : undefined} />
            )}
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
    </ThreadPartsContext.Provider>
  );
}

function NewestButton({ onClick }: { readonly onClick: () => void }): ReactNode {
  const strings = useStrings();
  return (
    <Button {...usePart("newest-button", "ts-newest")} aria-label={strings.thread.toNewest} onClick={onClick}>
      <Icon name="down" />
    </Button>
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
  const threadStrings = useStrings().thread;
  return (
    <div {...usePart("load-more", "ts-older")}>
      {error !== null && <span className="ts-fail">{threadStrings.loadEarlierFailed}</span>}
      <Button disabled={isLoading} onClick={loadMore}>
        {isLoading ? threadStrings.loadingEarlier : threadStrings.loadEarlier}
      </Button>
    </div>
  );
}

/**
 * Renders the turns in chunks. React visits every sibling of an updated element, so without chunks a delta would cost
 * more in a long thread.
 */
const TurnList = memo(function TurnList(): ReactNode {
  const store = useThreadStore();
  const turns = useTurnIds();
  const chunks = chunkTurns(turns, (id) => store.getTurn(id)?.number ?? 0);
  return chunks.map(({ key, ids }) => <TurnChunk key={key} ids={ids} />);
});

const TurnChunk = memo(
  function TurnChunk({ ids }: { readonly ids: readonly string[] }): ReactNode {
    const { Turn } = useThreadParts().components;
    return ids.map((turnId) => (
      <ErrorBoundary key={turnId}>
        <Turn turnId={turnId} />
      </ErrorBoundary>
    ));
  },
  (entry, other) => isSameList(entry.ids, other.ids),
);
