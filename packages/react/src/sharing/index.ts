/**
 * `@turnstream/react/sharing`: a dialog that shares a session with links, and the page that a link opens.
 * Invariant: this is a subpath of its own, so a page loads it only if it imports it.
 */
"use client";

export { ShareDialog, type ShareDialogProps } from "./share-dialog.tsx";
export { SharedThread, type SharedThreadProps } from "./shared-thread.tsx";
export { type ShareLinks, type SharingCalls, useShareLinks } from "./use-share-links.ts";
