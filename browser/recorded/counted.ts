/** Parts that count how often they are drawn. Each is called as a function, so that its hooks draw the counter anew too. */
import { type Components, DEFAULT_COMPONENTS } from "@turnstream/react";
import type { ComponentType, ReactNode } from "react";

type Props = Readonly<Record<string, string | number | undefined>>;

/** @param onDraw hears of every drawing: the part, and what it was told to draw */
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

/** Of a part that React remembers (`memo`), what it calls. */
function functionOf(part: ComponentType<Props>): (props: Props) => ReactNode {
  return ("type" in part ? part.type : part) as (props: Props) => ReactNode;
}
