/**
 * Events about the session, its user messages, turns, runs and groups: everything around the blocks.
 */
import { z } from "zod";
import {
  count,
  envelope,
  file,
  id,
  inRun,
  inTurn,
  label,
  milliseconds,
  place,
  usage,
  whole,
} from "./fields.ts";

export const lifecycleEvents = {
  "session.start": z
    .strictObject({
      ...envelope,
      type: z.literal("session.start"),
      session: id,
      number: count.describe("the same session as a number, for clients that know it so"),
      title: label.exactOptional(),
    })
    .describe("The session exists. The first event of every log."),

  "session.update": z
    .strictObject({ ...envelope, type: z.literal("session.update"), title: label })
    .describe("The session got a (new) title."),

  "message.add": z
    .strictObject({
      ...envelope,
      type: z.literal("message.add"),
      message: id,
      text: z.string(),
      files: z.array(file).max(100).exactOptional(),
      whole: whole.exactOptional(),
      by: id.exactOptional().describe("the user who wrote it"),
      resumes: id.exactOptional().describe("the form or payment this message goes on from"),
    })
    .describe("A user message. It waits until a turn names it."),

  "message.remove": z
    .strictObject({ ...envelope, type: z.literal("message.remove"), message: id })
    .describe("A message that waited was withdrawn before any turn took it up."),

  "turn.start": z
    .strictObject({
      ...envelope,
      type: z.literal("turn.start"),
      ...inTurn,
      number: count.describe("the turn's number in the session's history"),
      message: id.exactOptional().describe("the user message that this turn answers"),
      message_number: count.describe("how many user messages the session has had"),
      agent: id,
      model: label.exactOptional(),
      mode: z.enum(["agent", "chat"]).describe("whether thinking is shown"),
      from_share: z.boolean().describe("the session was made from a share link"),
      resumes: id.exactOptional().describe("the form or payment that this turn goes on from"),
      retries: id.exactOptional().describe("the failed turn that this one tries again"),
    })
    .describe("A turn begins. One at a time in a session."),

  "turn.end": z
    .strictObject({
      ...envelope,
      type: z.literal("turn.end"),
      ...inTurn,
      reason: z.enum(["end_turn", "user_stopped", "error", "requires_interaction"]),
      duration_ms: milliseconds,
      usage: usage.exactOptional(),
    })
    .describe("The turn is over. Nothing of it stays open, whatever came before."),

  "turn.takeover": z
    .strictObject({
      ...envelope,
      type: z.literal("turn.takeover"),
      turn: id.nullable().describe("the turn that goes on; null when no turn was running"),
      blocks: z.array(id).describe("blocks that no longer count"),
      groups: z.array(id).describe("groups that no longer count"),
      runs: z.array(id).describe("runs that no longer count"),
    })
    .describe("Another writer went on from what was journaled; the first event of its epoch."),

  "run.start": z
    .strictObject({
      ...envelope,
      type: z.literal("run.start"),
      ...inRun,
      parent: id.exactOptional().describe("the run that started this one; absent for the main run"),
      call: id.exactOptional().describe("the tool call that started this run; absent for the main run"),
      agent: id,
      label: label.exactOptional(),
    })
    .describe("An agent goes to work: the main one, or a sub-agent under an open tool result."),

  "run.end": z
    .strictObject({
      ...envelope,
      type: z.literal("run.end"),
      ...inRun,
      status: z.enum(["completed", "failed", "cancelled"]),
      usage: usage.exactOptional(),
    })
    .describe("The agent is done."),

  "group.start": z
    .strictObject({ ...envelope, type: z.literal("group.start"), ...inRun, group: id, ...place })
    .describe("Steps from here on are shown as one group."),

  "group.end": z
    .strictObject({
      ...envelope,
      type: z.literal("group.end"),
      ...inRun,
      group: id,
      ...place,
      summary: label,
    })
    .describe("The group is complete."),
};
