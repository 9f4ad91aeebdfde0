/**
 * A whole conversation: turns, what waits, the connection, the composer, and the voice for screen readers. The log itself
 * is silent (`aria-live` off): the announcer speaks for it.
 */
import { memo, type ReactNode, type RefObject, useEffect, useId, useRef } from "react";
import { isSameList, chunkTurns } from "@turnstream/client/view";
import type { ComposerProps } from "../components.ts";
import { markdown } from "../content/text-block.tsx";
import { useShared } from "../context.ts";
import { cards } from "../default-components.ts";
import { useOlder } from "../hooks/use-history.ts";
import { usePendingMessages } from "../hooks/use-message.ts";
import { useView } from "../hooks/use-session-selector.ts";
import { useFollow } from "../hooks/use-stick-to-bottom.ts";
import { useTurnIds } from "../hooks/use-turn.ts";
import { Boundary } from "../ui/error-boundary.tsx";
import { Icon } from "../ui/icons.tsx";

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

/**
 * The turns of a thread, in portions: React looks at every sibling of what it draws, also where nothing has changed, so that
 * a word would cost more in a long thread than in a short one.
 */
export const TurnList = memo(function TurnList(): ReactNode {
  const { store } = useShared();
  const turns = useTurnIds();
  const portions = chunkTurns(turns, (id) => store.getTurn(id)?.number ?? 0);
  return portions.map(({ key, ids }) => <TurnPortion key={key} ids={ids} />);
});

const TurnPortion = memo(
  function TurnPortion({ ids }: { readonly ids: readonly string[] }): ReactNode {
    const { Turn } = useShared().components;
    return ids.map((turn) => (
      <Boundary key={turn}>
        <Turn turn={turn} />
      </Boundary>
    ));
  },
  (one, other) => isSameList(one.ids, other.ids),
);

/** Tells the styles how much of the window an on-screen keyboard covers (`--ts-keyboard`), so that the composer stays above it. */
export function useKeyboardInset(root: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const viewport = globalThis.visualViewport ?? null;
    const element = root.current;
    if (viewport === null || element === null) return undefined;
    const onChange = (): void => {
      // A page that is zoomed in has a small viewport too, and no keyboard.
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
