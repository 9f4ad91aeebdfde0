/** Routes of what a person must decide or do: what waits, the decisions, and drafts of forms. Never decides by itself. */
import { restBodies, restReplies } from "@turnstream/protocol/schema";
import { z } from "zod";
import { readFormDraft, saveFormDraft } from "../../../session/interactions/form-drafts.ts";
import type { FormDraft, Interaction } from "../../../store/ports/interactions.ts";
import { executeCommand, type Command, type CommandOptions } from "../../execute-command.ts";
import { RequestError } from "../../errors.ts";
import { pageBefore, pageLimit } from "./page-query.ts";
import type { RouteResult } from "../../context.ts";
import { type RouteContext, type Route, defineRoute } from "../route.ts";

const MAX_LISTED = 1_000;
const USUAL_LISTED = 100;
const ONE = "/sessions/{session}/interactions/{interaction}";

const list = defineRoute({
  method: "GET",
  path: "/sessions/{session}/interactions",
  summary: "What people were asked, the oldest first; with `status=pending` only what waits.",
  scope: "read",
  query: z.strictObject({
    status: z.literal("pending").exactOptional(),
    after: pageBefore,
    limit: pageLimit(MAX_LISTED - 1, USUAL_LISTED),
  }),
  responseSchema: restReplies.interactions,
  async handle({ parts, ref, query }) {
    const { status, after, limit } = query;
    const found = await parts.store.interactions.list(ref, {
      pending: status === "pending",
      limit: limit + 1,
      ...(after === undefined ? {} : { after }),
    });
    const page = found.slice(0, limit);
    const hasMore = found.length > limit;
    const interactions = page.map((one) => ({ ...interactionJson(one), n: one.n }));
    const next = hasMore ? (page.at(-1)?.n ?? null) : null;
    return { status: 200, json: { interactions, has_more: hasMore, next_after: next } };
  },
});

const get = defineRoute({
  method: "GET",
  path: ONE,
  summary: "One of them, by its key, and how it came to what it is.",
  scope: "read",
  responseSchema: restReplies.decided,
  handle: asItIsNow,
});

const decide = defineRoute({
  method: "POST",
  path: `${ONE}/decide`,
  summary: "Approves a call, with other arguments or for good, or rejects it.",
  scope: "decide",
  body: restBodies.decide,
  responseSchema: restReplies.decided,
  handle: (call) => done(call, { type: "decide", ...call.body, ...keyOf(call) }),
});

const answer = defineRoute({
  method: "POST",
  path: `${ONE}/answer`,
  summary: "Answers a question.",
  scope: "decide",
  body: restBodies.answer,
  responseSchema: restReplies.decided,
  handle: (call) => done(call, { type: "answer", ...call.body, ...keyOf(call) }),
});

const dismiss = defineRoute({
  method: "POST",
  path: `${ONE}/dismiss`,
  summary: "Leaves a question unanswered; the turn goes on without.",
  scope: "decide",
  body: restBodies.dismiss,
  responseSchema: restReplies.decided,
  handle: (call) => done(call, { type: "dismiss", ...call.body, ...keyOf(call) }),
});

const submit = defineRoute({
  method: "POST",
  path: `${ONE}/submit`,
  summary: "Submits a form. The next turn goes on from it, unless `go_on` is false.",
  scope: "decide",
  body: restBodies.submit,
  responseSchema: restReplies.decided,
  handle(call) {
    const { go_on: goOn, ...body } = call.body;
    return done(call, { type: "submit", ...body, ...formOf(call) }, { startNextTurn: goOn });
  },
});

const decline = defineRoute({
  method: "POST",
  path: `${ONE}/decline`,
  summary: "Declines a form. The next turn goes on without it, unless `go_on` is false.",
  scope: "decide",
  body: restBodies.decline,
  responseSchema: restReplies.decided,
  handle(call) {
    const { go_on: goOn, ...body } = call.body;
    return done(call, { type: "decline", ...body, ...formOf(call) }, { startNextTurn: goOn });
  },
});

const getDraft = defineRoute({
  method: "GET",
  path: `${ONE}/draft`,
  summary: "What was filled into a form so far.",
  scope: "read",
  responseSchema: restReplies.draft,
  async handle(call) {
    const { parts, ref } = call;
    return draftAnswer(await readFormDraft(parts, ref, nameOf(call)));
  },
});

const putDraft = defineRoute({
  method: "PUT",
  path: `${ONE}/draft`,
  summary: "Keeps what was filled into a form so far. The last one counts.",
  scope: "decide",
  body: restBodies.save_draft,
  responseSchema: restReplies.draft,
  async handle(call) {
    const { parts, ref, body } = call;
    return draftAnswer(await saveFormDraft(parts, ref, { form: nameOf(call), values: body.values }));
  },
});

type AnyCall = Pick<RouteContext<unknown, unknown>, "parts" | "caller" | "ref" | "params">;

function nameOf({ params }: AnyCall): string {
  return params["interaction"] ?? "";
}

function keyOf(call: AnyCall) {
  return { session_id: call.ref.session, approval_key: nameOf(call) };
}

function formOf(call: AnyCall) {
  return { session_id: call.ref.session, form_request_id: nameOf(call) };
}

async function done(call: AnyCall, command: Command, options: CommandOptions = {}): Promise<RouteResult> {
  await executeCommand(call.parts, call.caller, call.ref, command, options);
  return asItIsNow(call);
}

async function asItIsNow(call: AnyCall): Promise<RouteResult> {
  const { parts, ref } = call;
  const found = await parts.store.interactions.byKey(ref, nameOf(call));
  if (found === null) throw new RequestError("NOT_FOUND", "This session has no such interaction.");
  const changes = await parts.store.interactions.changes(ref, found.id);
  return { status: 200, json: { interaction: { ...interactionJson(found), changes } } };
}

function interactionJson(interaction: Interaction) {
  const { key, kind, status, version, turn, call, request, digest, deadline } = interaction;
  return {
    key,
    kind,
    status,
    version,
    turn_id: turn,
    call_id: call,
    request,
    digest,
    deadline,
    requested_at: interaction.requestedAt,
    changed_at: interaction.changedAt,
  };
}

function draftAnswer(draft: FormDraft | null): RouteResult {
  if (draft === null) return { status: 200, json: { draft } };
  const { values, version, savedAt } = draft;
  return { status: 200, json: { draft: { values, version, saved_at: savedAt } } };
}

export const interactionRoutes: readonly Route[] = [
  list,
  get,
  decide,
  answer,
  dismiss,
  submit,
  decline,
  getDraft,
  putDraft,
];
