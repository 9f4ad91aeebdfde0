/**
 * `StepGroup` shows a group: consecutive blocks under one header (requirement U04). A running group is expanded and
 * shows its newest three entries under a shimmering header. After its end it collapses under its summary; expanded
 * again, it shows all entries. A header that would only repeat the label of its one entry is left out.
 * Invariant: entries that need the user, and those with a component of the app, stay visible in both cases. They keep
 * their state, because they stay at the same place of the tree. Artifacts are below the group, so they are visible too.
 *
 *   running ──▶ ending ──300 ms──▶ collapsed     the user's click overrides this
 */
import { type ReactNode, type RefObject, useRef } from "react";
import type { LayoutGroup, LayoutBlock } from "@turnstream/client/view";
import type { GroupProps } from "../components.ts";
import { CallPlaceContext, useThreadContext } from "../context.ts";
import { formatDuration } from "../format.ts";
import { useExpanded, useWhile } from "../hooks/use-expanded.ts";
import { useIsomorphicLayoutEffect } from "../hooks/use-isomorphic-layout-effect.ts";
import { useStoreSelector } from "../hooks/stores.ts";
import { useGroup } from "../hooks/use-turn.ts";
import { findOwn } from "../own-components.ts";
import { Disclosure } from "../ui/disclosure.tsx";
import { Icon } from "../ui/icons.tsx";
import { CallArtifacts } from "./tool-call.tsx";
import { listArtifacts } from "./call-rules.ts";
import { TurnItem } from "./turn-items.tsx";
import { usePart } from "../parts.tsx";
import { useStrings } from "../hooks/use-strings.ts";

const RUNNING_ITEMS = 3;

export function StepGroup({ turnId, blockIndex }: GroupProps): ReactNode {
  const strings = useStrings();
  const group = useGroup(turnId, blockIndex);
  const isRunning = group?.isRunning ?? false;
  const isStill = useWhile(isRunning);
  // A group with one call gets its header at its end and collapses at once, so that it never shows its label twice.
  const opens = isRunning || (isStill && group !== null && countCalls(group) !== 1);
  const [isChosen, toggle] = useExpanded(turnId, blockIndex, opens);
  const marks = useMarks(turnId, group?.blocks ?? NO_BLOCKS);
  const root = usePart("group", "ts-group-frame");
  if (group === null) return null;
  const { blocks, hasHeader } = group;
  const isExpanded = isChosen || !hasHeader;
  const newest = isRunning ? blocks.length - RUNNING_ITEMS : 0;
  const visible = blocks.filter((_, n) => marks[n] === PINNED || (isExpanded && n >= newest));
  return (
    <>
      <div {...root} data-running={isRunning || undefined}>
        <Disclosure
          className="ts-group"
          isExpanded={isExpanded}
          onToggle={toggle}
          head={hasHeader ? <GroupHead group={group} /> : null}
          hasPinnedContent={visible.length > 0}
        >
          <GroupItems turnId={turnId} items={visible} isSliding={isExpanded && isRunning} />
          {isExpanded && hasHeader && group.isDone && (
            <div className="ts-group-done">
              <Icon name="check" />
              {strings.thread.done}
            </div>
          )}
        </Disclosure>
      </div>
      {blocks.map(
        (block, n) =>
          marks[n] !== NONE && (
            <CallArtifacts key={block.blockIndex} turnId={turnId} blockIndex={block.blockIndex} />
          ),
      )}
    </>
  );
}

function countCalls({ blocks }: LayoutGroup): number {
  return blocks.filter(({ component }) => component === "ToolCall").length;
}

const NO_BLOCKS: readonly LayoutBlock[] = [];
const NONE = "0";
const PINNED = "1";
const ARTIFACT = "2";

/** Returns one mark per block: whether it stays visible in a collapsed group, or else has an artifact. */
function useMarks(turnId: string, blocks: readonly LayoutBlock[]): string {
  const { tools } = useThreadContext();
  return useStoreSelector(`turn:${turnId}`, (store) => {
    const getMark = ({ needsUser, blockIndex }: LayoutBlock): string => {
      const item = store.getToolCall(turnId, blockIndex);
      if (needsUser || (item !== null && findOwn(tools, item.call.name) !== undefined)) return PINNED;
      return item !== null && listArtifacts(item).length > 0 ? ARTIFACT : NONE;
    };
    return blocks.map(getMark).join("");
  });
}

function GroupHead({ group }: { readonly group: LayoutGroup }): ReactNode {
  const strings = useStrings();
  const { thread } = strings;
  const { blocks, durationMs, isRunning, isDone } = group;
  const { pending, stopped, waiting } = thread.toolStatus;
  const failed = blocks.filter(({ hasFailed }) => hasFailed).length;
  const isWaiting = isRunning && blocks.some(({ needsUser }) => needsUser);
  const isWorking = isRunning && !isWaiting;
  const took = durationMs === null ? "" : formatDuration(strings, durationMs);
  const ended = [thread.steps(blocks.length), took, isDone ? "" : stopped];
  const meta = isWaiting ? waiting : isWorking ? pending : ended.filter((part) => part !== "").join(" · ");
  return (
    <span>
      <span className={isWorking ? "ts-group-title ts-shimmer" : "ts-group-title"} dir="auto">
        {group.header || thread.working}
      </span>{" "}
      {/* The movement of the title shows that it runs. */}
      <span className={isWorking ? "ts-sr" : "ts-meta"}>{meta}</span>
      {failed > 0 && (
        <span className="ts-meta ts-fail">
          <span className="ts-dot" data-dot="error" />
          {thread.failedSteps(failed)}
        </span>
      )}
    </span>
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
    <CallPlaceContext.Provider value="group">
      <ul className="ts-steps" ref={list}>
        {items.map(({ component, blockIndex }) => (
          <li key={blockIndex} className="ts-steps-item">
            <TurnItem turnId={turnId} blockIndex={blockIndex} component={component} />
          </li>
        ))}
      </ul>
    </CallPlaceContext.Provider>
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
  useIsomorphicLayoutEffect(() => {
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
