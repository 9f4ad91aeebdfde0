/**
 * `@turnstream/react/ui`: the small parts of which our components consist, for components of an app inside a thread.
 * Invariant: this is a subpath of its own, so a page loads it only if it imports it. `SafeLink` and `SafeImage` apply
 * the link policy of the provider to every address.
 */
"use client";

export { CodeBlock, type CodeBlockProps } from "./code-block.tsx";
export { Disclosure, type DisclosureProps } from "./disclosure.tsx";
export { ErrorBoundary, type ErrorBoundaryProps } from "./error-boundary.tsx";
export { Icon, type IconProps } from "./icons.tsx";
export { RetryNotice, type RetryNoticeProps } from "./retry-notice.tsx";
export { SafeImage, type SafeImageProps } from "./safe-image.tsx";
export { SafeLink, type SafeLinkProps } from "./safe-link.tsx";
export { StatusDot, type StatusDotProps } from "./status-dot.tsx";
export { visibleText } from "../visible-text.ts";
