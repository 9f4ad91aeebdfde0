/**
 * Steps as one (U04). While it runs: open, a shimmering header, the newest three steps. When it ends it folds up after a
 * moment under its summary; opened again it shows all. What waits for a person stays in sight either way.
 *
 *   running ──▶ ending ──300 ms──▶ folded        a person's click wins from then on
 */
import { type ReactNode, type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { LayoutGroup, LayoutBlock } from "@turnstream/client/view";
import type { GroupProps } from "../components.ts";
import { useShared } from "../context.ts";
import { formatDuration, formatNumber } from "../format.ts";
import { useOpen } from "../hooks/use-expanded.ts";
import { useGroup } from "../hooks/use-turn.ts";
import { Disclosure } from "../ui/disclosure.tsx";
import { Icon } from "../ui/icons.tsx";
import { Entry } from "./turn-items.tsx";

const NEWEST = 3;
const FOLD_AFTER_MS = 300;

export function StepGroup({ turn, index }: GroupProps): ReactNode {
  const { strings } = useShared();
  const group = useGroup(turn, index);
  const isRunning = group?.isRunning ?? false;
  const [isOpen, toggle] = useOpen(turn, index, useStaysOpen(isRunning));
  if (group === null) return null;
  const { blocks } = group;
  const asking = blocks.filter(({ needsUser }) => needsUser);
  const shown = isRunning
    ? blocks.filter((step, n) => step.needsUser || n >= blocks.length - NEWEST)
    : blocks;
  return (
    <div className="ts-group-frame" data-running={isRunning || undefined}>
      <Disclosure className="ts-group" isOpen={isOpen} onToggle={toggle} head={<GroupHead group={group} />}>
        <Steps turn={turn} steps={shown} isSliding={isRunning} />
        {group.isDone && (
          <div className="ts-group-done">
            <Icon name="check" />
            {strings.thread.done}
          </div>
        )}
      </Disclosure>
      {!isOpen && asking.length > 0 && <Steps turn={turn} steps={asking} isSliding={false} />}
    </div>
  );
}

/** Open while it runs and a moment longer; shut from the start when it had ended before it was seen. */
function useStaysOpen(isRunning: boolean): boolean {
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
  const { strings } = useShared();
  const { thread } = strings;
  const failed = group.blocks.filter(({ hasFailed }) => hasFailed).length;
  const count = thread.steps(formatNumber(strings, group.blocks.length));
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
          {thread.failedSteps(formatNumber(strings, failed))}
        </span>
      )}
      <span className="ts-meta">{meta}</span>
    </>
  );
}

interface StepsProps {
  readonly turn: string;
  readonly steps: readonly LayoutBlock[];
  readonly isSliding: boolean;
}

function Steps({ turn, steps, isSliding }: StepsProps): ReactNode {
  const list = useRef<HTMLUListElement>(null);
  useSliding(list, isSliding ? steps[0]?.blockIndex : undefined);
  return (
    <ul className="ts-steps" ref={list}>
      {steps.map(({ component, blockIndex }) => (
        <li key={blockIndex} className="ts-steps-item">
          <Entry turn={turn} index={blockIndex} part={component} />
        </li>
      ))}
    </ul>
  );
}

/**
 * Lets the steps of a running group slide up when an older one leaves, instead of jumping: they are drawn where they will
 * be, and moved back to where they were for a moment. By transforms only, and not at all for who wants less motion.
 */
const SLIDE = { duration: 220, easing: "cubic-bezier(0.2, 0, 0, 1)" };

/** @param first what stands first in the list; when it changes, the rest has moved up; undefined: nothing slides */
export function useSliding(list: RefObject<HTMLElement | null>, first: number | undefined): void {
  const was = useRef<{ first: number | undefined; step: number }>({ first, step: 0 });
  useLayoutEffect(() => {
    const element = list.current;
    if (element === null) return;
    const before = was.current;
    const head = element.firstElementChild;
    const moved = before.first !== undefined && first !== undefined && before.first !== first;
    // The height of what has left is what the others have moved by.
    const step = before.step;
    was.current = { first, step: head?.getBoundingClientRect().height ?? 0 };
    if (!moved || step === 0 || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    for (const child of element.children)
      child.animate([{ transform: `translateY(${step}px)` }, { transform: "none" }], SLIDE);
  });
}
