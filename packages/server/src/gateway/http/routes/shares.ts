/**
 * `shareRoutes` create, list, revoke, read and fork shares. A share is a link to a session as it was when the link was
 * created.
 * Invariant: the link allows its bearer only to read and to fork, never later events. Each read checks that the share
 * is open, before it uses a result shared with other reads. So a revoked link stops working at once. Forking needs a
 * caller of the same tenant. Only the session's owner creates, lists and revokes shares.
 */
import { z } from "zod";
import { archiveSession } from "../../../session/archive/archive.ts";
import { createBlobUrls } from "../../../session/blobs/blob-url.ts";
import { readSharedSession } from "../../../session/history/shared-history.ts";
import { countTurnsWithinLimit } from "../../../session/history/turn-pages.ts";
import { isStoreError } from "../../../store/errors.ts";
import { forkShare } from "../../../store/fork/fork-share.ts";
import type { Session } from "../../../store/ports/sessions.ts";
import type { Share } from "../../../store/ports/access.ts";
import { readShareToken, signShare } from "../../../store/rules/share-token.ts";
import type { Store } from "../../../store/store.ts";
import { SingleFlight } from "../../../util/single-flight.ts";
import type { Caller } from "../../caller.ts";
import { RequestError } from "../../errors.ts";
import { stringifyWithSnapshot } from "../../encoding/encode-snapshot.ts";
import { pageLimit } from "./page-query.ts";
import type { GatewayContext } from "../../context.ts";
import { type Route, defineRoute } from "../route.ts";
import { toSessionJson } from "./sessions.ts";

const MAX_TURNS = 50;
const DEFAULT_TURNS = 20;

function toShareJson({ id, upTo, createdAt }: Share, secret: string) {
  return { share_id: id, token: signShare(id, secret), event_id: upTo, created_at: createdAt };
}

function shareNotFound(): RequestError {
  return new RequestError("NOT_FOUND", "The share does not exist, or was revoked.");
}

const create = defineRoute({
  method: "POST",
  path: "/sessions/{session}/shares",
  summary: "Creates a share of the session as it is now. Later events are not part of it.",
  scope: "share",
  idempotent: true,
  body: z.strictObject({}),
  async handle({ context, caller, ref, newId }) {
    // A share contains only archived events, so archive the session first.
    await archiveSession(context, ref);
    const share = await createShareOnce(context, caller, ref.session, newId());
    return { status: 201, json: toShareJson(share, context.secrets[0]) };
  },
});

/** A repeated request finds the share of the first one. */
async function createShareOnce(
  { store }: GatewayContext,
  caller: Caller,
  session: string,
  id: string,
): Promise<Share> {
  try {
    return await store.shares.create(caller, session, id);
  } catch (error) {
    const existing = isStoreError(error, "EXISTS") ? await store.shares.find(id) : null;
    if (existing === null) throw error;
    return existing;
  }
}

const list = defineRoute({
  method: "GET",
  path: "/sessions/{session}/shares",
  summary: "Lists the open shares of a session.",
  scope: "share",
  async handle({ context, caller, ref }) {
    const shares = await context.store.shares.list(caller, ref.session);
    return { status: 200, json: { shares: shares.map((share) => toShareJson(share, context.secrets[0])) } };
  },
});

const revoke = defineRoute({
  method: "DELETE",
  path: "/sessions/{session}/shares/{share}",
  summary: "Closes a share, by its `share_id`. Its link stops working.",
  scope: "share",
  async handle({ context, caller, ref, params }) {
    const { shares } = context.store;
    const share = (await shares.list(caller, ref.session)).find(({ id }) => id === params["share"]);
    if (share === undefined || !(await shares.revoke(caller, share.id))) throw shareNotFound();
    return { status: 204 };
  },
});

const read = defineRoute({
  method: "GET",
  path: "/shares/{token}",
  summary: "Returns a snapshot of the session as it was shared. Needs no credentials besides the link.",
  scope: null,
  query: z.strictObject({ turns: pageLimit(MAX_TURNS, DEFAULT_TURNS) }),
  async handle({ context, params, query }) {
    const token = params["token"] ?? "";
    const id = readShareToken(token, context.secrets);
    // Check this for every request, before results are shared: a share that was just revoked must not be shown.
    if (id === null || (await context.store.shares.find(id)) === null) throw shareNotFound();
    const key = JSON.stringify([token, query.turns]);
    const jsonText = await getFlight(context.store).run(key, () =>
      readSharedJson(context, token, query.turns),
    );
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
  { store, slices, secrets, blobBase, env }: GatewayContext,
  token: string,
  turns: number,
): Promise<string | null> {
  const shared = await readSharedSession(store, token, secrets, { turns, run: slices.run });
  if (shared === null) return null;
  const { share, state } = shared;
  const resolveBlobUrl = createBlobUrls(share, { base: blobBase, secret: secrets[0], now: env.now() });
  const head = { title: state.title, event_id: share.upTo, created_at: share.createdAt };
  return stringifyWithSnapshot(slices, { resolveBlobUrl }, head, state, countTurnsWithinLimit(state, turns));
}

const fork = defineRoute({
  method: "POST",
  path: "/shares/{token}/fork",
  summary: "Creates a session of the caller from a share of the same tenant.",
  scope: "write",
  idempotent: true,
  body: z.strictObject({}),
  async handle({ context, caller, params, newId }) {
    const share = readShareToken(params["token"] ?? "", context.secrets);
    if (share === null) throw shareNotFound();
    const session = await forkOnce(context, caller, share, newId());
    return { status: 201, json: toSessionJson(session), session: session.id };
  },
});

/** A repeated request finds the session of the first one. */
async function forkOnce(
  { store }: GatewayContext,
  caller: Caller,
  share: string,
  id: string,
): Promise<Session> {
  try {
    return await forkShare(store, caller, share, { id });
  } catch (error) {
    if (isStoreError(error, "NOT_FOUND")) throw shareNotFound();
    const existing = isStoreError(error, "EXISTS") ? await store.sessions.get(caller, id) : null;
    if (existing === null) throw error;
    return existing;
  }
}

export const shareRoutes: readonly Route[] = [create, list, revoke, read, fork];
