/**
 * Exports the cards of forms and payments as a chunk that is loaded when a thread first has one of them.
 * Invariant: only `lazy-cards.ts` imports this file, and only dynamically. Most threads never need it.
 */
export { FormCard } from "./form-card.tsx";
export { PaymentCard } from "./payment-card.tsx";
