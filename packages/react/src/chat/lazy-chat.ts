/**
 * `Chat` is a whole chat: the list of the user's sessions next to the thread of the open one.
 * Invariant: its code is in a chunk of its own that loads when a `Chat` first renders, so a page that has only a thread
 * doesn't load it. A server renders nothing for it, because the sessions are those of the signed-in user.
 */
import type { ComponentType } from "react";
import { lazyPart } from "../lazy-part.tsx";
import { createLazyParts } from "../lazy-parts.ts";
import type { ChatProps } from "./chat-props.ts";

export const Chat: ComponentType<ChatProps> = lazyPart(
  createLazyParts(() => import("./chat-chunk.ts")),
  (parts) => parts.ChatView,
);
