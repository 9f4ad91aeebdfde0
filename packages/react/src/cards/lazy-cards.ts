/**
 * `lazyCards` are the parts that a thread loads after its first render: cards, artifacts, and what the user sees only
 * after a press.
 * Invariant: this is the only module that imports `cards-chunk.ts`, and only dynamically.
 */
import { createLazyParts } from "../lazy-parts.tsx";

export const lazyCards = createLazyParts(() => import("./cards-chunk.ts"));
