/**
 * `sharing` are the Simplified Chinese strings of the share dialog and of the page of a shared conversation.
 * Invariant: every key of the English strings has a text here.
 */
import type { SharingStrings } from "../strings.ts";

export const sharing: SharingStrings = {
  title: "分享此对话",
  explanation: "任何拥有链接的人都可以阅读当前的对话。之后的消息不会包含在内。",
  close: "关闭",

  expiry: "链接有效期",
  expiryChoices: { day: "1 天", week: "7 天", month: "30 天", never: "直到您撤销" },
  create: "创建链接",
  created: "链接已创建。",

  links: "此对话的链接",
  noLinks: "还没有链接。",
  loading: "正在加载…",
  moreLinks: "显示更多链接",
  link: "链接",
  createdOn: (date) => `创建于 ${date}`,
  expiresOn: (date) => `有效期至 ${date}`,
  neverExpires: "有效直到您撤销",

  copy: "复制",
  copied: "已复制",
  copyFailed: "无法复制链接。请选中链接并自行复制。",

  revoke: "撤销",
  revokeQuestion: "此链接将立即对所有人失效。",
  revokeConfirm: "撤销链接",
  cancel: "取消",
  revoked: "链接已撤销。",

  shared: "分享的对话",
  sharedOn: (date) => `内容截至 ${date}。您可以阅读，但不能在此回复。`,
  continueOwn: "在我自己的对话中继续",
  notFound: "此链接无效。它可能已被撤销、已过期或不完整。",
};
