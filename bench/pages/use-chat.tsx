/**
 * `useChatPlain` and `useChatMemo` render `useChat` with react-markdown: as in most templates, and with the
 * optimizations that their guides recommend for long threads.
 */
import type { UIMessage } from "ai";
import { memo } from "react";
import ReactMarkdown from "react-markdown";
import remarkGfm from "remark-gfm";
import type { CreateTarget } from "./target.ts";
import { Parts } from "./ui-parts.tsx";
import { createUiTarget } from "./ui-target.tsx";

const PLUGINS = [remarkGfm];
const THROTTLE_MS = 50;

function Markdown({ text }: { readonly text: string }) {
  return <ReactMarkdown remarkPlugins={PLUGINS}>{text}</ReactMarkdown>;
}

function Message({ message }: { readonly message: UIMessage }) {
  return <Parts message={message} Markdown={Markdown} />;
}

const MemoMessage = memo(Message);

export const useChatPlain: CreateTarget = (streamed) => createUiTarget(streamed, { Message });

export const useChatMemo: CreateTarget = (streamed) =>
  createUiTarget(streamed, { Message: MemoMessage, throttle: THROTTLE_MS });
