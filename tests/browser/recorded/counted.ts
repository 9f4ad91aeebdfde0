/**
 * `countedComponents` wraps components to count how often they render.
 *
 * Invariant: each component is called as a function, so that a change of its hooks also re-renders the counter.
 */
import { type Components, DEFAULT_COMPONENTS } from "@turnstream/react";
import type { ComponentType, ReactNode } from "react";

type Props = Readonly<Record<string, string | number | undefined>>;

/** @param onDraw called for every render, with the component and its index or id */
export function countedComponents(onDraw: (what: string) => void): Components {
  const counted = Object.entries(DEFAULT_COMPONENTS).map(([name, part]) => {
    const draw = functionOf(part as ComponentType<Props>);
    const Counted = (props: Props): ReactNode => {
      onDraw(`${name} ${props["blockIndex"] ?? props["turnId"] ?? props["messageId"] ?? ""}`.trim());
      return draw(props);
    };
    return [name, Counted];
  });
  return Object.fromEntries(counted) as never;
}

/** Returns the function inside a component that is wrapped in `memo`. */
function functionOf(part: ComponentType<Props>): (props: Props) => ReactNode {
  return ("type" in part ? part.type : part) as (props: Props) => ReactNode;
}
