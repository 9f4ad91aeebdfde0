/** Routes that show what was said: history for clients of `blocks`, snapshots and turns for native ones, end states. */
import { turnSnapshot, resolveBlobUrls } from "@turnstream/protocol";
import { toHistory, turnMessages } from "@turnstream/protocol/blocks";
import { restReplies } from "@turnstream/protocol/schema";
import { z } from "zod";
import { createBlobUrls } from "../../../session/blobs/blob-url.ts";
import { readTurnResult } from "../../../session/history/turn-result.ts";
import { readHandoffHistory } from "../../../session/history/handoff-history.ts";
import { readHistory } from "../../../session/history/read-history.ts";
import { prependOlderTurns } from "../../../session/history/turn-window.ts";
import { countTurnsWithinLimit, readTurnPage, readTurn } from "../../../session/history/turn-pages.ts";
import type { SessionRef } from "../../../store/refs.ts";
import { RequestError } from "../../errors.ts";
import { stringifyWithSnapshot } from "../../encoding/encode-snapshot.ts";
import { pageBefore, pageLimit } from "./page-query.ts";
import type { RouteResult, GatewayContext } from "../../context.ts";
import { type Route, defineRoute } from "../route.ts";

const MAX_TURNS = 50;
const USUAL_TURNS = 20;
const page = z.strictObject({ before: pageBefore, limit: pageLimit(MAX_TURNS, USUAL_TURNS) });

const history = defineRoute({
  method: "GET",
  path: "/sessions/{session}/history",
  summary: "A page of history, the newest first; subscribe after its `last_event_id`.",
  scope: "read",
  query: page,
  responseSchema: restReplies.history,
  async handle({ parts, ref, query }) {
    const { state } = await readHandoffHistory(parts, ref, null);
    const { turns, next } = await readTurnPage(parts, ref, state, query);
    const { messages: _, ...now } = toHistory(state);
    return shown(parts, ref, {
      // An older page is joined to one that has been shown: where to subscribe was said there.
      ...(query.before === undefined ? now : {}),
      messages: turns.flatMap(turnMessages),
      has_more: next !== null,
      next_before: next,
    });
  },
});

const getSnapshot = defineRoute({
  method: "GET",
  path: "/sessions/{session}/snapshot",
  summary:
    "The state as it is now, with its newest turns, for native clients; subscribe after its `event_id`.",
  scope: "read",
  query: z.strictObject({ turns: pageLimit(MAX_TURNS, USUAL_TURNS) }),
  responseSchema: restReplies.snapshot,
  async handle({ parts, ref, query }) {
    const { state: newest, cursor } = await readHistory(parts, ref, { turns: 1 });
    const state = await prependOlderTurns(parts, ref, newest, query);
    const head = { session_id: ref.session, event_id: cursor };
    const addressOf = addressesOf(parts, ref);
    const count = countTurnsWithinLimit(state, query.turns);
    return {
      status: 200,
      jsonText: await stringifyWithSnapshot(parts.slices, { addressOf }, head, state, count),
    };
  },
});

const listTurns = defineRoute({
  method: "GET",
  path: "/sessions/{session}/turns",
  summary: "A page of turns as they are in snapshots; those before the oldest that a client has.",
  scope: "read",
  query: page,
  responseSchema: restReplies.turns,
  async handle({ parts, ref, query }) {
    const { state } = await readHistory(parts, ref, { turns: 1 });
    const { turns, next } = await readTurnPage(parts, ref, state, query);
    return shown(parts, ref, {
      turns: turns.map(turnSnapshot),
      has_more: next !== null,
      next_before: next,
    });
  },
});

const getTurn = defineRoute({
  method: "GET",
  path: "/sessions/{session}/turns/{turn}",
  summary: "One turn.",
  scope: "read",
  responseSchema: restReplies.turn,
  async handle({ parts, ref, params }) {
    const turn = await readTurn(parts, ref, params["turn"] ?? "");
    if (turn === null) throw noTurn();
    return shown(parts, ref, { turn: turnSnapshot(turn) });
  },
});

const endState = defineRoute({
  method: "GET",
  path: "/sessions/{session}/turns/{turn}/end-state",
  summary:
    "The end state of a turn's task, or of the sub-agent's that the call `task` started, with what the model read.",
  scope: "read",
  query: z.strictObject({ task: z.string().min(1).max(256).exactOptional() }),
  responseSchema: restReplies.end_state,
  async handle({ parts, ref, params, query }) {
    const state = await readTurnResult(parts, ref, { turn: params["turn"] ?? "", ...query });
    if (state === null) throw noTurn();
    return shown(parts, ref, state);
  },
});

function noTurn(): RequestError {
  return new RequestError("NOT_FOUND", "This session has no such turn or task.");
}

/** What is kept beside the log gets addresses that can be loaded for a while. */
function addressesOf({ blobBase, secrets, env }: GatewayContext, ref: SessionRef): (blob: string) => string {
  return createBlobUrls(ref, { base: blobBase, secret: secrets[0], now: env.now() });
}

function shown(parts: GatewayContext, ref: SessionRef, json: object): RouteResult {
  return { status: 200, json: resolveBlobUrls(json, addressesOf(parts, ref)) };
}

export const historyRoutes: readonly Route[] = [history, getSnapshot, listTurns, getTurn, endState];
