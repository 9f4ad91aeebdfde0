/**
 * `lifecycleEvents` declares the schemas of events of the session, its user messages, turns, runs and groups. The
 * events of blocks are in `blocks.ts`.
 * Invariant: only `session.start`, `turn.start` and `turn.takeover` can start an epoch; `claimsEpoch` lists the same
 * three. A change that old readers or logs can't handle needs a higher SCHEMA_VERSION.
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
  locale,
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
      number: count.describe("the session as a number, for clients that use numeric ids"),
      title: label.exactOptional(),
    })
    .describe("The session was created. This is the first event of every log."),

  "session.update": z
    .strictObject({ ...envelope, type: z.literal("session.update"), title: label })
    .describe("The session has a new title."),

  "message.add": z
    .strictObject({
      ...envelope,
      type: z.literal("message.add"),
      message: id,
      text: z.string(),
      files: z.array(file).max(100).exactOptional(),
      whole: whole.exactOptional(),
      by: id.exactOptional().describe("the user who wrote it"),
      resumes: id.exactOptional().describe("the form or payment that this message continues from"),
    })
    .describe("A user message. It is queued until a turn names it."),

  "message.remove": z
    .strictObject({ ...envelope, type: z.literal("message.remove"), message: id })
    .describe("A queued message was withdrawn before a turn answered it."),

  "turn.start": z
    .strictObject({
      ...envelope,
      type: z.literal("turn.start"),
      ...inTurn,
      number: count.describe("the turn's number in the session's history"),
      message: id.exactOptional().describe("the user message that this turn answers"),
      message_number: count.describe(
        "the number of user messages that turns have answered so far, including this one",
      ),
      agent: id,
      model: label.exactOptional(),
      mode: z.enum(["agent", "chat"]).describe("whether thinking is shown"),
      from_share: z.boolean().describe("the first turn of a session that was created from a share link"),
      resumes: id.exactOptional().describe("the form or payment that this turn continues from"),
      retries: id.exactOptional().describe("the failed or stopped turn that this turn retries"),
      locale: locale
        .exactOptional()
        .describe("the language of the texts that the server writes for the user"),
    })
    .describe("A turn starts. A session runs one turn at a time."),

  "turn.end": z
    .strictObject({
      ...envelope,
      type: z.literal("turn.end"),
      ...inTurn,
      reason: z.enum(["end_turn", "user_stopped", "error", "requires_interaction"]),
      duration_ms: milliseconds,
      usage: usage.exactOptional(),
    })
    .describe("The turn has ended. A reader closes everything in it that is still open."),

  "turn.takeover": z
    .strictObject({
      ...envelope,
      type: z.literal("turn.takeover"),
      turn: id.nullable().describe("the turn that continues; null if no turn was running"),
      blocks: z.array(id).describe("superseded blocks"),
      groups: z.array(id).describe("superseded groups"),
      runs: z.array(id).describe("superseded runs"),
    })
    .describe("Another writer takes over the log. This is the first event of its epoch."),

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
    .describe(
      "An agent starts to work: the main agent, or a sub-agent while the result of its call is open.",
    ),

  "run.end": z
    .strictObject({
      ...envelope,
      type: z.literal("run.end"),
      ...inRun,
      status: z.enum(["completed", "failed", "cancelled"]),
      usage: usage.exactOptional(),
    })
    .describe("The agent has ended its work."),

  "group.start": z
    .strictObject({ ...envelope, type: z.literal("group.start"), ...inRun, group: id, ...place })
    .describe("A group starts. Clients show its blocks together, under one header."),

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
