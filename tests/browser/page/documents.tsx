/**
 * The page of clients that know only a document: React shows the blocks of 000 from a socket, and plain JavaScript reads
 * the event stream of 002 that answers a message. `?url=` is the gateway, `?session=` the session.
 */
import { useCallback, useEffect, useRef, useState } from "react";
import { createRoot } from "react-dom/client";
import { type BlockFrame, type ShownBlock, useBlockProcessor } from "./use-block-processor.ts";

const query = new URLSearchParams(location.search);
const base = `${query.get("url") ?? location.origin}/api/v1`;
const session = query.get("session") ?? "";
const headers = {
  authorization: `Bearer ${window.turnstreamToken ?? ""}`,
  "content-type": "application/json",
};

/** What the reader of 002 has received, for the test. */
export interface DocumentsView {
  isConnected: boolean;
  output: string;
  finalText: string | null;
  forms: string[];
  errors: string[];
  isDone: boolean;
}

const view: DocumentsView = {
  isConnected: false,
  output: "",
  finalText: null,
  forms: [],
  errors: [],
  isDone: false,
};

declare global {
  interface Window {
    documents?: { readonly view: DocumentsView; ask(chat: number, body: object): Promise<void> };
    /** The code of the hook that 000 prints. A test that has the document runs it in place of ours. */
    printedHook?: string;
  }
}

/** The instructions of 002 for browsers: fetch, a buffer of lines, `data: `, `[DONE]`. */
async function ask(chat: number, body: object): Promise<void> {
  const response = await fetch(`${base}/chats/${chat}/messages`, {
    method: "POST",
    headers,
    body: JSON.stringify({ ...body, stream: true }),
  });
  if (response.body === null) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let buffer = "";
  while (true) {
    const { done, value } = await reader.read();
    if (done) return;
    buffer += decoder.decode(value, { stream: true });
    const lines = buffer.split("\n");
    buffer = lines.pop() ?? "";
    for (const line of lines) {
      if (!line.startsWith("data: ")) continue;
      const data = line.slice(6);
      if (data === "[DONE]") {
        view.isDone = true;
        return;
      }
      takeEvent(JSON.parse(data) as Record<string, unknown>);
    }
  }
}

function takeEvent(event: Record<string, unknown>): void {
  if (event["type"] === "response.output_text.delta") view.output += String(event["delta"]);
  else if (event["type"] === "response.output_text.completed") view.finalText = String(event["final_text"]);
  else if (event["type"] === "response.interaction_request")
    view.forms.push(String(event["form_request_id"]));
  else if (event["type"] === "response.error") view.errors.push(String(event["message"]));
}

window.documents = { view, ask };

async function openSocket(onFrame: (frame: BlockFrame) => void): Promise<void> {
  const response = await fetch(`${base}/tickets`, { method: "POST", headers, body: "{}" });
  const { ticket } = (await response.json()) as { ticket: string };
  const socket = new WebSocket(`${base.replace(/^http/, "ws")}/socket?dialect=blocks&ticket=${ticket}`);
  socket.addEventListener("open", () => {
    socket.send(JSON.stringify({ type: "subscribe", request_id: "1", session_id: session }));
  });
  socket.addEventListener("message", ({ data }: MessageEvent<string>) => {
    view.isConnected = true;
    onFrame(JSON.parse(data) as BlockFrame);
  });
}

const useProcessor =
  window.printedHook === undefined
    ? useBlockProcessor
    : // oxlint-disable-next-line typescript/no-implied-eval -- the code is that of the document
      (new Function("useState", "useRef", "useCallback", `${window.printedHook}\nreturn useStreamProcessor;`)(
        useState,
        useRef,
        useCallback,
      ) as typeof useBlockProcessor);

function DocumentsPage() {
  const { blocks, isStreaming, handleEvent } = useProcessor();
  useEffect(() => void openSocket(handleEvent), [handleEvent]);
  return (
    <ol data-streaming={isStreaming}>
      {blocks.map((block) => (
        <li key={block.index} data-type={block.type} data-failed={block.toolResultError}>
          {describeBlock(block)}
        </li>
      ))}
    </ol>
  );
}

function describeBlock({ type, text, thinking, name, toolResult, processingStatus }: ShownBlock): string {
  if (type === "tool_use") return `${name}: ${toolResult ?? "…"}`;
  return text ?? thinking ?? processingStatus ?? "";
}

const place = document.getElementById("root");
if (place !== null) createRoot(place).render(<DocumentsPage />);
