/**
 * `StepGroup` shows a group: consecutive blocks under one header (requirement U04). A running group is expanded and
 * shows its newest three entries under a shimmering header. After its end it collapses under its summary; expanded
 * again, it shows all entries.
 * Invariant: entries that need the user, and those with a component of the app, stay visible in both cases. They keep
 * their state, because they stay at the same place of the tree.
 *
 *   running ──▶ ending ──300 ms──▶ collapsed     the user's click overrides this
 */
import { type ReactNode, type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { LayoutGroup, LayoutBlock } from "@turnstream/client/view";
import type { GroupProps } from "../components.ts";
import { useThreadContext } from "../context.ts";
import { formatDuration } from "../format.ts";
import { useExpanded } from "../hooks/use-expanded.ts";
import { useStoreSelector } from "../hooks/use-session-selector.ts";
import { useGroup } from "../hooks/use-turn.ts";
import { findOwn } from "../own-components.ts";
import { Disclosure } from "../ui/disclosure.tsx";
import { Icon } from "../ui/icons.tsx";
import { TurnItem } from "./turn-items.tsx";
import { usePart } from "../parts.tsx";

const RUNNING_ITEMS = 3;
const FOLD_AFTER_MS = 300;

export function StepGroup({ turnId, blockIndex }: GroupProps): ReactNode {
  const { strings } = useThreadContext();
  const group = useGroup(turnId, blockIndex);
  const isRunning = group?.isRunning ?? false;
  const [isExpanded, toggle] = useExpanded(turnId, blockIndex, useExpandedWhileRunning(isRunning));
  const pinned = usePinned(turnId, group?.blocks ?? NO_BLOCKS);
  const root = usePart("group", "ts-group-frame");
  if (group === null) return null;
  const { blocks } = group;
  const newest = isRunning ? blocks.length - RUNNING_ITEMS : 0;
  const visible = blocks.filter((_, n) => pinned[n] === "1" || (isExpanded && n >= newest));
  return (
    <div {...root} data-running={isRunning || undefined}>
      <Disclosure
        className="ts-group"
        isExpanded={isExpanded}
        onToggle={toggle}
        head={<GroupHead group={group} />}
        hasPinnedContent={visible.length > 0}
      >
        <GroupItems turnId={turnId} items={visible} isSliding={isExpanded && isRunning} />
        {isExpanded && group.isDone && (
          <div className="ts-group-done">
            <Icon name="check" />
            {strings.thread.done}
          </div>
        )}
      </Disclosure>
    </div>
  );
}

const NO_BLOCKS: readonly LayoutBlock[] = [];

/** Returns "1" for each block that stays visible in a collapsed group, and "0" for each other one. */
function usePinned(turnId: string, blocks: readonly LayoutBlock[]): string {
  const { tools, artifacts } = useThreadContext();
  return useStoreSelector(`turn:${turnId}`, (store) => {
    const isPinned = ({ needsUser, blockIndex }: LayoutBlock): boolean => {
      if (needsUser) return true;
      const item = store.getToolCall(turnId, blockIndex);
      return (
        item !== null &&
        (findOwn(tools, item.call.name) ?? findOwn(artifacts, item.artifact?.type ?? "")) !== undefined
      );
    };
    return blocks.map((block) => (isPinned(block) ? "1" : "0")).join("");
  });
}

/** Expanded while the group runs and shortly after. Collapsed from the start if it had ended before it was shown. */
function useExpandedWhileRunning(isRunning: boolean): boolean {
  const [isStill, setStill] = useState(isRunning);
  useEffect(() => {
    if (isRunning) {
      setStill(true);
      return undefined;
    }
    const timer = setTimeout(() => setStill(false), FOLD_AFTER_MS);
    return () => clearTimeout(timer);
  }, [isRunning]);
  return isRunning || isStill;
}

function GroupHead({ group }: { readonly group: LayoutGroup }): ReactNode {
  const { strings } = useThreadContext();
  const { thread } = strings;
  const failed = group.blocks.filter(({ hasFailed }) => hasFailed).length;
  const count = thread.steps(group.blocks.length);
  const took = group.durationMs === null ? null : formatDuration(strings, group.durationMs);
  const meta = group.isRunning ? thread.running : [count, took].filter((part) => part !== null).join(" · ");
  return (
    <>
      <span className={group.isRunning ? "ts-group-title ts-shimmer" : "ts-group-title"} dir="auto">
        {group.header || thread.working}
      </span>
      {failed > 0 && (
        <span className="ts-group-failed">
          <span className="ts-dot" data-dot="error" />
          {thread.failedSteps(failed)}
        </span>
      )}
      <span className="ts-meta">{meta}</span>
    </>
  );
}

interface GroupItemsProps {
  readonly turnId: string;
  readonly items: readonly LayoutBlock[];
  readonly isSliding: boolean;
}

function GroupItems({ turnId, items, isSliding }: GroupItemsProps): ReactNode {
  const list = useRef<HTMLUListElement>(null);
  useSlideUp(list, isSliding ? items[0]?.blockIndex : undefined);
  return (
    <ul className="ts-steps" ref={list}>
      {items.map(({ component, blockIndex }) => (
        <li key={blockIndex} className="ts-steps-item">
          <TurnItem turnId={turnId} blockIndex={blockIndex} component={component} />
        </li>
      ))}
    </ul>
  );
}

/**
 * Slides the entries of a running group up when an older entry leaves, instead of a jump. They are placed at their new
 * position and animated from the old one. Uses only transforms, and nothing if the user prefers reduced motion.
 */
const SLIDE_ANIMATION = { duration: 220, easing: "cubic-bezier(0.2, 0, 0, 1)" };

/** @param first the first item of the list; a change means that the others moved up; undefined: no animation */
function useSlideUp(list: RefObject<HTMLElement | null>, first: number | undefined): void {
  const was = useRef<{ first: number | undefined; step: number }>({ first, step: 0 });
  useLayoutEffect(() => {
    const element = list.current;
    if (element === null) return;
    const before = was.current;
    const head = element.firstElementChild;
    const moved = before.first !== undefined && first !== undefined && before.first !== first;
    // The others moved by the height of the removed item.
    const step = before.step;
    was.current = { first, step: head?.getBoundingClientRect().height ?? 0 };
    if (!moved || step === 0 || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    for (const child of element.children)
      child.animate([{ transform: `translateY(${step}px)` }, { transform: "none" }], SLIDE_ANIMATION);
  });
}
