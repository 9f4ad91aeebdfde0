/** Simplified Chinese, of what can go wrong. */
import type { ProblemStrings } from "../strings.ts";

export const problems: ProblemStrings = {
  byCode: {
    OFFLINE: "没有连接，内容尚未发送。",
    UNSURE: "收到答复前连接已断开，请求可能已送达。",
    ABORTED: "操作在完成前已中止。",
    SERVER_ERROR: "服务器出错，请稍后再试。",
    BAD_REQUEST: "服务器无法接受此内容，请修改后重试，或刷新页面。",
    UNAUTHENTICATED: "请重新登录后继续。",
    FORBIDDEN: "您没有执行此操作的权限。",
    NOT_FOUND: "内容已不存在，或您无权查看。",
    CONFLICT: "已有人先作出答复，请查看当前状态。",
    RATE_LIMITED: "操作过于频繁，请稍后再试。",
    TOO_LARGE: "内容过大，请减少后再发送。",
    STREAM_TIMEOUT: "长时间没有响应，请重试。",
    CURSOR_INVALID: "此页面已失去读取位置，请刷新页面。",
    CURSOR_EXPIRED: "此页面断开时间过长，请刷新页面。",
    STREAM_CLOSED: "服务器正在重启，稍后将继续。",
    LLM_ERROR: "模型未能作答，请重试。",
    LLM_RATE_LIMITED: "模型繁忙，请稍后再试。",
    LLM_REFUSED: "模型拒绝了此内容，请换一种说法。",
    CONTEXT_TOO_LONG: "对话过长，模型无法处理，请开始新的对话。",
    TOOL_ERROR: "工具出错，请重试。",
    LIMIT_REACHED: "已达到上限。",
    OUTCOME_UNKNOWN: "操作被中断，请确认是否已生效。",
    INTERACTION_CLOSED: "此事项已有决定，或已超过时限。",
    INTERACTION_MISMATCH: "内容已有变化，请重新查看后再决定。",
  },
  other: (message) => `操作未成功：${message}`,
};
