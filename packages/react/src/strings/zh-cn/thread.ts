/** Simplified Chinese, of the thread. */
import type { ThreadStrings } from "../strings.ts";

export const thread: ThreadStrings = {
  conversation: "对话",
  loadEarlier: "查看更早的消息",
  loadingEarlier: "正在加载更早的消息…",
  loadEarlierFailed: "更早的消息加载失败。",
  toNewest: "跳到最新消息",
  tryAgain: "重试",
  you: "你",

  working: "正在处理…",
  done: "已完成",
  thinking: "正在思考…",
  thought: "思考过程",
  steps: (n) => `${n} 步`,
  results: (n) => `${n} 条结果`,
  failedSteps: (n) => `${n} 步失败`,
  running: "进行中",
  seconds: (n) => `${n} 秒`,
  minutes: (minutes, seconds) => `${minutes} 分 ${seconds} 秒`,

  request: "请求",
  response: "响应",
  edited: "已由你修改",
  showWhole: "查看全部",
  toolStatus: { pending: "进行中", done: "已完成", error: "失败", stopped: "已停止" },
  subAgent: (name) => `${name} 的工作`,

  stopped: "你已停止。发送新消息即可继续。",
  failed: "出了点问题，已完成的部分会保留。",
  retry: "重试",

  messageStatus: {
    queued: "将在本次回答之后处理",
    waiting: "恢复连接后发送",
    sending: "正在发送…",
    failed: "未能发送",
  },
  withdraw: "撤回",
  discard: "丢弃",
  resend: "重新发送",

  placeholder: "输入消息…",
  message: "消息",
  send: "发送",
  stop: "停止",
  attach: "添加文件",
  dropFiles: "将文件拖到这里",
  removeFile: (name) => `移除 ${name}`,
  uploading: (name) => `正在上传 ${name}`,
  uploadFailed: "上传失败",
  files: "文件",

  connection: {
    connecting: "正在连接…",
    replaying: "正在同步…",
    resyncing: "正在同步…",
    waiting: "连接已断开，正在重连…",
    waitingFor: (seconds) => `连接已断开，${seconds} 秒后重试。`,
    offline: "你已离线，联网后会自动继续。",
    closed: "连接已关闭。",
    retryNow: "立即重试",
  },

  announce: {
    started: (agent) => `${agent} 正在处理。`,
    needsApproval: (what) => `需要你批准：${what}。`,
    needsAnswer: (what) => `有问题要问你：${what}`,
    needsForm: (what) => `有表单需要填写：${what}。`,
    needsPayment: (what) => `有待支付的款项：${what}。`,
    done: (agent) => `${agent} 已完成回答。`,
    stopped: "已停止。",
    failed: (what) => `出错了。${what}`,
  },
};
