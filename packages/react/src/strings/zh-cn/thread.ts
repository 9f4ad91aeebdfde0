/**
 * `thread`, `chat` and `errors` are the Simplified Chinese strings of the thread, of the whole chat and of errors.
 * Invariant: their types require every key of the English strings and a text for every error code.
 */
import { countText } from "@turnstream/protocol";
import type { ChatStrings, ComposerStrings, ErrorStrings, ThreadStrings } from "../strings.ts";

export const thread: ThreadStrings = {
  conversation: "对话",
  loadEarlier: "查看更早的消息",
  loadingEarlier: "正在加载更早的消息…",
  loadEarlierFailed: "更早的消息加载失败。",
  toNewest: "跳到最新消息",
  tryAgain: "重试",
  loadFailed: "页面的一部分加载失败。请重试，或重新加载页面。",
  you: "你",
  author: "作者",

  working: "正在处理…",
  done: "已完成",
  thinking: "正在思考…",
  thought: "思考过程",
  steps: countText("zh-CN", { other: "# 步" }),
  results: countText("zh-CN", { other: "# 条结果" }),
  failedSteps: countText("zh-CN", { other: "# 步失败" }),
  seconds: (n) => `${n} 秒`,
  minutes: (minutes, seconds) => `${minutes} 分 ${seconds} 秒`,

  request: "请求",
  response: "响应",
  edited: "已由你修改",
  showAll: "查看全部",
  toolStatus: { pending: "进行中", done: "已完成", error: "失败", stopped: "已停止", waiting: "等待你操作" },
  subAgent: (name) => `${name} 的工作`,

  stopped: "你已停止。发送新消息即可继续。",
  failed: "出现错误，已完成的步骤已保存。",
  notRetryable: "目前无法回答，需要服务的运营人员处理。",
  limitReached: (limit) => `回答已达到上限（${limit}），因此结束。`,
  limits: {
    steps: countText("zh-CN", { other: "# 步" }),
    tokens: countText("zh-CN", { other: "# 个 token" }),
    events: countText("zh-CN", { other: "# 个事件" }),
    seconds: countText("zh-CN", { other: "# 秒" }),
    cost: countText("zh-CN", { other: "费用 #" }),
  },
  lostTurns: "服务器故障，此对话的最新消息已丢失。",
  resuming: "回答中断，即将继续…",
  noWorker: "没有 worker 在运行。启动后会回答此消息。",
  retry: "重试",

  messageStatus: {
    queued: "排队中",
    waiting: "恢复联网后发送",
    sending: "正在发送…",
    failed: "未能发送",
  },
  cancel: "撤回",
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
    offline: "你已离线，恢复联网后对话会继续。",
    closed: "连接已关闭。",
    retryNow: "立即重试",
  },

  announce: {
    started: (agent) => `${agent} 正在处理。`,
    needsApproval: (what) => `需要你批准：${what}。`,
    needsAnswer: (what) => `有问题要问你：${what}`,
    needsForm: (what) => `有表单需要填写：${what}。`,
    needsPayment: (what) => `有待支付的款项：${what}。`,
    paymentChanged: (what, status) => `付款“${what}”：${status}。`,
    done: (agent) => `${agent} 已完成回答。`,
    stopped: "已停止。",
    failed: (what) => `出错了。${what}`,
  },

  welcome: "有什么可以帮您？",
  suggestions: "建议",
};

export const chat: ChatStrings = {
  sessions: "对话",
  newSession: "新对话",
  untitled: "未命名的对话",
  noSessions: "您的对话将显示在这里。",
  loading: "正在加载…",
  moreSessions: "显示更多",
  openList: "打开对话列表",
  closeList: "关闭对话列表",

  rename: (title) => `重命名“${title}”`,
  newTitle: "新名称",
  save: "保存",
  renamed: "对话已重命名。",

  delete: (title) => `删除“${title}”`,
  deleteQuestion: "永久删除此对话？",
  deleteConfirm: "删除",
  cancel: "取消",
  deleted: "对话已删除。",

  missing: "此对话已不存在。您可以开始新对话。",
  signedOut: "您已退出登录。请登录以查看您的对话。",
};

/** Texts of refused files and of the choice of an agent, in Simplified Chinese. */
export const composer: ComposerStrings = {
  notAdded: (names, reason) => `未添加：${names}。${reason}`,
  moreFiles: countText("zh-CN", { other: "另外 # 个文件" }),
  accepted: (kinds) => `可用的类型：${kinds}。`,
  noFiles: "这里不能添加文件。",
  maxSize: (size) => `每个文件最大 ${size}。`,
  maxFiles: countText("zh-CN", { other: "每条消息最多 # 个文件。" }),
  kinds: { image: "图片", audio: "音频", video: "视频", text: "文本" },
  dismiss: "关闭",
  agent: "助手",
};

/** Simplified Chinese texts of errors. */
export const errors: ErrorStrings = {
  byCode: {
    OFFLINE: "没有连接，内容尚未发送。",
    UNSURE: "收到响应前连接已断开，请求可能已成功。",
    ABORTED: "操作在完成前已取消。",
    SERVER_ERROR: "服务器出错，请稍后再试。",
    BAD_REQUEST: "服务器拒绝了此内容，请修改或刷新页面。",
    UNAUTHENTICATED: "请重新登录后继续。",
    FORBIDDEN: "你没有执行此操作的权限。",
    NOT_FOUND: "内容已不存在，或你无权访问。",
    CONFLICT: "其他用户已先行操作，请查看当前状态。",
    RATE_LIMITED: "您已达到使用上限，请稍后再试。",
    TOO_LARGE: "内容过大，请减少后再发送。",
    STREAM_TIMEOUT: "服务器长时间没有响应，请重试。",
    CURSOR_INVALID: "此页面已不同步，请刷新页面。",
    CURSOR_EXPIRED: "此页面断开时间过长，请刷新页面。",
    STREAM_CLOSED: "服务器正在重启，回答稍后将继续。",
    LLM_ERROR: "模型未能作答，请重试。",
    LLM_RATE_LIMITED: "模型繁忙，请稍后再试。",
    LLM_REFUSED: "模型拒绝了此内容，请换一种说法。",
    CONTEXT_TOO_LONG: "对话过长，模型无法处理，请开始新的对话。",
    TOOL_ERROR: "工具出错，请重试。",
    LIMIT_REACHED: "已达到上限。",
    OUTCOME_UNKNOWN: "操作被中断，请确认是否已生效。",
    USAGE_LIMIT_REACHED: "已达到当日或当月的用量上限，请稍后再试。",
    INTERACTION_CLOSED: "此请求已有决定，或已超过时限。",
    INTERACTION_MISMATCH: "内容已有变化，请检查后再决定。",
  },
  other: (message) => `操作未成功：${message}`,
};
