/**
 * `streamMessage` is a typed client of document 002, written from its instructions alone: POST a message, buffer the
 * body, take the lines that start with `data: `, stop at `[DONE]`, and pass each event to the handler of its type.
 * Invariant: it imports none of our packages, and knows only the events and fields that the document prints.
 */

interface Common {
  readonly response_id: string;
  readonly chat_id: number;
}

interface TokenUsage {
  readonly total_prompt_tokens: number;
  readonly total_completion_tokens: number;
  readonly total_tokens: number;
  readonly total_calls: number;
}

interface FormRequest {
  /** The first printed shape of a form has none. */
  readonly interaction_type?: "form";
  readonly form_request_id: string;
  readonly form_schema: {
    readonly title: string;
    readonly fields: readonly { readonly name: string; readonly label: string; readonly type: string }[];
  };
}

interface PaymentRequest {
  readonly interaction_type: "payment";
  readonly payment: { readonly payment_request_id: string; readonly checkout_url: string };
}

/** The data of each event, by its type. */
interface ResponseEvents {
  "response.created": { readonly agent_id: string; readonly model: string };
  "response.chat.title.updated": { readonly name: string };
  "response.reasoning_step.start": {
    readonly step: { readonly id: string; readonly content: string; readonly tool_name: string };
  };
  "response.reasoning_step.end": {
    readonly step: {
      readonly id: string;
      readonly result: { readonly success: boolean; readonly data: unknown };
      readonly token_usage: TokenUsage;
    };
  };
  "response.interaction_request": FormRequest | PaymentRequest;
  "response.output_text.delta": { readonly delta: string };
  "response.output_text.completed": { readonly final_text: string; readonly usage: TokenUsage };
  "response.error": { readonly message: string; readonly code: number };
}

export type ResponseHandlers = {
  readonly [Type in keyof ResponseEvents]: (event: Common & ResponseEvents[Type]) => void;
};

export interface MessageRequest {
  /** `/api/v1/chats/{chat_id}/messages` of a server. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

/** Resolves at `[DONE]`. Rejects if the stream ends without it. */
export async function streamMessage(
  { url, headers, body }: MessageRequest,
  handlers: ResponseHandlers,
): Promise<void> {
  const response = await fetch(url, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json", accept: "text/event-stream" },
    body: JSON.stringify({ ...body, stream: true }),
  });
  if (!response.ok || response.body === null) throw new Error(`HTTP ${response.status}`);
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let buffer = "";
  while (true) {
    const { done, value } = await reader.read();
    if (done) throw new Error("the stream ended without [DONE]");
    buffer += decoder.decode(value as Uint8Array, { stream: true });
    const lines = buffer.split("\n");
    buffer = lines.pop() ?? "";
    for (const line of lines) {
      if (!line.startsWith("data: ")) continue;
      const data = line.slice(6);
      if (data === "[DONE]") {
        await reader.cancel();
        return;
      }
      handleEvent(JSON.parse(data) as { type: string }, handlers);
    }
  }
}

/** The document prints no rule for unknown events, so they are skipped. */
function handleEvent(event: { readonly type: string }, handlers: ResponseHandlers): void {
  if (!Object.hasOwn(handlers, event.type)) return;
  const handle = handlers[event.type as keyof ResponseHandlers] as (event: unknown) => void;
  handle(event);
}
