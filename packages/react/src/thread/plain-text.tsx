/** Text as it stands, where no richer part is there. */
import type { ReactNode } from "react";
import type { BlockProps } from "../components.ts";
import { useBlock } from "../hooks/use-block.ts";

export function PlainText({ turn, index }: BlockProps): ReactNode {
  const block = useBlock(turn, index, "text");
  return block === null ? null : <div className="ts-text ts-plain">{block.text}</div>;
}
