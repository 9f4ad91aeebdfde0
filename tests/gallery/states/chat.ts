/** `chatStates` lists the states of the list of sessions and of a whole chat. */
import { ClientError } from "@turnstream/client";
import { shortAnswer } from "../logs/texts.ts";
import { type GalleryState, of, pressWhenShown, type SessionsState } from "./state.ts";

const offline = new ClientError("OFFLINE", "There is no connection.", { canRetry: true });
const forbidden = new ClientError("FORBIDDEN", "The token has no scope `write`.");
const signedOut = new ClientError("UNAUTHENTICATED", "The token has expired.");

const TITLES = [
  "VNM 83.000",
  "VN-Index 1.284,6",
  "MCH 2026: P/E, P/B, ROE, ROA, EPS, DPS, EV/EBITDA",
  null,
  "مؤشر السوق",
];
const MANY = Array.from({ length: 30 }, (_, n) => `VN-Index ${n + 1}/3`);

const log = () => shortAnswer().events;
const list = (sessions: SessionsState) => ({ log, shows: "session-list", sessions }) as const;
const chat = (sessions: SessionsState) => ({ log, shows: "chat", sessions }) as const;
const isShown = pressWhenShown(".ts-chat");

export const chatStates: readonly GalleryState[] = [
  ...of("session-list", {
    empty: list({}),
    loading: list({ isLoading: true }),
    some: list({ titles: TITLES }),
    many: list({ titles: MANY, hasMore: true }),
    renaming: { ...list({ titles: TITLES }), act: pressWhenShown("[data-action=rename]") },
    deleting: { ...list({ titles: TITLES }), act: pressWhenShown("[data-action=delete]") },
    refused: {
      ...list({ titles: TITLES, refusal: forbidden }),
      act: pressWhenShown("[data-action=delete]", "[data-action=confirm]"),
    },
    failed: list({ error: offline }),
  }),
  ...of("chat", {
    new: { ...chat({ titles: TITLES }), act: isShown },
    conversation: { ...chat({ titles: TITLES }), act: pressWhenShown(".ts-session-open") },
    first: { ...chat({}), act: isShown },
    "signed-out": { ...chat({ error: signedOut }), act: isShown },
    failed: { ...chat({ error: offline }), act: isShown },
    unsent: {
      ...chat({ titles: TITLES, refusal: offline }),
      act: pressWhenShown(".ts-suggestion", ".ts-send:enabled"),
    },
    narrow: { ...chat({ titles: TITLES, isNarrow: true }), act: pressWhenShown(".ts-session-open") },
    drawer: { ...chat({ titles: TITLES, isNarrow: true }), act: pressWhenShown(".ts-chat-head button") },
  }),
];
