/** `resolveSharingStrings` returns strings with those of the share dialog and of the page of a shared conversation. */
import { createResolver } from "./extend-strings.ts";
import { threadStrings } from "./thread.ts";

/** English. Dates arrive as formatted text. */
export const sharing = {
  title: "Share this conversation",
  explanation:
    "Everyone with the link can read the conversation as it is now. Later messages are not part of it.",
  close: "Close",

  expiry: "The link works",
  expiryChoices: { day: "for 1 day", week: "for 7 days", month: "for 30 days", never: "until you revoke it" },
  create: "Create link",
  created: "The link was created.",

  links: "Links to this conversation",
  noLinks: "There are no links yet.",
  loading: "Loading…",
  moreLinks: "Show more links",
  link: "Link",
  createdOn: (date: string): string => `Created on ${date}`,
  expiresOn: (date: string): string => `Works until ${date}`,
  neverExpires: "Works until you revoke it",

  copy: "Copy",
  copied: "Copied",
  copyFailed: "The link could not be copied. Select it and copy it yourself.",

  revoke: "Revoke",
  revokeQuestion: "This link will stop working at once, for everyone.",
  revokeConfirm: "Revoke link",
  cancel: "Cancel",
  revoked: "The link was revoked.",

  shared: "Shared conversation",
  sharedOn: (date: string): string => `As it was on ${date}. You can read it, but not write in it.`,
  continueOwn: "Continue in my own conversation",
  notFound: "This link doesn't work. It was revoked, has expired, or is incomplete.",
};

export const resolveSharingStrings = /* @__PURE__ */ createResolver({ ...threadStrings, sharing });

export type SharingStrings = ReturnType<typeof resolveSharingStrings>;
