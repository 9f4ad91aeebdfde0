/** `useStrings` returns the strings of a thread in the language of the page. */
import { useThreadContext } from "../context.ts";
import { resolveStrings, type ThreadStrings } from "../strings/thread.ts";

export function useStrings(): ThreadStrings {
  return resolveStrings(useThreadContext().strings);
}
