/**
 * `lazyCards` are the parts that a thread loads after its first render: cards, artifacts, and what the user sees only
 * after a press. `lazyRequests` are the cards of forms and payments, which it loads when it first has one.
 * Invariant: this is the only module that imports `cards-chunk.ts` and `requests-chunk.ts`, and only dynamically.
 */
import { createLazyParts } from "../lazy-parts.tsx";

export const lazyCards = createLazyParts(() => import("./cards-chunk.ts"));
export const lazyRequests = createLazyParts(() => import("./requests-chunk.ts"));
