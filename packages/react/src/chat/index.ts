/**
 * `@turnstream/react/chat`: the parts of `Chat`, for a page with its own layout.
 * Invariant: this is a subpath of its own, so a page loads it only if it imports it.
 */
"use client";

export { SessionList, type SessionListProps } from "./session-list.tsx";
export type { SessionCalls, SessionListCommands } from "./session-list-store.ts";
export { type ChatSessionOptions, useChatSession } from "./use-chat-session.ts";
export { useAgents } from "./use-agents.ts";
export { type SessionRoute, useSessionRoute } from "./use-session-route.ts";
export { type Sessions, useSessions } from "./session-list-store.ts";
