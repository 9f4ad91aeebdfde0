/**
 * `usePart` marks the element of a part: its name as `data-part`, and the class that the app gives it. `Slot` renders
 * what an app adds at a place of the thread.
 * Invariant: the names of parts are public, listed in docs/react-parts.md and checked by a test. A part without a
 * provider above it has its own class only.
 */
import { type ComponentProps, type ComponentType, type ReactNode, useContext } from "react";
import type { ClassNames, PartName, Slots } from "./components.ts";
import { ThreadReactContext } from "./context.ts";
import { ErrorBoundary } from "./ui/error-boundary.tsx";

export interface Part {
  readonly className: string;
  readonly "data-part": PartName;
}

/** @param ownClass the class of our styles */
export function usePart(name: PartName, ownClass: string): Part {
  return markPart(useContext(ThreadReactContext)?.classNames, name, ownClass);
}

/** For a part outside of a thread. */
export function markPart(classNames: ClassNames | undefined, name: PartName, ownClass: string): Part {
  const added = classNames?.[name];
  return { className: added === undefined ? ownClass : `${ownClass} ${added}`, "data-part": name };
}

/** The name of a slot, and the props of its component. */
type SlotProps = {
  [Name in keyof Slots]: { readonly name: Name } & ComponentProps<Slots[Name]>;
}[keyof Slots];

export function Slot({ name, ...props }: SlotProps): ReactNode {
  const Own = useContext(ThreadReactContext)?.slots[name] as ComponentType<object> | undefined;
  if (Own === undefined) return null;
  return (
    <ErrorBoundary>
      <Own {...props} />
    </ErrorBoundary>
  );
}
