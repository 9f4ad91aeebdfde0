/**
 * `Chat` is a whole chat: the list of the user's sessions next to the thread of the open one.
 * Invariant: its code is in a chunk of its own that loads when a `Chat` first renders, so a page that has only a thread
 * doesn't load it. A server renders nothing for it, because the sessions are those of the signed-in user.
 */
import { type ReactNode, useSyncExternalStore } from "react";
import { createLazyParts, type FallbackProps } from "../lazy-parts.tsx";
import { resolveMessages } from "../strings/messages.ts";
import { RetryNotice } from "../ui/retry-notice.tsx";
import type { ChatProps } from "./chat-chunk.tsx";

const { part } = createLazyParts(() => import("./chat-chunk.tsx"));
const LazyChat = part(({ ChatView }) => ChatView, ChatFallback);

const noSubscription = () => () => {};

export function Chat(props: ChatProps): ReactNode {
  const isPage = useSyncExternalStore(
    noSubscription,
    () => true,
    () => false,
  );
  return isPage ? <LazyChat {...props} /> : null;
}

function ChatFallback({ hasFailed, onRetry, theme, ...props }: FallbackProps<ChatProps>): ReactNode {
  if (!hasFailed) return null;
  const strings = resolveMessages(props.strings);
  return (
    <div className="ts-root" lang={strings.locale} data-theme={theme}>
      <RetryNotice strings={strings} text={strings.thread.loadFailed} onRetry={onRetry} />
    </div>
  );
}
