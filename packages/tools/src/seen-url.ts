/**
 * `isSeenUrl` decides whether a URL occurs in the conversation: in a message of the user, a file or a tool result. Pure,
 * besides `listConversation`, which reads the run.
 *
 * Invariant: a URL that the model wrote first does not count, even if a tool result repeats it later. Otherwise a
 * manipulated model could send data of the conversation to a server, as part of a URL. Summaries and the tasks of
 * sub-agents are text of a model. The whole URL must occur: a prefix of a longer one does not count.
 */
import { type PromptMessage, type RunContext, SUMMARY_INTRO } from "@turnstream/server/internal";

interface Utterance {
  readonly text: string;
  readonly isModel: boolean;
}

/** Returns the texts before the current step, oldest first, including those of the calling agents. */
export function listConversation({ inherited = [], messages = [], depth }: RunContext): Utterance[] {
  const own = messages.flatMap((message, n) => {
    // The task of a sub-agent is a message, but a model wrote it.
    const isTask = depth > 0 && n === 0;
    return textsIn(message.content).map((text) => ({ text, isModel: isTask || isOfModel(message, text) }));
  });
  return [...inherited.flatMap((scope) => listConversation(scope)), ...own];
}

function isOfModel({ role }: PromptMessage, text: string): boolean {
  return role === "assistant" || text.startsWith(SUMMARY_INTRO);
}

/** Returns all texts in a value, in order. Bytes of files contain none. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return [];
  return Object.values(value).flatMap(textsIn);
}

export function isSeenUrl(url: string, conversation: readonly Utterance[]): boolean {
  const spellings = spellingsOf(url);
  const first = conversation.find(({ text }) => spellings.some((spelling) => occurs(spelling, text)));
  return first !== undefined && !first.isModel;
}

/** Returns the usual spellings of a URL: with or without its scheme, and with or without a last slash. */
function spellingsOf(url: string): string[] {
  const parsed = URL.parse(url);
  if (parsed === null) return [];
  // Servers don't see the fragment.
  const plain = url.split("#", 1)[0] ?? "";
  parsed.hash = "";
  const bare = [plain, parsed.href].map((text) => text.replace(/^https?:\/\//i, ""));
  const both = bare.flatMap((text) => (text.endsWith("/") ? [text, text.slice(0, -1)] : [text, `${text}/`]));
  return [...new Set(both)];
}

/** Characters that continue a URL. */
const CONTINUES = /^(?:[\w%&=+@/~-]|[.?:!$*,;][\w%&=+@/~-])/;
/** Characters before a host that make it a part of another one, or of an address with a user name. */
const PRECEDES = /(?:^|[^\w.@%~-])(?:https?:\/\/)?$/i;

/** `https://` has 8 characters, and one more decides. */
const LOOK_BACK = 9;
const LOOK_AHEAD = 2;

function occurs(spelling: string, text: string): boolean {
  for (let at = text.indexOf(spelling); at >= 0; at = text.indexOf(spelling, at + 1)) {
    const end = at + spelling.length;
    if (CONTINUES.test(text.slice(end, end + LOOK_AHEAD))) continue;
    if (PRECEDES.test(text.slice(Math.max(0, at - LOOK_BACK), at))) return true;
  }
  return false;
}
