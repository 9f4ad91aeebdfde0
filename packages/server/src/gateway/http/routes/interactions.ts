/**
 * `interactionRoutes` list interactions, execute the user's decisions, and store drafts of forms.
 * Invariant: every decision runs through `executeCommand`, so that it has the same effect as on a socket, and needs
 * the scope `decide`. Interactions are found only within the session in the path.
 */
import { restBodies, restReplies } from "@turnstream/protocol/schema";
import { z } from "zod";
import { readFormDraft, saveFormDraft } from "../../../session/interactions/form-drafts.ts";
import type { FormDraft } from "../../../store/form-drafts.ts";
import type { Interaction } from "../../../store/interactions.ts";
import type { Command } from "../../command.ts";
import { executeCommand } from "../../execute-command.ts";
import { RequestError } from "../../errors.ts";
import { pageBefore, pageLimit } from "./page-query.ts";
import type { RouteResult } from "../../context.ts";
import { type RouteContext, type Route, defineRoute } from "../route.ts";
import { defined } from "../../../util/defined.ts";

const MAX_LISTED = 1_000;
const DEFAULT_LISTED = 100;
const INTERACTION_PATH = "/sessions/{session}/interactions/{interaction}";

const list = defineRoute({
  method: "GET",
  path: "/sessions/{session}/interactions",
  summary:
    "Lists the interactions of a session, the oldest first. `status=pending` selects those that wait for the user.",
  scope: "read",
  query: z.strictObject({
    status: z.literal("pending").exactOptional(),
    after: pageBefore,
    limit: pageLimit(MAX_LISTED - 1, DEFAULT_LISTED),
  }),
  responseSchema: restReplies.interactions,
  async handle({ context, ref, query }) {
    const { status, after, limit } = query;
    const found = await context.store.interactions.list(ref, {
      pending: status === "pending",
      limit: limit + 1,
      ...defined({ after }),
    });
    const page = found.slice(0, limit);
    const hasMore = found.length > limit;
    const interactions = page.map((interaction) => ({ ...toInteractionJson(interaction), n: interaction.n }));
    const next = hasMore ? (page.at(-1)?.n ?? null) : null;
    return { status: 200, json: { interactions, has_more: hasMore, next_after: next } };
  },
});

const get = defineRoute({
  method: "GET",
  path: INTERACTION_PATH,
  summary: "Returns one interaction by its key, with its history.",
  scope: "read",
  responseSchema: restReplies.decided,
  handle: readInteraction,
});

const decide = defineRoute({
  method: "POST",
  path: `${INTERACTION_PATH}/decide`,
  summary: "Approves a call, also with changed arguments or for the rest of the session, or rejects it.",
  scope: "decide",
  body: restBodies.decide,
  responseSchema: restReplies.decided,
  handle: (routeContext) =>
    executeAndRead(routeContext, { type: "decide", ...routeContext.body, ...approvalFields(routeContext) }),
});

const answer = defineRoute({
  method: "POST",
  path: `${INTERACTION_PATH}/answer`,
  summary: "Answers a question.",
  scope: "decide",
  body: restBodies.answer,
  responseSchema: restReplies.decided,
  handle: (routeContext) =>
    executeAndRead(routeContext, { type: "answer", ...routeContext.body, ...approvalFields(routeContext) }),
});

const dismiss = defineRoute({
  method: "POST",
  path: `${INTERACTION_PATH}/dismiss`,
  summary: "Leaves a question unanswered. The turn continues without an answer.",
  scope: "decide",
  body: restBodies.dismiss,
  responseSchema: restReplies.decided,
  handle: (routeContext) =>
    executeAndRead(routeContext, { type: "dismiss", ...routeContext.body, ...approvalFields(routeContext) }),
});

const submit = defineRoute({
  method: "POST",
  path: `${INTERACTION_PATH}/submit`,
  summary: "Submits a form. The next turn continues from it, unless `go_on` is false.",
  scope: "decide",
  body: restBodies.submit,
  responseSchema: restReplies.decided,
  handle: (routeContext) =>
    executeAndRead(routeContext, { type: "submit", ...routeContext.body, ...formFields(routeContext) }),
});

const decline = defineRoute({
  method: "POST",
  path: `${INTERACTION_PATH}/decline`,
  summary: "Declines a form. The next turn continues without it, unless `go_on` is false.",
  scope: "decide",
  body: restBodies.decline,
  responseSchema: restReplies.decided,
  handle: (routeContext) =>
    executeAndRead(routeContext, { type: "decline", ...routeContext.body, ...formFields(routeContext) }),
});

const getDraft = defineRoute({
  method: "GET",
  path: `${INTERACTION_PATH}/draft`,
  summary: "Returns the draft of a form.",
  scope: "read",
  responseSchema: restReplies.draft,
  async handle(routeContext) {
    const { context, ref } = routeContext;
    return toDraftResult(await readFormDraft(context, ref, interactionKey(routeContext)));
  },
});

const putDraft = defineRoute({
  method: "PUT",
  path: `${INTERACTION_PATH}/draft`,
  summary: "Stores the draft of a form. It replaces the previous draft.",
  scope: "decide",
  body: restBodies.save_draft,
  responseSchema: restReplies.draft,
  async handle(routeContext) {
    const { context, ref, body } = routeContext;
    return toDraftResult(
      await saveFormDraft(context, ref, { form: interactionKey(routeContext), values: body.values }),
    );
  },
});

type InteractionContext = Pick<RouteContext<unknown, unknown>, "context" | "caller" | "ref" | "params">;

function interactionKey({ params }: InteractionContext): string {
  return params["interaction"] ?? "";
}

function approvalFields(routeContext: InteractionContext) {
  return { session_id: routeContext.ref.session, approval_key: interactionKey(routeContext) };
}

function formFields(routeContext: InteractionContext) {
  return { session_id: routeContext.ref.session, form_request_id: interactionKey(routeContext) };
}

async function executeAndRead(routeContext: InteractionContext, command: Command): Promise<RouteResult> {
  await executeCommand(routeContext.context, routeContext.caller, routeContext.ref, command);
  return readInteraction(routeContext);
}

async function readInteraction(routeContext: InteractionContext): Promise<RouteResult> {
  const { context, ref } = routeContext;
  const found = await context.store.interactions.byKey(ref, interactionKey(routeContext));
  if (found === null) throw new RequestError("NOT_FOUND", "This session has no such interaction.");
  const changes = await context.store.interactions.changes(ref, found.id);
  return { status: 200, json: { interaction: { ...toInteractionJson(found), changes } } };
}

function toInteractionJson(interaction: Interaction) {
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

function toDraftResult(draft: FormDraft | null): RouteResult {
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
