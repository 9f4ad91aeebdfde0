/** `STATES` lists every state of the gallery, in the order of the list. */
import { cardStates } from "./cards.ts";
import { chatStates } from "./chat.ts";
import { paymentPageStates } from "./payment-pages.ts";
import { sharingStates } from "./sharing.ts";
import type { GalleryState } from "./state.ts";
import { stepStates } from "./steps.ts";
import { threadStates } from "./threads.ts";

export const STATES: readonly GalleryState[] = [
  ...stepStates,
  ...cardStates,
  ...paymentPageStates,
  ...threadStates,
  ...sharingStates,
  ...chatStates,
];

export function findState(name: string): GalleryState | null {
  return STATES.find((state) => state.name === name) ?? null;
}

/** Returns the component of a state. */
export function componentOf({ name }: GalleryState): string {
  return name.slice(0, name.indexOf("/"));
}
