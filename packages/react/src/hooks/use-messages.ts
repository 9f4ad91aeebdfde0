/** `useMessages` returns the texts of errors in the language of the page. */
import { useThreadContext } from "../context.ts";
import { type Messages, resolveMessages } from "../strings/messages.ts";

export function useMessages(): Messages {
  return resolveMessages(useThreadContext().strings);
}
