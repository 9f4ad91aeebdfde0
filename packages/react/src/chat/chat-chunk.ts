/**
 * The chunk of the chat, loaded when a `Chat` first renders.
 * Invariant: only `lazy-chat.ts` imports it, and only dynamically.
 */
export { ChatView } from "./chat-view.tsx";
