/**
 * `historyRoutes` return past content of a session: history for `blocks` clients, snapshots and turns for native
 * clients, and end states of tasks.
 * Invariant: a stream that starts after the returned cursor continues without a gap. Only the newest page of history
 * has that cursor. Responses contain temporary URLs instead of blob references, and at most 50 turns. They contain
 * hidden content only for callers with the scope `debug`. Reads only.
 */
import { SCHEMA_VERSION, type Turn, type TurnSnapshot } from "@turnstream/protocol";
import { omitHiddenTurn, resolveBlobUrls, turnSnapshot } from "@turnstream/protocol/writer";
import { toHistory, toHistoryMessages } from "@turnstream/protocol/blocks";
import { restReplies } from "@turnstream/protocol/schema";
import { z } from "zod";
import { readTurnResult } from "../../../session/history/turn-result.ts";
import { readHandoffHistory } from "../../../session/history/handoff-history.ts";
import { readHistory } from "../../../session/history/read-history.ts";
import {
  countTurnsWithinLimit,
  prependOlderTurns,
  readTurnPage,
  readTurn,
} from "../../../session/history/turn-pages.ts";
import type { SessionRef } from "../../../util/refs.ts";
import { hasScope } from "../../auth/access.ts";
import type { Caller } from "../../caller.ts";
import { RequestError } from "../../errors.ts";
import { stringifyWithSnapshot } from "../../encoding/encode-snapshot.ts";
import { pageBefore, pageLimit } from "./page-query.ts";
import type { RouteResult, GatewayContext } from "../../context.ts";
import { type Route, defineRoute } from "../route.ts";

const MAX_TURNS = 50;
const DEFAULT_TURNS = 20;
const page = z.strictObject({ before: pageBefore, limit: pageLimit(MAX_TURNS, DEFAULT_TURNS) });

const history = defineRoute({
  method: "GET",
  path: "/sessions/{session}/history",
  summary: "Returns a page of history, the newest first. Subscribe after its `last_event_id`.",
  scope: "read",
  query: page,
  responseSchema: restReplies.history,
  async handle({ context, ref, query }) {
    const { state, lacksAccepted } = await readHandoffHistory(context, ref);
    const { turns, next } = await readTurnPage(context, ref, state, query);
    const pageEnd = { has_more: next !== null, next_before: next };
    // Only the first page contains the cursor to subscribe after. Older pages extend a page that the client already
    // shows.
    if (query.before !== undefined)
      return jsonWithBlobUrls(context, ref, { messages: toHistoryMessages(turns), ...pageEnd });
    const current = toHistory(state);
    return jsonWithBlobUrls(context, ref, {
      ...current,
      ...(lacksAccepted ? { agent_status: "running" } : {}),
      messages: toHistoryMessages(turns, state.waiting),
      ...pageEnd,
    });
  },
});

const getSnapshot = defineRoute({
  method: "GET",
  path: "/sessions/{session}/snapshot",
  summary:
    "Returns the current state with its newest turns, for native clients. Subscribe after its `event_id`.",
  scope: "read",
  query: z.strictObject({ turns: pageLimit(MAX_TURNS, DEFAULT_TURNS) }),
  responseSchema: restReplies.snapshot,
  async handle({ context, caller, ref, query }) {
    const { state: newest, cursor } = await readHistory(context, ref, { turns: 1 });
    const state = await prependOlderTurns(context, ref, newest, query);
    const head = { session_id: ref.session, event_id: cursor };
    const target = {
      resolveBlobUrl: context.createBlobUrlResolver(ref),
      includeHidden: hasScope(caller, "debug"),
    };
    const count = countTurnsWithinLimit(state.turns.toArray(), query.turns);
    return {
      status: 200,
      jsonText: await stringifyWithSnapshot(context.slices, target, head, state, count),
    };
  },
});

const listTurns = defineRoute({
  method: "GET",
  path: "/sessions/{session}/turns",
  summary:
    "Returns a page of turns in the format of snapshots: the newest turns, or those that started before `before`.",
  scope: "read",
  query: page,
  responseSchema: restReplies.turns,
  async handle({ context, caller, ref, query }) {
    const { state } = await readHistory(context, ref, { turns: 1 });
    const { turns, next } = await readTurnPage(context, ref, state, query);
    return jsonWithBlobUrls(context, ref, {
      v: SCHEMA_VERSION,
      turns: turns.map((turn) => toTurnJson(caller, turn)),
      has_more: next !== null,
      next_before: next,
    });
  },
});

const getTurn = defineRoute({
  method: "GET",
  path: "/sessions/{session}/turns/{turn}",
  summary: "Returns one turn.",
  scope: "read",
  responseSchema: restReplies.turn,
  async handle({ context, caller, ref, params }) {
    const turn = await readTurn(context, ref, params["turn"] ?? "");
    if (turn === null) throw turnNotFound();
    return jsonWithBlobUrls(context, ref, { v: SCHEMA_VERSION, turn: toTurnJson(caller, turn) });
  },
});

const endState = defineRoute({
  method: "GET",
  path: "/sessions/{session}/turns/{turn}/end-state",
  summary:
    "Returns the end state of a turn, or of the sub-agent that the call `task` started, with the results that the model read.",
  scope: "debug",
  query: z.strictObject({ task: z.string().min(1).max(256).exactOptional() }),
  responseSchema: restReplies.end_state,
  async handle({ context, ref, params, query }) {
    const state = await readTurnResult(context, ref, { turn: params["turn"] ?? "", ...query });
    if (state === null) throw turnNotFound();
    return jsonWithBlobUrls(context, ref, state);
  },
});

function toTurnJson(caller: Caller, turn: Turn): TurnSnapshot {
  return hasScope(caller, "debug") ? turnSnapshot(turn) : omitHiddenTurn(turnSnapshot(turn));
}

function turnNotFound(): RequestError {
  return new RequestError("NOT_FOUND", "This session has no such turn or task.");
}

function jsonWithBlobUrls(context: GatewayContext, ref: SessionRef, json: object): RouteResult {
  return { status: 200, json: resolveBlobUrls(json, context.createBlobUrlResolver(ref)) };
}

export const historyRoutes: readonly Route[] = [history, getSnapshot, listTurns, getTurn, endState];
