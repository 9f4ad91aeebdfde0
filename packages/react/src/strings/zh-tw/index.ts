/**
 * `zhTw` are the Traditional Chinese strings.
 * Invariant: this is a subpath of its own, so a page loads them only if it imports them. Its locale also formats
 * numbers.
 */
"use client";

import type { Strings } from "../strings.ts";
import { approvals, cards, fieldProblem, payments } from "./cards.ts";
import { sharing } from "./sharing.ts";
import { chat, composer, errors, thread } from "./thread.ts";

export const zhTw: Strings = {
  locale: "zh-TW",
  thread,
  cards,
  fieldProblem,
  approvals,
  payments,
  sharing,
  chat,
  composer,
  errors,
};
