/**
 * `interactionRoutes` list interactions, execute the user's decisions, store drafts of forms, and list and revoke the
 * standing approvals that decisions create.
 * Invariant: every decision runs through `executeCommand`, so that it has the same effect as on a socket. Decisions and
 * revocations need the scope `decide`. Everything is found only within the session in the path.
 */
import { restBodies, restReplies } from "@turnstream/protocol/schema";
import { z } from "zod";
import { listAllowances, revokeAllowance } from "../../../session/interactions/allowances.ts";
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

/** @param toCommand gets the body, the session and the key of the interaction */
function defineDecision<Body>(
  name: "decide" | "answer" | "dismiss" | "submit" | "decline",
  summary: string,
  body: z.ZodType<Body>,
  toCommand: (body: Body, session_id: string, key: string) => Command,
): Route {
  return defineRoute({
    method: "POST",
    path: `${INTERACTION_PATH}/${name}`,
    summary,
    scope: "decide",
    body,
    responseSchema: restReplies.decided,
    async handle(routeContext) {
      const { context, caller, ref } = routeContext;
      const command = toCommand(routeContext.body, ref.session, interactionKey(routeContext));
      await executeCommand(context, caller, ref, command);
      return readInteraction(routeContext);
    },
  });
}

const decide = defineDecision(
  "decide",
  "Approves a call, also with changed arguments or for the rest of the session, or rejects it.",
  restBodies.decide,
  (body, session_id, approval_key) => ({ type: "decide", ...body, session_id, approval_key }),
);

const answer = defineDecision(
  "answer",
  "Answers a question.",
  restBodies.answer,
  (body, session_id, approval_key) => ({ type: "answer", ...body, session_id, approval_key }),
);

const dismiss = defineDecision(
  "dismiss",
  "Leaves a question unanswered. The turn continues without an answer.",
  restBodies.dismiss,
  (body, session_id, approval_key) => ({ type: "dismiss", ...body, session_id, approval_key }),
);

const submit = defineDecision(
  "submit",
  "Submits a form. The next turn continues from it, unless `go_on` is false.",
  restBodies.submit,
  (body, session_id, form_request_id) => ({ type: "submit", ...body, session_id, form_request_id }),
);

const decline = defineDecision(
  "decline",
  "Declines a form. The next turn continues without it, unless `go_on` is false.",
  restBodies.decline,
  (body, session_id, form_request_id) => ({ type: "decline", ...body, session_id, form_request_id }),
);

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
    const draft = { form: interactionKey(routeContext), values: body.values };
    return toDraftResult(await saveFormDraft(context, ref, draft));
  },
});

type InteractionContext = Pick<RouteContext<unknown, unknown>, "context" | "ref" | "params">;

function interactionKey({ params }: InteractionContext): string {
  return params["interaction"] ?? "";
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

const listAllowed = defineRoute({
  method: "GET",
  path: "/sessions/{session}/allowances",
  summary: "Lists the tools that the user allowed for the rest of the session, by agent.",
  scope: "read",
  responseSchema: restReplies.allowances,
  handle: async ({ context, ref }) => ({
    status: 200,
    json: { allowances: await listAllowances(context, ref) },
  }),
});

const revokeAllowed = defineRoute({
  method: "DELETE",
  path: "/sessions/{session}/allowances/{agent}/{tool}",
  summary: "Revokes an allowance. The next call needs an approval again.",
  scope: "decide",
  async handle({ context, caller, ref, params }) {
    const { agent = "", tool = "" } = params;
    const input = { agent, tool, userId: caller.user, clientId: caller.clientId };
    if (!(await revokeAllowance(context, ref, input)))
      throw new RequestError("NOT_FOUND", "This tool is not approved for the rest of the session.");
    return { status: 204 };
  },
});

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
  listAllowed,
  revokeAllowed,
];
