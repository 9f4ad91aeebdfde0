/** `stepStates` lists the states of texts, thoughts, tools, groups and sub-agents. */
import type { Story } from "@turnstream/conformance/scenarios/story.ts";
import * as groups from "../logs/groups.ts";
import * as texts from "../logs/texts.ts";
import * as tools from "../logs/tools.ts";
import { closeAll, type GalleryState, of, openAll, openGroups, press } from "./state.ts";

const log = (write: () => Story) => ({ log: () => write().events });

const groupOf = (count: number) => log(() => groups.groupOf(count));

export const stepStates: readonly GalleryState[] = [
  ...of("text", {
    streaming: { ...log(texts.shortAnswer), at: "text.delta 7" },
    done: log(texts.shortAnswer),
    "code-streaming": { ...log(texts.codeAnswer), at: "text.delta 10" },
    code: log(texts.codeAnswer),
    table: log(texts.tableAnswer),
    list: log(texts.listAnswer),
    long: log(texts.longAnswer),
    headings: log(texts.headings),
    links: log(texts.linkAnswer),
    "link-asked": { ...log(texts.linkAnswer), act: press("button.ts-a") },
    "right-to-left": log(texts.rightToLeftAnswer),
    cjk: log(texts.cjkAnswer),
    shared: log(texts.sharedThoughts),
  }),
  ...of("thinking", {
    streaming: { ...log(texts.thought), at: "thinking.delta 8" },
    done: { ...log(texts.thought), at: "text.delta 2" },
    history: log(texts.thought),
    opened: { ...log(texts.thought), act: openAll },
  }),
  ...of("tool", {
    arguments: { ...log(tools.toolDone), at: "tool_call.delta 2" },
    pending: { ...log(tools.toolDone), at: "tool_result.delta" },
    "pending-closed": { ...log(tools.toolDone), at: "tool_result.delta", act: closeAll },
    done: { ...log(tools.toolDone), at: "tool_result.end" },
    history: log(tools.toolDone),
    opened: { ...log(tools.toolDone), act: openAll },
    error: { ...log(tools.toolFailed), at: "tool_result.end" },
    "error-opened": { ...log(tools.toolFailed), act: openAll },
    cancelled: log(tools.toolCancelled),
    stopped: { ...log(tools.toolWithoutResult), act: openAll },
    "much-opened": { ...log(tools.toolWithMuch), act: openAll },
    pictures: { ...log(tools.toolWithPictures), at: "tool_result.delta 2" },
    hidden: log(tools.toolHidden),
  }),
  ...of("group", {
    "running-1": { ...groupOf(1), at: "tool_result.start" },
    "running-3": { ...groupOf(3), at: "tool_result.start 3" },
    "running-7": { ...groupOf(7), at: "tool_result.start 7" },
    "running-closed": { ...groupOf(3), at: "tool_result.start 3", act: closeAll },
    "just-ended": { ...groupOf(3), at: "group.end", live: 1 },
    ended: groupOf(7),
    "ended-opened": { ...groupOf(7), act: openGroups },
    failure: log(groups.groupWithFailure),
    "failure-opened": { ...log(groups.groupWithFailure), act: openGroups },
    "in-history": log(groups.groupInHistory),
    several: { ...log(groups.groupsAndTexts), at: "tool_result.start 5" },
    "artifact-running": { ...log(groups.groupWithArtifact), at: "tool_result.start 3" },
    artifact: log(groups.groupWithArtifact),
    progress: { ...log(groups.groupStopped), at: "tool_result.delta" },
    stopped: log(groups.groupStopped),
    "stopped-opened": { ...log(groups.groupStopped), act: openGroups },
  }),
  ...of("sub-agent", {
    running: { ...log(() => groups.subAgent()), at: "tool_result.start 3" },
    asks: { ...log(() => groups.subAgentThatAsks()) },
    "side-by-side": { ...log(groups.twoSubAgents), at: "tool_result.start 4" },
    done: { ...log(() => groups.subAgent()), act: openAll },
    failed: { ...log(() => groups.subAgent("failed")), act: openAll },
  }),
];
