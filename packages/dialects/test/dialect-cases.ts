/** What tests of sessions with another dialect share: the dialects with their channels, and the state that each carries. */
import {
  eraseForBlocks,
  eraseForResponses,
  eraseForTasks,
  joinedText,
} from "@turnstream/conformance/support/dialect-losses.ts";
import type { SessionState } from "@turnstream/protocol";
import { blocks } from "../src/blocks/blocks.ts";
import { responses } from "../src/responses/responses.ts";
import { tasks } from "../src/tasks/tasks.ts";
import type { Session, SessionView } from "../../client/src/session/session.ts";
import type { LiveGateway } from "../../client/test/live/live-gateway.ts";

export const ended = (view: SessionView): boolean => {
  const last = view.state.turns.last();
  return (
    last !== undefined && last.status !== "running" && view.outbox.every(({ status }) => status !== "waiting")
  );
};
export const turns =
  (count: number) =>
  (view: SessionView): boolean =>
    view.state.turns.length === count && ended(view);

export async function truth(gateway: LiveGateway, session: Session): Promise<SessionState> {
  return gateway.stage.state({ tenant: gateway.stage.actor.tenant, session: session.id });
}

/** Only the turns: `responses` sends the session number with the first turn. A client that starts it has none yet. */
function eraseTurns(state: SessionState): unknown {
  return (eraseForResponses(state, new Set(), joinedText) as { turns?: unknown }).turns;
}

export const sizeOf = ({ state }: SessionView): number => JSON.stringify(state.turns.last() ?? "").length;

export const CASES = [
  { dialect: blocks, channels: ["websocket"], erase: eraseForBlocks },
  { dialect: blocks, channels: ["sse"], erase: eraseForBlocks },
  { dialect: tasks, channels: ["websocket"], erase: eraseForTasks },
  { dialect: tasks, channels: ["sse"], erase: eraseForTasks },
  { dialect: responses, channels: ["sse"], erase: eraseTurns },
] as const;
