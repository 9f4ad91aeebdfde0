/** Routes of shares: links to a session as it is now, for whoever has one. A link reads, and can be copied; no more. */
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
const USUAL_TURNS = 20;

function shareJson({ id, upTo, createdAt }: Share, secret: string) {
  return { share_id: id, token: signShare(id, secret), event_id: upTo, created_at: createdAt };
}

function noShare(): RequestError {
  return new RequestError("NOT_FOUND", "There is no such share, or it is no longer open.");
}

const create = defineRoute({
  method: "POST",
  path: "/sessions/{session}/shares",
  summary: "Shares a session as it is now. What comes later is not in it.",
  scope: "share",
  idempotent: true,
  body: z.strictObject({}),
  async handle({ parts, caller, ref, newId }) {
    // A share reaches as far as the archive does.
    await archiveSession(parts, ref);
    const share = await shareOnce(parts, caller, ref.session, newId());
    return { status: 201, json: shareJson(share, parts.secrets[0]) };
  },
});

/** A repeat finds what the first has made. */
async function shareOnce(
  { store }: GatewayContext,
  caller: Caller,
  session: string,
  id: string,
): Promise<Share> {
  try {
    return await store.shares.create(caller, session, id);
  } catch (error) {
    const there = isStoreError(error, "EXISTS") ? await store.shares.find(id) : null;
    if (there === null) throw error;
    return there;
  }
}

const list = defineRoute({
  method: "GET",
  path: "/sessions/{session}/shares",
  summary: "The shares of a session that are open.",
  scope: "share",
  async handle({ parts, caller, ref }) {
    const shares = await parts.store.shares.list(caller, ref.session);
    return { status: 200, json: { shares: shares.map((share) => shareJson(share, parts.secrets[0])) } };
  },
});

const revoke = defineRoute({
  method: "DELETE",
  path: "/sessions/{session}/shares/{share}",
  summary: "Closes a share, by its `share_id`: its link shows nothing from now on.",
  scope: "share",
  async handle({ parts, caller, ref, params }) {
    const { shares } = parts.store;
    const share = (await shares.list(caller, ref.session)).find(({ id }) => id === params["share"]);
    if (share === undefined || !(await shares.revoke(caller, share.id))) throw noShare();
    return { status: 204 };
  },
});

const read = defineRoute({
  method: "GET",
  path: "/shares/{token}",
  summary: "What a link shows: a snapshot of the session as it was shared. The link is all that is needed.",
  scope: null,
  query: z.strictObject({ turns: pageLimit(MAX_TURNS, USUAL_TURNS) }),
  async handle({ parts, params, query }) {
    const token = params["token"] ?? "";
    const id = readShareToken(token, parts.secrets);
    // Asked by everybody: a link that was closed a moment ago shows nothing, whoever else is still being shown it.
    if (id === null || (await parts.store.shares.find(id)) === null) throw noShare();
    const ask = JSON.stringify([token, query.turns]);
    const jsonText = await askedOf(parts.store).run(ask, () => shownBy(parts, token, query.turns));
    if (jsonText === null) throw noShare();
    return { status: 200, jsonText };
  },
});

/** By store: a link may be opened by many at once, who need no key and all ask for the same. */
const asked = new WeakMap<Store, SingleFlight<string | null>>();

function askedOf(store: Store): SingleFlight<string | null> {
  const once = asked.get(store) ?? new SingleFlight();
  asked.set(store, once);
  return once;
}

async function shownBy(
  { store, slices, secrets, blobBase, env }: GatewayContext,
  token: string,
  turns: number,
): Promise<string | null> {
  const shared = await readSharedSession(store, token, secrets, { turns, run: slices.run });
  if (shared === null) return null;
  const { share, state } = shared;
  const addressOf = createBlobUrls(share, { base: blobBase, secret: secrets[0], now: env.now() });
  const head = { title: state.title, event_id: share.upTo, created_at: share.createdAt };
  return stringifyWithSnapshot(slices, { addressOf }, head, state, countTurnsWithinLimit(state, turns));
}

const fork = defineRoute({
  method: "POST",
  path: "/shares/{token}/fork",
  summary: "Makes a session of the caller's own from a share of their tenant.",
  scope: "write",
  idempotent: true,
  body: z.strictObject({}),
  async handle({ parts, caller, params, newId }) {
    const share = readShareToken(params["token"] ?? "", parts.secrets);
    if (share === null) throw noShare();
    const session = await forkOnce(parts, caller, share, newId());
    return { status: 201, json: toSessionJson(session), session: session.id };
  },
});

/** A repeat finds what the first has made. */
async function forkOnce(
  { store }: GatewayContext,
  caller: Caller,
  share: string,
  id: string,
): Promise<Session> {
  try {
    return await forkShare(store, caller, share, { id });
  } catch (error) {
    if (isStoreError(error, "NOT_FOUND")) throw noShare();
    const there = isStoreError(error, "EXISTS") ? await store.sessions.get(caller, id) : null;
    if (there === null) throw error;
    return there;
  }
}

export const shareRoutes: readonly Route[] = [create, list, revoke, read, fork];
