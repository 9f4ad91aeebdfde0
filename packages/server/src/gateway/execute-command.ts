/**
 * `executeCommand` executes a command from a socket or an HTTP request, so that both behave alike.
 * Invariant: the caller is already authenticated, has the scope of the command and owns the session. A `send` decides
 * a form or a question only with the scope `decide`. When it returns, the change is committed and will appear in the
 * log. `toMessageId` always gives the same id for the same client id, so a repeated command is idempotent. Only one of
 * several concurrent decisions is applied; the others throw.
 */
import { createHash } from "node:crypto";
import type { FileRef } from "@turnstream/protocol";
import { truncateText } from "@turnstream/protocol/writer";
import { answerQuestion, dismissQuestion } from "../session/interactions/answer-question.ts";
import { decideApproval } from "../session/interactions/decide-approval.ts";
import { declineForm, FormClosedError, submitForm } from "../session/interactions/submit-form.ts";
import type { CommandBackend } from "../session/backend.ts";
import { sendMessage } from "../session/messages/send.ts";
import { stopTurn } from "../session/messages/stop-turn.ts";
import { uploadIdOf } from "../session/blobs/upload.ts";
import type { TransitionResult } from "../store/interactions.ts";
import type { SessionRef } from "../util/refs.ts";
import { isId } from "../util/names.ts";
import { hasScope, requireScope } from "./auth/access.ts";
import type { Caller } from "./caller.ts";
import type { AckPayload, Command, CommandContext, CommandsByType, CommandWithType } from "./command.ts";
import { RequestError } from "./errors.ts";
import { defined } from "../util/defined.ts";

/** @throws RequestError, or an error of the session */
export async function executeCommand(
  backend: CommandContext,
  caller: Caller,
  ref: SessionRef,
  command: Command,
): Promise<AckPayload> {
  const source = { userId: caller.user, clientId: caller.clientId };
  switch (command.type) {
    case "send":
      return send(backend, caller, ref, command);
    case "stop": {
      const options = { userId: caller.user, ...defined({ turn: command.turn_id }) };
      const { receipt, turn } = await stopTurn(backend, ref, options);
      return { receipt, ...defined({ turn_id: turn ?? undefined }) };
    }
    case "decide": {
      const { approval_key: key, decision, args, reason, digest, always } = command;
      const input = { ...source, key, decision, ...defined({ input: args, reason, digest, always }) };
      return requireApplied(await decideApproval(backend, ref, input));
    }
    case "answer": {
      const { approval_key: key, answers } = command;
      return requireApplied(await answerQuestion(backend, ref, { ...source, key, answers }));
    }
    case "dismiss": {
      const { approval_key: key, reason } = command;
      return requireApplied(await dismissQuestion(backend, ref, { ...source, key, ...defined({ reason }) }));
    }
    case "submit": {
      const { form_request_id: form, values, go_on: startNextTurn = true } = command;
      const limits = await backend.limiter.ownerLimits(caller);
      return requireApplied(
        await submitForm(backend, ref, { ...source, limits, form, values, startNextTurn }),
      );
    }
    case "decline": {
      const { form_request_id: form, reason, go_on: startNextTurn = true } = command;
      const limits = await backend.limiter.ownerLimits(caller);
      const input = { ...source, limits, form, startNextTurn, ...defined({ reason }) };
      return requireApplied(await declineForm(backend, ref, input));
    }
    default:
      return runFeatureCommand(backend, caller, ref, command.type, command);
  }
}

function runFeatureCommand<Type extends Command["type"]>(
  backend: CommandContext,
  caller: Caller,
  ref: SessionRef,
  type: Type,
  command: CommandsByType[Type],
): Promise<AckPayload> {
  const run = backend.commands[type];
  if (run === undefined)
    throw new RequestError("NOT_FOUND", `This server doesn't have the feature of the command ${type}.`);
  return run(backend, caller, ref, command);
}

async function send(
  backend: CommandContext,
  caller: Caller,
  ref: SessionRef,
  command: CommandWithType<"send">,
): Promise<AckPayload> {
  const {
    client_message_id,
    text,
    content_urls = [],
    agent_id,
    display_mode,
    locale,
    resume_form_request_id,
    form_values,
  } = command;
  // The message submits or declines the form, whatever its text is.
  if (resume_form_request_id !== undefined) requireScope(caller, "decide");
  const id = toMessageId(client_message_id);
  const options = defined({ agent: agent_id, mode: display_mode, locale });
  const sent = sendMessage(backend, ref, {
    id,
    text,
    userId: caller.user,
    clientId: caller.clientId,
    decidesQuestion: hasScope(caller, "decide"),
    files: await Promise.all(content_urls.map((url) => toFileRef(backend, ref, url))),
    ...(Object.keys(options).length === 0 ? {} : { options }),
    ...defined({ resumes: resume_form_request_id, formValues: form_values }),
    limits: await backend.limiter.ownerLimits(caller),
  });
  await sent.catch((error: unknown) => {
    if (error instanceof FormClosedError) requireApplied(error.lost);
    throw error;
  });
  return { user_message_id: id };
}

/** The limits of the event schema. */
const MAX_NAME_LENGTH = 500;
const MAX_TYPE_LENGTH = 200;

/** Adds the name, type and size of an upload, because its URL means nothing to users. */
async function toFileRef({ store }: CommandBackend, ref: SessionRef, url: string): Promise<FileRef> {
  const id = uploadIdOf(url);
  const upload = id === null || !isId(id) ? null : await store.uploads.get(ref, id);
  if (upload?.isComplete !== true) return { url };
  const { name, mediaType, size } = upload;
  return {
    url,
    name: truncateText(name, MAX_NAME_LENGTH),
    media_type: truncateText(mediaType, MAX_TYPE_LENGTH),
    size,
  };
}

/** A longer id with a prefix could exceed the maximum length of ids. */
const MAX_PLAIN_LENGTH = 200;

/**
 * Derives the message id from the client's id. The same client id always gives the same message id, which makes retries
 * idempotent. The prefix prevents conflicts with ids that the server creates. Pure.
 */
export function toMessageId(clientMessageId: string): string {
  return clientMessageId.length <= MAX_PLAIN_LENGTH
    ? `c.${clientMessageId}`
    : `h.${createHash("sha256").update(Buffer.from(clientMessageId, "utf16le")).digest("hex")}`;
}

/** Only one of several concurrent decisions is applied. The others get an error with the current status. */
export function requireApplied(result: TransitionResult): AckPayload {
  if (result.applied) return {};
  const { kind, status } = result.current;
  switch (result.reason) {
    case "version":
    case "digest":
      throw new RequestError(
        "INTERACTION_MISMATCH",
        `This ${kind} has changed since it was shown. Load it again, then decide.`,
      );
    case "late":
    case "early":
      throw new RequestError("INTERACTION_CLOSED", `The deadline of this ${kind} has passed.`);
    case "status":
      throw new RequestError("INTERACTION_CLOSED", `This ${kind} is already ${status} and can't be changed.`);
  }
}
