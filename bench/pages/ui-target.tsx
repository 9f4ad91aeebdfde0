/** `createUiTarget` builds a target on `useChat`: its transport, its earlier turns, and how it requests the answer. */
import { useChat } from "@ai-sdk/react";
import { foldAll } from "@turnstream/protocol";
import type { UIMessage } from "ai";
import { type ComponentType, useEffect } from "react";
import { toUiChunks } from "../peers/ui-chunks.ts";
import type { Streamed } from "../react/turn.ts";
import type { BenchTarget } from "./target.ts";
import { toUiMessages } from "./ui-messages.ts";
import { UiWire } from "./ui-wire.ts";

export interface UiOptions {
  readonly Message: ComponentType<{ readonly message: UIMessage }>;
  readonly throttle?: number;
}

export function createUiTarget({ before, turn }: Streamed, { Message, throttle }: UiOptions): BenchTarget {
  const wire = new UiWire();
  const earlier = toUiMessages(foldAll(before));
  const asked = turn.find((event) => event.type === "message.add")?.text ?? "";
  let send: (() => void) | null = null;

  function Chat() {
    const { messages, sendMessage } = useChat({
      transport: wire,
      messages: earlier,
      ...(throttle === undefined ? {} : { throttle }),
    });
    useEffect(() => {
      send = () => void sendMessage({ text: asked });
    }, [sendMessage]);
    return (
      <div className="peer">
        <div>
          {messages.map((message) => (
            <Message key={message.id} message={message} />
          ))}
        </div>
      </div>
    );
  }

  return {
    node: <Chat />,
    frames: toUiChunks(turn).map((chunk) => JSON.stringify(chunk)),
    isReady: () => send !== null,
    begin: () => send?.(),
    receive: (frame) => wire.receive(frame),
  };
}
