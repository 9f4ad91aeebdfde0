/**
 * `readByAi`, `readByAgUi` and `readByAssistantStream` read a turn with another library: JSON text of its frames in,
 * its own message out after every delta. The timed code is the public API that its users call. For benches only.
 */
import { AbstractAgent, type BaseEvent, type Message } from "@ag-ui/client";
import { type UIMessage, type UIMessageChunk, readUIMessageStream } from "ai";
import {
  type AssistantMessage,
  AssistantMessageAccumulator,
  type AssistantStreamChunk,
} from "assistant-stream";
import { Observable } from "rxjs";

function parsedStream<Frame>(frames: readonly string[]): ReadableStream<Frame> {
  let next = 0;
  return new ReadableStream({
    pull(controller) {
      const frame = frames[next++];
      if (frame === undefined) controller.close();
      else controller.enqueue(JSON.parse(frame) as Frame);
    },
  });
}

export async function readByAi(frames: readonly string[]): Promise<UIMessage | undefined> {
  let last: UIMessage | undefined;
  const stream = parsedStream<UIMessageChunk>(frames);
  for await (const message of readUIMessageStream({ stream, terminateOnError: true })) last = message;
  return last;
}

/** Lets `runAgent` process the frames: verification, expansion, order and messages. */
class FramesAgent extends AbstractAgent {
  private readonly frames: readonly string[];

  constructor(frames: readonly string[]) {
    super({ threadId: "thread" });
    this.frames = frames;
  }

  run(): Observable<BaseEvent> {
    return new Observable((subscriber) => {
      for (const frame of this.frames) subscriber.next(JSON.parse(frame) as BaseEvent);
      subscriber.complete();
    });
  }
}

export async function readByAgUi(frames: readonly string[]): Promise<readonly Message[]> {
  const agent = new FramesAgent(frames);
  await agent.runAgent();
  return agent.messages;
}

export async function readByAssistantStream(
  frames: readonly string[],
): Promise<AssistantMessage | undefined> {
  let last: AssistantMessage | undefined;
  const messages = parsedStream<AssistantStreamChunk>(frames).pipeThrough(new AssistantMessageAccumulator());
  for await (const message of messages) last = message;
  return last;
}
