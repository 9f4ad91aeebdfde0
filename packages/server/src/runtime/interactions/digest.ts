/** What a decision is bound to: the call and its arguments as they were shown. Pure. */
import { createHash } from "node:crypto";
import type { Json } from "@turnstream/protocol";
import { canonicalJson } from "../../store/rules/canonical-json.ts";

export function digestOf(shown: { readonly [field: string]: Json }): string {
  return `sha256:${createHash("sha256").update(canonicalJson(shown)).digest("hex")}`;
}
