/** Routes that show what was said: history for clients of `blocks`, snapshots and turns for native ones, end states. */
import { turnSnapshot, withAddresses } from "@turnstream/protocol";
import { historyOf, turnMessages } from "@turnstream/protocol/blocks";
import { restReplies } from "@turnstream/protocol/schema";
import { z } from "zod";
import { blobAddresses } from "../../../session/blobs/blob-url.ts";
import { readEndState } from "../../../session/history/turn-result.ts";
import { readQuiet } from "../../../session/history/handoff-history.ts";
import { readHistory } from "../../../session/history/read-history.ts";
import { withOlderTurns } from "../../../session/history/turn-window.ts";
import { howManyFit, pageOfTurns, readTurn } from "../../../session/history/turn-pages.ts";
import type { Ref } from "../../../store/refs.ts";
import { Refused } from "../../errors.ts";
import { withSnapshot } from "../../encoding/snapshot.ts";
import { pageEnd, pageSize } from "./page-query.ts";
import { type Answer, type GatewayParts, type Route, route } from "../route.ts";

const MAX_TURNS = 50;
const USUAL_TURNS = 20;
const page = z.strictObject({ before: pageEnd, limit: pageSize(MAX_TURNS, USUAL_TURNS) });

const history = route({
  method: "GET",
  path: "/sessions/{session}/history",
  does: "A page of history, the newest first; subscribe after its `last_event_id`.",
  action: "read",
  query: page,
  answer: restReplies.history,
  async handle({ parts, ref, query }) {
    const { state } = await readQuiet(parts, ref, null);
    const { turns, next } = await pageOfTurns(parts, ref, state, query);
    const { messages: _, ...now } = historyOf(state);
    return shown(parts, ref, {
      // An older page is joined to one that has been shown: where to subscribe was said there.
      ...(query.before === undefined ? now : {}),
      messages: turns.flatMap(turnMessages),
      has_more: next !== null,
      next_before: next,
    });
  },
});

const getSnapshot = route({
  method: "GET",
  path: "/sessions/{session}/snapshot",
  does: "The state as it is now, with its newest turns, for native clients; subscribe after its `event_id`.",
  action: "read",
  query: z.strictObject({ turns: pageSize(MAX_TURNS, USUAL_TURNS) }),
  answer: restReplies.snapshot,
  async handle({ parts, ref, query }) {
    const { state: newest, cursor } = await readHistory(parts, ref, { turns: 1 });
    const state = await withOlderTurns(parts, ref, newest, query);
    const head = { session_id: ref.session, event_id: cursor };
    const addressOf = addressesOf(parts, ref);
    const count = howManyFit(state, query.turns);
    return { status: 200, jsonText: await withSnapshot(parts.slices, { addressOf }, head, state, count) };
  },
});

const listTurns = route({
  method: "GET",
  path: "/sessions/{session}/turns",
  does: "A page of turns as they are in snapshots; those before the oldest that a client has.",
  action: "read",
  query: page,
  answer: restReplies.turns,
  async handle({ parts, ref, query }) {
    const { state } = await readHistory(parts, ref, { turns: 1 });
    const { turns, next } = await pageOfTurns(parts, ref, state, query);
    return shown(parts, ref, {
      turns: turns.map(turnSnapshot),
      has_more: next !== null,
      next_before: next,
    });
  },
});

const getTurn = route({
  method: "GET",
  path: "/sessions/{session}/turns/{turn}",
  does: "One turn.",
  action: "read",
  answer: restReplies.turn,
  async handle({ parts, ref, params }) {
    const turn = await readTurn(parts, ref, params["turn"] ?? "");
    if (turn === null) throw noTurn();
    return shown(parts, ref, { turn: turnSnapshot(turn) });
  },
});

const endState = route({
  method: "GET",
  path: "/sessions/{session}/turns/{turn}/end-state",
  does: "The end state of a turn's task, or of the sub-agent's that the call `task` started, with what the model read.",
  action: "read",
  query: z.strictObject({ task: z.string().min(1).max(256).exactOptional() }),
  answer: restReplies.end_state,
  async handle({ parts, ref, params, query }) {
    const state = await readEndState(parts, ref, { turn: params["turn"] ?? "", ...query });
    if (state === null) throw noTurn();
    return shown(parts, ref, state);
  },
});

function noTurn(): Refused {
  return new Refused("NOT_FOUND", "This session has no such turn or task.");
}

/** What is kept beside the log gets addresses that can be loaded for a while. */
function addressesOf({ blobBase, secrets, env }: GatewayParts, ref: Ref): (blob: string) => string {
  return blobAddresses(ref, { base: blobBase, secret: secrets[0], now: env.now() });
}

function shown(parts: GatewayParts, ref: Ref, json: object): Answer {
  return { status: 200, json: withAddresses(json, addressesOf(parts, ref)) };
}

export const historyRoutes: readonly Route[] = [history, getSnapshot, listTurns, getTurn, endState];
