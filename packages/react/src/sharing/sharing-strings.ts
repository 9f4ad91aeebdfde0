/**
 * `sharingStrings` returns the strings of the sharing components in the language of the page.
 * Invariant: what a catalog leaves out is English. The English ones are not part of `en`, so that a page without sharing
 * doesn't load them.
 */
import { sharing as enSharing } from "../strings/en/sharing.ts";
import { extendStrings } from "../strings/extend-strings.ts";
import type { SharingStrings, Strings } from "../strings/strings.ts";

export { enSharing };

export function sharingStrings(strings: Strings): SharingStrings {
  return extendStrings(enSharing, strings.sharing);
}
