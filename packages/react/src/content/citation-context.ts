/** What the citations of a text refer to. Of one text, so that a new citation draws the chips and nothing else. */
import type { Annotation } from "@turnstream/protocol";
import { createContext } from "react";

export interface Citations {
  readonly turn: string;
  readonly annotations: readonly Annotation[];
  /** What is shown for each reference. */
  readonly numbers: ReadonlyMap<number, number>;
}

export const CitationContext = createContext<Citations | null>(null);
