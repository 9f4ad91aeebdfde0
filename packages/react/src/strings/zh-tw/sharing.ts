/**
 * `sharing` are the Traditional Chinese strings of the share dialog and of the page of a shared conversation.
 * Invariant: every key of the English strings has a text here.
 */
import type { SharingStrings } from "../strings.ts";

export const sharing: SharingStrings = {
  title: "分享此對話",
  explanation: "任何擁有連結的人都可以閱讀目前的對話。之後的訊息不會包含在內。",
  close: "關閉",

  expiry: "連結有效期",
  expiryChoices: { day: "1 天", week: "7 天", month: "30 天", never: "直到您撤銷" },
  create: "建立連結",
  created: "連結已建立。",

  links: "此對話的連結",
  noLinks: "還沒有連結。",
  loading: "載入中…",
  moreLinks: "顯示更多連結",
  link: "連結",
  createdOn: (date) => `建立於 ${date}`,
  expiresOn: (date) => `有效期至 ${date}`,
  neverExpires: "有效直到您撤銷",

  copy: "複製",
  copied: "已複製",
  copyFailed: "無法複製連結。請選取連結並自行複製。",

  revoke: "撤銷",
  revokeQuestion: "此連結將立即對所有人失效。",
  revokeConfirm: "撤銷連結",
  cancel: "取消",
  revoked: "連結已撤銷。",

  shared: "分享的對話",
  sharedOn: (date) => `內容截至 ${date}。您可以閱讀，但不能在此回覆。`,
  continueOwn: "在我自己的對話中繼續",
  notFound: "此連結無效。它可能已被撤銷、已過期或不完整。",
};
