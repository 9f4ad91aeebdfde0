/**
 * `chatStrings` returns the strings of the chat in the language of the page.
 * Invariant: what a catalog leaves out is English. The English ones are not part of `en`, so that a page that has only a
 * thread doesn't load them.
 */
import { chat as enChat } from "../strings/en/chat.ts";
import { extendStrings } from "../strings/extend-strings.ts";
import type { ChatStrings, Strings } from "../strings/strings.ts";

export { enChat };

export function chatStrings(strings: Strings): ChatStrings {
  return extendStrings(enChat, strings.chat);
}
