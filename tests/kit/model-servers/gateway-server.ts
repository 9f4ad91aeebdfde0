/**
 * `startGatewayServer` starts a local server with the streaming language-model API of the Vercel AI Gateway, whose
 * events are the stream parts of the AI SDK. model-server.ts defines its replies and faults.
 */
import {
  cutText,
  type ModelServer,
  type CreateReply,
  type Reply,
  startModelServer,
  type Wire,
} from "./model-server.ts";

type Part = { readonly type: string } & Readonly<Record<string, unknown>>;

const BASE_PATH = "/v4/ai";
const REASONS = { end: "stop", length: "length", refusal: "content-filter" } as const;

export async function startGatewayServer(replying: CreateReply): Promise<ModelServer> {
  return startModelServer(wire, replying);
}

const wire: Wire = {
  basePath: BASE_PATH,
  frames: ({ path }, reply) => (path === `${BASE_PATH}/language-model` ? partsOf(reply).map(frameOf) : null),
  errorFrame: (_, error) => frameOf({ type: "error", error }),
  errorBody: ({ type, message }) => ({ error: { type, message } }),
};

function frameOf(part: Part): string {
  return `data: ${JSON.stringify(part)}\n\n`;
}

function partsOf({ parts = [], stop, usage, chunk }: Reply): Part[] {
  const { input, output } = usage ?? { input: 10, output: 20 };
  const events: Part[] = [{ type: "stream-start", warnings: [] }];
  for (const [n, part] of parts.entries()) {
    if (part.type === "call") {
      const { id, name: toolName } = part;
      events.push({ type: "tool-input-start", id, toolName });
      for (const delta of cutText(part.input, chunk)) events.push({ type: "tool-input-delta", id, delta });
      events.push({ type: "tool-input-end", id });
      events.push({ type: "tool-call", toolCallId: id, toolName, input: part.input });
      continue;
    }
    const kind = part.type === "text" ? "text" : "reasoning";
    const id = String(n);
    events.push({ type: `${kind}-start`, id });
    for (const delta of cutText(part.text, chunk)) events.push({ type: `${kind}-delta`, id, delta });
    events.push({ type: `${kind}-end`, id });
  }
  const hasCalls = parts.some(({ type }) => type === "call");
  const unified = stop === undefined && hasCalls ? "tool-calls" : REASONS[stop ?? "end"];
  events.push({
    type: "finish",
    finishReason: { unified, raw: unified },
    usage: {
      inputTokens: { total: input, noCache: input },
      outputTokens: { total: output, text: output },
    },
  });
  return events;
}
