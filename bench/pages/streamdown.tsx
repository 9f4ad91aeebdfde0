/** `streamdown` renders `useChat` with Streamdown and memoized messages. */
import type { UIMessage } from "ai";
import { memo } from "react";
import { Streamdown } from "streamdown";
import type { CreateTarget } from "./target.ts";
import { Parts } from "./ui-parts.tsx";
import { createUiTarget } from "./ui-target.tsx";

function Markdown({ text }: { readonly text: string }) {
  return <Streamdown>{text}</Streamdown>;
}

const Message = memo(function Message({ message }: { readonly message: UIMessage }) {
  return <Parts message={message} Markdown={Markdown} />;
});

export const streamdown: CreateTarget = (streamed) => createUiTarget(streamed, { Message });
