/**
 * `vi` are the Vietnamese strings.
 * Invariant: this is a subpath of its own, so a page loads them only if it imports them. Its locale also formats
 * numbers.
 */
"use client";

import type { Strings } from "../strings.ts";
import { approvals, cards, fieldProblem, payments } from "./cards.ts";
import { sharing } from "./sharing.ts";
import { chat, composer, errors, thread } from "./thread.ts";

export const vi: Strings = {
  locale: "vi",
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
