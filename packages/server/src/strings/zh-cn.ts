/**
 * `zhCn` are the Simplified Chinese texts of the runtime.
 *
 * Invariant: the type requires every text that English has.
 */
import { countText } from "@turnstream/protocol";
import type { ReachedLimit, RuntimeStrings } from "./runtime-strings.ts";

const count = (other: string) => countText("zh-CN", { other });
const number = count("#");
const LIMITS: Readonly<Record<ReachedLimit["limit"], (value: number) => string>> = {
  steps: count("# 步"),
  tokens: count("# 个 token"),
  events: count("# 个事件"),
  seconds: count("# 秒"),
  cost: count("费用 #"),
};

export const zhCn: RuntimeStrings = {
  stopped: "你已停止此回答。发送新消息即可继续。",
  thinkingLabel: "思考",
  errors: {
    SERVER_ERROR: "服务器出错，请重试。",
    LLM_ERROR: "模型没有作答，请重试。",
    LLM_RATE_LIMITED: "模型繁忙，请稍后再试。",
    LLM_REFUSED: "模型拒绝回答，请换一种说法。",
    CONTEXT_TOO_LONG: "对话过长，模型无法处理，请开始新的对话。",
    OUTCOME_UNKNOWN: "操作被中断，不确定是否已生效，请确认。",
    USAGE_LIMIT_REACHED: "已达到当日或当月的用量上限，回答已结束，请稍后再试。",
  },
  notRetryable: "目前无法回答，需要服务的运营人员处理。",
  crashed: "多次尝试后仍无法完成这个回答。你可以重试。",
  toolFailed: "操作未成功。",
  rejected: "你已拒绝。",
  formRequested: "需要填写表单。",
  notApproved: "未在时限内获得批准。",
  truncatedArguments: (shown, of) => `[此处截断：显示 ${number(of)} 个字符中的 ${number(shown)} 个。]`,
  limit: ({ limit, value }) => `回答已达到上限（${LIMITS[limit](value)}），因此结束。`,
  historyLost: "数据库故障后，服务器丢失了此轮之前的部分对话。那段时间的消息和决定可能需要重新提交。",
  retrying: (seconds, attempt, tries) =>
    `模型没有响应，${number(seconds)} 秒后重试（第 ${number(attempt)} 次，共 ${number(tries)} 次）。`,
  readingFile: (name) => `正在读取 ${name}`,
  fileFailed: (name, problem) =>
    `无法读取 ${name}：${
      {
        NOT_ALLOWED: "不能使用此地址",
        NOT_FOUND: "该处没有内容",
        TOO_LARGE: "文件过大",
        TOO_MANY: "一次的文件过多",
        TIMEOUT: "用时过长",
        UNREACHABLE: "无法连接其服务器",
        UNSUPPORTED: "不支持此类文件",
        UNREADABLE: "文件已损坏或被锁定",
      }[problem]
    }。`,
  fileCut: (name) => `${name} 过长，只读取了开头部分。`,
  filesRead: (read, of, cut) => {
    const done = read === of ? `已读取 ${number(of)} 个文件` : `已读取 ${number(read)}/${number(of)} 个文件`;
    return cut === 0 ? done : `${done}（其中 ${number(cut)} 个只读取了开头）`;
  },
  conversationSummarized: "已总结此前的对话",
};
