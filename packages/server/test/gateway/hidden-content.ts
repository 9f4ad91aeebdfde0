/**
 * `hideContent` makes calls and thinking of a generated log hidden, and writes `CANARY` into everything that users must
 * not see. `findCanary` finds it in any JSON.
 */
import type { Json, SessionEvent } from "@turnstream/protocol";

const CANARY = "canary41f7";

/**
 * @param share every how many calls and turns become hidden or use the chat mode, in addition to those that already are
 */
export function hideContent(events: readonly SessionEvent[], share: number): SessionEvent[] {
  const visibleCalls = new Set(
    events.flatMap((event) => (event.type === "run.start" ? (event.call ?? []) : [])),
  );
  const hiddenCalls = new Set<string>();
  const hiddenBlocks = new Set<string>();
  const chats = new Set<string>();
  let count = 0;
  return events.map((event) => {
    switch (event.type) {
      case "turn.start": {
        if (event.mode === "agent" && ++count % share !== 0) return event;
        chats.add(event.turn);
        return { ...event, mode: "chat" };
      }
      case "tool_call.start": {
        // The call of a sub-agent is always visible.
        const isChosen = ++count % share === 0 && !visibleCalls.has(event.call);
        if (event.hidden !== true && !isChosen) return event;
        hiddenCalls.add(`${event.turn} ${event.call}`);
        break;
      }
      case "tool_result.start":
        if (!hiddenCalls.has(`${event.turn} ${event.call}`)) return event;
        break;
      default:
        return "block" in event && isHidden(event) ? withCanary(event) : event;
    }
    hiddenBlocks.add(`${event.turn} ${event.block}`);
    return { ...event, hidden: true, name: `${event.name}${CANARY}`, label: CANARY };
  });

  function isHidden(event: SessionEvent & { readonly turn: string; readonly block: string }): boolean {
    return event.type === "thinking.delta"
      ? chats.has(event.turn)
      : hiddenBlocks.has(`${event.turn} ${event.block}`);
  }
}

const WHOLE = { blob: CANARY, size: 99_000, media_type: "text/plain" };

function withCanary(event: SessionEvent): SessionEvent {
  switch (event.type) {
    case "thinking.delta":
      return { ...event, text: `${event.text}${CANARY}` };
    case "tool_call.delta":
      return { ...event, args: `${event.args}${CANARY}` };
    case "tool_call.end":
      return event.input === undefined ? event : { ...event, input: withText(event.input), whole: WHOLE };
    case "tool_result.delta": {
      const reference = { id: 1, title: CANARY, url: `https://${CANARY}.example` };
      return { ...event, data: `${event.data}${CANARY}`, reference };
    }
    case "tool_result.end": {
      const artifact = { type: "code", title: CANARY, data: { code: CANARY } };
      const structured = { text: CANARY };
      return { ...event, preview: CANARY, artifact, whole: WHOLE, structured, results: 41_700 };
    }
    default:
      return event;
  }
}

function withText(input: Json): Json {
  return { input, text: CANARY };
}

/** Returns the text around the canary, or null. */
export function findCanary(value: unknown): string | null {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const at = text.indexOf(CANARY);
  return at < 0 ? null : text.slice(Math.max(0, at - 300), at + 50);
}
