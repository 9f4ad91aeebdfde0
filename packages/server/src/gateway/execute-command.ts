/**
 * Carries a command out, whichever way it came: over a socket or by HTTP. The caller has been let in, may do it, and the
 * session is theirs. Done means committed: what the log doesn't show yet, it will. Never subscribes anybody.
 */
import { createHash } from "node:crypto";
import { truncateText, type FileRef } from "@turnstream/protocol";
import type { SocketCommand, SocketReply } from "@turnstream/protocol/schema";
import { answerQuestion, dismissQuestion } from "../session/interactions/answer-question.ts";
import { decideApproval } from "../session/interactions/decide-approval.ts";
import { declineForm, FormClosedError, submitForm } from "../session/interactions/submit-form.ts";
import type { CommandBackend } from "../session/backend.ts";
import { sendMessage } from "../session/messages/send.ts";
import { stopTurn } from "../session/messages/stop-turn.ts";
import { uploadIdOf } from "../session/blobs/upload.ts";
import type { TransitionResult } from "../store/ports/interactions.ts";
import type { SessionRef } from "../store/refs.ts";
import { isId } from "../store/rules/arguments.ts";
import type { Caller } from "./caller.ts";
import { RequestError } from "./errors.ts";

type CommandOf<Type extends SocketCommand["type"]> = Extract<SocketCommand, { readonly type: Type }>;
/** Those that do something. */
export type Command = Exclude<SocketCommand, { readonly type: "subscribe" | "unsubscribe" | "ping" }>;
/** What the one who sent it is told. */
export type AckPayload = Omit<Extract<SocketReply, { readonly type: "ack" }>, "type" | "request_id">;

export interface CommandOptions {
  /** Of a form: whether the next turn begins at once; true when absent. */
  readonly startNextTurn?: boolean;
}

/** Throws a Refused, or what the session throws. */
export async function executeCommand(
  parts: CommandBackend,
  caller: Caller,
  ref: SessionRef,
  command: Command,
  options: CommandOptions = {},
): Promise<AckPayload> {
  const source = { userId: caller.user, clientId: caller.from };
  switch (command.type) {
    case "send":
      return send(parts, caller, ref, command);
    case "stop": {
      const { message_id: turn } = command;
      const { receipt, turn: stopped } = await stopTurn(parts, ref, {
        userId: source.userId,
        ...(turn === undefined ? {} : { turn }),
      });
      return { receipt, ...(stopped === null ? {} : { message_id: stopped }) };
    }
    case "decide": {
      const { approval_key: key, decision, args, reason, digest, always } = command;
      const wish = {
        ...source,
        key,
        decision,
        ...(args === undefined ? {} : { input: args }),
        ...(reason === undefined ? {} : { reason }),
        ...(digest === undefined ? {} : { digest }),
        ...(always === undefined ? {} : { always }),
      };
      return won(await decideApproval(parts, ref, wish));
    }
    case "answer": {
      const { approval_key: key, answers } = command;
      return won(await answerQuestion(parts, ref, { ...source, key, answers }));
    }
    case "dismiss": {
      const { approval_key: key, reason } = command;
      return won(
        await dismissQuestion(parts, ref, { ...source, key, ...(reason === undefined ? {} : { reason }) }),
      );
    }
    case "submit": {
      const { form_request_id: form, values } = command;
      return won(await submitForm(parts, ref, { ...source, ...options, form, values }));
    }
    case "decline": {
      const { form_request_id: form, reason } = command;
      const why = reason === undefined ? {} : { reason };
      return won(await declineForm(parts, ref, { ...source, ...options, ...why, form }));
    }
  }
}

async function send(
  parts: CommandBackend,
  caller: Caller,
  ref: SessionRef,
  command: CommandOf<"send">,
): Promise<AckPayload> {
  const {
    client_message_id,
    text,
    content_urls = [],
    agent_id,
    resume_form_request_id,
    form_values,
  } = command;
  const id = toMessageId(client_message_id);
  const sent = sendMessage(parts, ref, {
    id,
    text,
    userId: caller.user,
    clientId: caller.from,
    files: await Promise.all(content_urls.map((url) => fileOf(parts, ref, url))),
    ...(agent_id === undefined ? {} : { options: { agent: agent_id } }),
    ...(resume_form_request_id === undefined ? {} : { resumes: resume_form_request_id }),
    ...(form_values === undefined ? {} : { formValues: form_values }),
  });
  await sent.catch((error: unknown) => {
    if (error instanceof FormClosedError) won(error.lost);
    throw error;
  });
  return { user_message_id: id };
}

/** As much as an event takes. */
const MAX_NAME = 500;
const MAX_TYPE = 200;

/** With what is known of an upload: its address says nothing to people. */
async function fileOf({ store }: CommandBackend, ref: SessionRef, url: string): Promise<FileRef> {
  const id = uploadIdOf(url);
  const upload = id === null || !isId(id) ? null : await store.uploads.get(ref, id);
  if (upload === null) return { url };
  const { name, mediaType, size } = upload;
  return { url, name: truncateText(name, MAX_NAME), media_type: truncateText(mediaType, MAX_TYPE), size };
}

/** Beyond that, an id with a prefix could be longer than ids are. */
const MAX_PLAIN = 200;

/**
 * The id of the message that a client calls so: always the same one, and none that the server gives to messages of its
 * own. Pure.
 */
export function toMessageId(client: string): string {
  return client.length <= MAX_PLAIN
    ? `c.${client}`
    : `h.${createHash("sha256").update(Buffer.from(client, "utf16le")).digest("hex")}`;
}

/** Of any number of decisions one wins; the others hear what it is now. */
function won(result: TransitionResult): AckPayload {
  if (result.applied) return {};
  const { kind, status } = result.current;
  switch (result.reason) {
    case "version":
    case "digest":
      throw new RequestError(
        "INTERACTION_MISMATCH",
        `This ${kind} is not what was shown. Load it again, then decide.`,
      );
    case "late":
    case "early":
      throw new RequestError(
        "INTERACTION_CLOSED",
        `It is too late: the deadline of this ${kind} has passed.`,
      );
    case "status":
      throw new RequestError("INTERACTION_CLOSED", `This ${kind} is ${status} already, and stays so.`);
  }
}
