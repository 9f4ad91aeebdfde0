/** `useChat` with Streamdown, each message memoised. */
import type { UIMessage } from "ai";
import { memo } from "react";
import { Streamdown } from "streamdown";
import type { MakeSubject } from "./target.ts";
import { Parts } from "./ui-parts.tsx";
import { uiSubject } from "./ui-target.tsx";

function Markdown({ text }: { readonly text: string }) {
  return <Streamdown>{text}</Streamdown>;
}

const Message = memo(function Message({ message }: { readonly message: UIMessage }) {
  return <Parts message={message} Markdown={Markdown} />;
});

export const streamdown: MakeSubject = (streamed) => uiSubject(streamed, { Message });
