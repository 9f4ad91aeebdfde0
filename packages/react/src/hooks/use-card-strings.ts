/** `useCardStrings` returns the strings of cards in the language of the page. They load with the cards. */
import { useThreadContext } from "../context.ts";
import { type CardStrings, resolveCardStrings } from "../strings/cards.ts";

export function useCardStrings(): CardStrings {
  return resolveCardStrings(useThreadContext().strings);
}
