/**
 * `UiWire` is an AI SDK transport that receives its frames from the page: JSON text in, chunks out, as from an event
 * stream.
 */
import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";

export class UiWire implements ChatTransport<UIMessage> {
  private controller: ReadableStreamDefaultController<UIMessageChunk> | null = null;
  private readonly early: string[] = [];

  receive(frame: string): void {
    if (this.controller === null) {
      this.early.push(frame);
      return;
    }
    const chunk = JSON.parse(frame) as UIMessageChunk;
    this.controller.enqueue(chunk);
    if (chunk.type === "finish") this.controller.close();
  }

  async sendMessages(): Promise<ReadableStream<UIMessageChunk>> {
    return new ReadableStream({
      start: (controller) => {
        this.controller = controller;
        for (const frame of this.early.splice(0)) this.receive(frame);
      },
    });
  }

  async reconnectToStream(): Promise<null> {
    return null;
  }
}
