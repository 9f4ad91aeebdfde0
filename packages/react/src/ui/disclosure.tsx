/**
 * `Disclosure` is a button that expands and collapses the content below it.
 * Invariant: collapsed content is not in the DOM, so it is not rendered, unless the owner keeps the body. The button has
 * `aria-expanded`, by which `useStickToBottom` detects that the user expands something.
 */
import { type ReactNode, useId } from "react";
import { Icon } from "./icons.tsx";
import type { PartName } from "../components.ts";
import { usePart } from "../parts.tsx";
import { Button } from "./button.tsx";

export interface DisclosureProps {
  readonly className: string;
  /** The name of the part that it is. */
  readonly part?: PartName;
  readonly isExpanded: boolean;
  /** null: the head is a line of text instead of a button. */
  readonly onToggle: (() => void) | null;
  /** The content of the button, after the arrow. null: no button. */
  readonly head: ReactNode;
  readonly hasArrow?: boolean;
  /** Whether the body has content that stays visible when it is collapsed. The owner leaves out the rest. */
  readonly hasPinnedContent?: boolean;
  readonly children: ReactNode;
}

export function Disclosure(props: DisclosureProps): ReactNode {
  const {
    className,
    part,
    isExpanded,
    onToggle,
    head,
    hasArrow = true,
    hasPinnedContent = false,
    children,
  } = props;
  const body = useId();
  const root = usePart(part ?? "group", className);
  return (
    <div {...(part === undefined ? { className } : root)} data-open={isExpanded || undefined}>
      {head !== null &&
        (onToggle === null ? (
          <div className={`ts-line ${className}-head`}>{head}</div>
        ) : (
          <Button
            className={`ts-line ts-toggle ${className}-head`}
            aria-expanded={isExpanded}
            aria-controls={isExpanded ? body : undefined}
            onClick={onToggle}
          >
            {hasArrow && <Icon name="chevron" />}
            {head}
          </Button>
        ))}
      {(isExpanded || hasPinnedContent) && (
        <div className={`${className}-body`} id={body}>
          {children}
        </div>
      )}
    </div>
  );
}
