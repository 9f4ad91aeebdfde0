/** `sharingStates` lists the states of the share dialog and of the page of a shared session. */
import { ClientError } from "@turnstream/client";
import type { Story } from "@turnstream/conformance/scenarios/story.ts";
import * as endings from "../logs/endings.ts";
import { shortAnswer } from "../logs/texts.ts";
import { type GalleryState, of, press } from "./state.ts";

const log = (write: () => Story) => ({ log: () => write().events });
const offline = new ClientError("OFFLINE", "There is no connection.", { canRetry: true });
const forbidden = new ClientError("FORBIDDEN", "The token has no scope `share`.");
const closed = new ClientError("NOT_FOUND", "The share does not exist.");
const signedOut = new ClientError("UNAUTHENTICATED", "The token has expired.");

const dialog = (sharing: GalleryState["sharing"] = {}) =>
  ({ ...log(shortAnswer), shows: "share-dialog", sharing }) as const;
const page = (sharing: GalleryState["sharing"] = {}) =>
  ({ ...log(shortAnswer), shows: "shared", sharing }) as const;

export const sharingStates: readonly GalleryState[] = [
  ...of("share-dialog", {
    empty: dialog(),
    loading: dialog({ isLoading: true }),
    links: dialog({ links: [7, 1, null], hasMore: true }),
    created: { ...dialog({ links: [null] }), act: press("[data-action=create]") },
    revoking: { ...dialog({ links: [7, null] }), act: press("[data-action=revoke]") },
    refused: { ...dialog({ refusal: forbidden }), act: press("[data-action=create]") },
    failed: dialog({ error: offline }),
  }),
  ...of("shared", {
    conversation: page(),
    stopped: { ...page(), ...log(endings.stopped) },
    loading: page({ isLoading: true }),
    closed: page({ error: closed }),
    offline: page({ error: offline }),
    "signed-out": { ...page({ refusal: signedOut }), act: press("[data-action=continue]") },
  }),
];
