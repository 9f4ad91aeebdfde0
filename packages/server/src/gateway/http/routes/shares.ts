/**
 * `shareRoutes` create, list, revoke, read and fork shares. A share is a link to a session as it was when the link was
 * created.
 * Invariant: the link allows its bearer only to read and to fork, never later events. Each read checks that the share
 * is open, before it uses a result shared with other reads. So a link that was revoked or has expired stops working at
 * once, and so do the URLs of blobs that it showed. A reader learns neither tenant nor session. Forking needs a caller
 * of the same tenant. Only the session's owner creates, lists and revokes shares.
 */
import { SCHEMA_VERSION } from "@turnstream/protocol";
import { toHistory } from "@turnstream/protocol/blocks";
import { restBodies, restReplies } from "@turnstream/protocol/schema";
import { turnSnapshot } from "@turnstream/protocol/writer";
import { z } from "zod";
import { archiveSession } from "../../../session/archive/archive.ts";
import { findShare, readSharedSession, type SharedHistory } from "../../../session/history/shared-history.ts";
import { isStoreError } from "../../../store/errors.ts";
import { forkShare } from "../../../store/fork/fork-share.ts";
import { MAX_PAGE } from "../../../store/rules/arguments.ts";
import { formatShareToken, type Share } from "../../../store/shares.ts";
import { ID_RULE, isId } from "../../../util/names.ts";
import type { Store } from "../../../store/store.ts";
import { SingleFlight } from "../../../util/single-flight.ts";
import type { Caller } from "../../caller.ts";
import { RequestError } from "../../errors.ts";
import { toJsonWithBlobUrls } from "../../encoding/encode.ts";
import { stringifyWithSnapshot } from "../../encoding/encode-snapshot.ts";
import { pageBefore, pageLimit } from "./page-query.ts";
import type { GatewayContext } from "../../context.ts";
import { type Route, defineRoute } from "../route.ts";
import { toSessionJson } from "./sessions.ts";
import { defined } from "../../../util/defined.ts";

const MAX_TURNS = 50;
const DEFAULT_TURNS = 20;
const DEFAULT_SHARES = 20;
/** The dialects with history. A `tasks` or `responses` client has no way to show past turns. */
const HISTORY_DIALECTS = ["native", "blocks"] as const;

function toShareJson(share: Share) {
  const { id, session, upTo, createdAt, expiresAt } = share;
  return {
    share_id: id,
    token: formatShareToken(share),
    session_id: session,
    event_id: upTo,
    created_at: createdAt,
    expires_at: expiresAt,
  };
}

function shareNotFound(): RequestError {
  return new RequestError("NOT_FOUND", "The share does not exist, has expired, or was revoked.");
}

/** @throws RequestError if the link is forged, expired or revoked */
async function requireShare(
  { store, reportSecurityEvent }: GatewayContext,
  { from }: Caller,
  token: string,
): Promise<Share> {
  const share = await findShare(store, token);
  if (share !== null) return share;
  reportSecurityEvent({ type: "signature_invalid", reason: "share_link" }, from);
  throw shareNotFound();
}

const create = defineRoute({
  method: "POST",
  path: "/sessions/{session}/shares",
  summary: "Creates a share of the session as it is now. Later events are not part of it.",
  scope: "share",
  idempotent: true,
  body: restBodies.create_share,
  responseSchema: restReplies.share,
  async handle({ context, caller, ref, body: { expires_in_seconds: seconds }, newId }) {
    // A share contains only archived events, so archive the session first.
    await archiveSession(context, ref);
    const { shares } = context.store;
    const id = newId();
    const expiresInMs = seconds === undefined ? undefined : seconds * 1_000;
    const share = await createOnce(
      () => shares.create(caller, ref.session, { id, ...defined({ expiresInMs }) }),
      () => shares.find(id),
    );
    return { status: 201, json: toShareJson(share) };
  },
});

/** A repeated request finds what the first one has created. */
async function createOnce<T>(createNew: () => Promise<T>, findExisting: () => Promise<T | null>): Promise<T> {
  try {
    return await createNew();
  } catch (error) {
    const existing = isStoreError(error, "EXISTS") ? await findExisting() : null;
    if (existing === null) throw error;
    return existing;
  }
}

const list = defineRoute({
  method: "GET",
  path: "/sessions/{session}/shares",
  summary: "Lists the open shares of a session.",
  scope: "share",
  responseSchema: restReplies.session_shares,
  async handle({ context, caller, ref }) {
    const shares = await context.store.shares.list(caller, ref.session);
    return { status: 200, json: { shares: shares.map(toShareJson) } };
  },
});

const listOwn = defineRoute({
  method: "GET",
  path: "/shares",
  summary: "Lists the open shares of all sessions of the caller, or of one `session`, the newest first.",
  scope: "share",
  query: z.strictObject({
    session: z.string().refine(isId, `must have ${ID_RULE}`).exactOptional(),
    limit: pageLimit(MAX_PAGE, DEFAULT_SHARES),
    before: z.string().max(1_000).exactOptional(),
  }),
  responseSchema: restReplies.shares,
  async handle({ context, caller, query }) {
    const { shares, next } = await context.store.shares.listOwn(caller, query);
    const listed = shares.map((share) => ({ ...toShareJson(share), title: share.title }));
    return { status: 200, json: { shares: listed, next_before: next } };
  },
});

const revoke = defineRoute({
  method: "DELETE",
  path: "/sessions/{session}/shares/{share}",
  summary: "Closes a share, by its `share_id`. Its link stops working.",
  scope: "share",
  async handle({ context, caller, ref, params }) {
    const { shares } = context.store;
    const share = await shares.find(params["share"] ?? "");
    const isOfSession = share?.tenant === ref.tenant && share.session === ref.session;
    if (!isOfSession || !(await shares.revoke(caller, share.id))) throw shareNotFound();
    return { status: 204 };
  },
});

const sharedQuery = z.strictObject({
  dialect: z.enum(HISTORY_DIALECTS).default("native"),
  before: pageBefore,
  limit: pageLimit(MAX_TURNS, DEFAULT_TURNS),
});

const read = defineRoute({
  method: "GET",
  path: "/shares/{token}",
  summary:
    "Returns a page of the session as it was shared, the newest first, for `native` or `blocks` clients. Needs no credentials besides the link.",
  scope: null,
  query: sharedQuery,
  responseSchema: z.union([restReplies.shared, restReplies.history]),
  async handle({ context, caller, params, query }) {
    const token = params["token"] ?? "";
    // Check this for every request, before results are shared: a share that was just revoked must not be shown.
    const share = await requireShare(context, caller, token);
    const subject = { session: share.session, share: share.id };
    await context.audit.noteHourly(share.tenant, { actor: null, action: "share.read", subject });
    const key = JSON.stringify([token, query.dialect, query.before, query.limit]);
    const jsonText = await getFlight(context.store).run(key, () => readSharedJson(context, token, query));
    if (jsonText === null) throw shareNotFound();
    return { status: 200, jsonText };
  },
});

/** Per store. Many clients can open the same link at once, without a key and with the same query. */
const flights = new WeakMap<Store, SingleFlight<string | null>>();

function getFlight(store: Store): SingleFlight<string | null> {
  const flight = flights.get(store) ?? new SingleFlight();
  flights.set(store, flight);
  return flight;
}

async function readSharedJson(
  { store, slices, createBlobUrlResolver }: GatewayContext,
  token: string,
  { dialect, before, limit }: z.infer<typeof sharedQuery>,
): Promise<string | null> {
  const page = { turns: limit, ...defined({ before }) };
  const shared = await readSharedSession(store, token, { ...page, run: slices.run });
  if (shared === null) return null;
  const { share, state } = shared;
  const resolveBlobUrl = createBlobUrlResolver({ share: share.id });
  const stringify = (json: object) => slices.run(() => toJsonWithBlobUrls({ resolveBlobUrl }, json));
  if (dialect === "blocks") return stringify(toBlocksPage(shared, before === undefined));
  const head = {
    title: state.title,
    event_id: share.upTo,
    created_at: share.createdAt,
    expires_at: share.expiresAt,
    ...toPageEnd(shared),
  };
  if (before !== undefined) {
    const turns = state.turns.toArray().map(turnSnapshot);
    return stringify({ ...head, v: SCHEMA_VERSION, turns });
  }
  const target = { resolveBlobUrl, includeHidden: false };
  return stringifyWithSnapshot(slices, target, head, state, Infinity);
}

/** Returns the page in the format of `GET /sessions/{session}/history`, so that one decoder reads both. */
function toBlocksPage(shared: SharedHistory, isNewest: boolean) {
  const { messages, ...current } = toHistory(shared.state);
  return {
    ...(isNewest ? { ...current, last_event_id: shared.share.upTo } : {}),
    messages,
    ...toPageEnd(shared),
  };
}

function toPageEnd({ next }: SharedHistory) {
  return { has_more: next !== null, next_before: next };
}

const fork = defineRoute({
  method: "POST",
  path: "/shares/{token}/fork",
  summary: "Creates a session of the caller from a share of the same tenant.",
  scope: "write",
  idempotent: true,
  body: z.strictObject({}),
  async handle({ context, caller, params, newId }) {
    const { store } = context;
    const share = await requireShare(context, caller, params["token"] ?? "");
    const id = newId();
    const session = await createOnce(
      () => forkShare(store, caller, share.id, { id }),
      () => store.sessions.get(caller, id),
    ).catch((error: unknown) => {
      throw isStoreError(error, "NOT_FOUND") ? shareNotFound() : error;
    });
    return { status: 201, json: toSessionJson(session), session: session.id };
  },
});

export const shareRoutes: readonly Route[] = [create, list, listOwn, revoke, read, fork];
