/** `useSharingStrings` returns the strings of the sharing components in the language of the page. */
import { useThreadContext } from "../context.ts";
import { resolveSharingStrings, type SharingStrings } from "../strings/sharing.ts";

export function useSharingStrings(): SharingStrings {
  return resolveSharingStrings(useThreadContext().strings);
}
