/**
 * `Disclosure` is a button that expands and collapses the content below it.
 * Invariant: collapsed content is not in the DOM, so it is not rendered, unless the owner keeps the body. The button has `aria-expanded`, by which
 * `useStickToBottom` detects that the user expands something.
 */
import { type ReactNode, useId } from "react";
import { Icon } from "./icons.tsx";
import { type PartName, usePart } from "../parts.tsx";

export interface DisclosureProps {
  readonly className: string;
  /** The name of the part that it is. */
  readonly part?: PartName;
  readonly isExpanded: boolean;
  readonly onToggle: () => void;
  /** The content of the button, after the arrow. */
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
  return (
    <div {...usePart(part, className)} data-open={isExpanded || undefined}>
      <button
        type="button"
        className={`ts-toggle ${className}-head`}
        aria-expanded={isExpanded}
        aria-controls={isExpanded ? body : undefined}
        onClick={onToggle}
      >
        {hasArrow && <Icon name="chevron" />}
        {head}
      </button>
      {(isExpanded || hasPinnedContent) && (
        <div className={`${className}-body`} id={body}>
          {children}
        </div>
      )}
    </div>
  );
}
