/**
 * A person submits a form or declines it, by a call or by the message that goes on from it. The values are checked by the
 * same rules as on the client; then one conditional change, its event, the note in the audit, and the message that begins
 * the next turn are one commit. Never runs a turn.
 */
import { checkForm, type FileRef, type FormProblem, type FormSchema, type Json } from "@turnstream/protocol";
import { truncateText, FORM_PROBLEMS } from "@turnstream/protocol/writer";
import { StoreError } from "../../store/errors.ts";
import type { TransitionResult, Interaction } from "../../store/ports/interactions.ts";
import type { NewMessage } from "../../store/ports/running.ts";
import type { SessionRef } from "../../store/refs.ts";
import { canonicalJson } from "../../store/rules/canonical-json.ts";
import type { Store } from "../../store/store.ts";
import { publishOutbox } from "../archive/publish-outbox.ts";
import type { CommandBackend } from "../backend.ts";
import { uploadUrl } from "../blobs/upload.ts";
import { messageEvent, messageKey } from "../message-event.ts";
import { DECISIONS_CHANNEL, encodeSessionRef, TURNS_CHANNEL } from "../signal-channels.ts";
import { InputValidationError } from "../validation-error.ts";
import { findInteraction, waitForInteraction } from "./find.ts";
import { transitionInteraction, type DecisionSource, decisionSource } from "./transition.ts";

/** What is kept of a form beside where it was told. */
interface StoredForm {
  readonly schema: FormSchema;
  /** Its turn waits for it, and goes on by itself. */
  readonly waits?: boolean;
  /** Who goes on from it, where a turn does. */
  readonly agent?: string;
  readonly mode?: "agent" | "chat";
}

interface FormAction extends DecisionSource {
  /** What the request calls itself: `form_request_id`. */
  readonly form: string;
  /**
   * Whether the next turn begins at once; true when absent. False for a client that sends a message of its own
   * afterwards.
   */
  readonly startNextTurn?: boolean;
}

export interface SubmitFormInput extends FormAction {
  readonly values: Json;
}

export interface DeclineFormInput extends FormAction {
  readonly reason?: string;
}

/** INVALID, with what is wrong field by field. */
export class FormError extends InputValidationError {
  readonly problems: readonly FormProblem[];

  constructor(form: string, problems: readonly FormProblem[]) {
    super(
      `form ${form}`,
      problems.map(({ field, problem }) => `${field || "values"}: ${FORM_PROBLEMS[problem]}`).join("; "),
    );
    this.name = "FormError";
    this.problems = problems;
  }
}

/** CONFLICT: what was filled in came after the form was decided, or too late, and is not kept. */
export class FormClosedError extends StoreError {
  readonly lost: Extract<TransitionResult, { applied: false }>;

  constructor(lost: Extract<TransitionResult, { applied: false }>) {
    super("CONFLICT", `form ${lost.current.key}`);
    this.name = "FormClosedError";
    this.lost = lost;
  }
}

/** Values are part of one event, beside its other fields. */
const MAX_VALUES_BYTES = 60_000;
/** Of one message. */
const MAX_FILES = 100;
const MAX_REASON = 4_096;

/** Of any number at once one wins. Throws NOT_FOUND, FormError (INVALID) for values that don't fit, and TOO_LARGE. */
export function submitForm(
  backend: CommandBackend,
  ref: SessionRef,
  input: SubmitFormInput,
): Promise<TransitionResult> {
  return act(backend, ref, input, (tx, interaction) =>
    submit(tx, ref, interaction, input.values, decisionSource(input)),
  );
}

export function declineForm(
  backend: CommandBackend,
  ref: SessionRef,
  input: DeclineFormInput,
): Promise<TransitionResult> {
  return act(backend, ref, input, (tx, interaction) =>
    decline(tx, ref, interaction, input.reason, decisionSource(input)),
  );
}

async function act(
  backend: CommandBackend,
  ref: SessionRef,
  { form, userId, startNextTurn = true }: FormAction,
  change: (tx: Store, interaction: Interaction) => Promise<TransitionResult>,
): Promise<TransitionResult> {
  const interaction = await findInteraction(backend.store, ref, form, "form");
  const result = await backend.store.transaction(async (tx) => {
    const changed = await change(tx, interaction);
    if (changed.applied && startNextTurn && !isWaitedFor(interaction))
      await addGoOn(tx, ref, changed, userId);
    return changed;
  });
  await publishOutbox(backend, ref);
  const isWaited = result.applied && isWaitedFor(result.interaction);
  backend.signals.send(isWaited ? DECISIONS_CHANNEL : TURNS_CHANNEL, encodeSessionRef(ref));
  return result;
}

/** A message with the files that the person put into the form that it submits. */
export async function withFormFiles<Message extends NewMessage>(
  store: Store,
  ref: SessionRef,
  message: Message,
  formValues: Json | undefined,
): Promise<Message> {
  if (message.resumes === undefined || message.resumes === null) return message;
  // It is about to be asked for in a transaction, which is no place to wait.
  const interaction = await waitForInteraction(store, ref, message.resumes);
  if (interaction?.kind !== "form" || interaction.status !== "pending" || formValues === undefined)
    return message;
  const { schema } = storedForm(interaction);
  if (checkForm(schema, formValues).length > 0) return message;
  const { values } = await resolveFormFiles(store, ref, schema, formValues);
  const files = [...(message.files ?? []), ...formFiles(schema, values)].slice(0, MAX_FILES);
  return { ...message, files };
}

interface ResumingMessage extends NewMessage, DecisionSource {
  readonly resumes: string;
  readonly formValues: Json | undefined;
}

/**
 * What a message that goes on from a form does to it, in the transaction in which the message is added. Throws a
 * FormClosedError for values that come too late, unless they are the very ones that the form was submitted with.
 * @returns whether a running turn waits for the form
 */
export async function resumeForm(tx: Store, ref: SessionRef, message: ResumingMessage): Promise<boolean> {
  const { resumes, formValues, text } = message;
  const interaction = await tx.interactions.byKey(ref, resumes);
  if (interaction?.kind !== "form" && interaction?.kind !== "payment")
    throw new StoreError("NOT_FOUND", `form ${resumes}`);
  // A payment is its gateway's.
  if (interaction.kind !== "form") return false;
  const who = decisionSource(message);
  if (formValues !== undefined) {
    const result = await submit(tx, ref, interaction, formValues, who);
    if (!result.applied && !(await isAsSubmitted(tx, ref, result, formValues)))
      throw new FormClosedError(result);
    // One that is done is only gone on from.
  } else if (interaction.status === "pending") await decline(tx, ref, interaction, text, who);
  return interaction.status === "pending" && isWaitedFor(interaction);
}

async function isAsSubmitted(
  tx: Store,
  ref: SessionRef,
  { current, change }: Extract<TransitionResult, { applied: false }>,
  given: Json,
): Promise<boolean> {
  if (change?.status !== "submitted") return false;
  const { values } = await resolveFormFiles(tx, ref, storedForm(current).schema, given);
  return canonicalJson(values) === canonicalJson((change.body as { readonly values: Json }).values);
}

async function submit(
  tx: Store,
  ref: SessionRef,
  interaction: Interaction,
  given: Json,
  who: DecisionSource,
): Promise<TransitionResult> {
  const { schema } = storedForm(interaction);
  const problem = checkForm(schema, given);
  if (problem.length > 0) throw new FormError(interaction.key, problem);
  const { values, problems } = await resolveFormFiles(tx, ref, schema, given);
  if (problems.length > 0) throw new FormError(interaction.key, problems);
  if (Buffer.byteLength(JSON.stringify(values)) > MAX_VALUES_BYTES)
    throw new StoreError("TOO_LARGE", `the values of form ${interaction.key}`);
  return transitionInteraction(tx, ref, interaction, {
    to: "submitted",
    fields: { values },
    ...who,
  });
}

function decline(
  tx: Store,
  ref: SessionRef,
  interaction: Interaction,
  reason: string | undefined,
  who: DecisionSource,
): Promise<TransitionResult> {
  return transitionInteraction(tx, ref, interaction, {
    to: "declined",
    ...(reason === undefined || reason === "" ? {} : { reason: truncateText(reason, MAX_REASON) }),
    ...who,
  });
}

/** The message that begins the next turn: without words, and by its id never a second one. */
async function addGoOn(
  tx: Store,
  ref: SessionRef,
  { interaction, change }: Extract<TransitionResult, { applied: true }>,
  by: string | undefined,
): Promise<void> {
  const { key: form } = interaction;
  const { agent, mode, schema } = storedForm(interaction);
  const { values = {} } = change.body as { readonly values?: Json };
  const files = formFiles(schema, values).slice(0, MAX_FILES);
  const options = { ...(agent === undefined ? {} : { agent }), ...(mode === undefined ? {} : { mode }) };
  const message = { id: `after.${form}`, text: "", files, resumes: form, by: by ?? null, options };
  if ((await tx.queuedMessages.add(ref, message)) !== "added") return;
  await tx.outbox.add(ref, { key: messageKey("m", message.id), draft: messageEvent(message).draft });
}

export function storedForm({ request }: Interaction): StoredForm {
  return request as unknown as StoredForm;
}

function isWaitedFor(interaction: Interaction): boolean {
  return storedForm(interaction).waits === true;
}

/**
 * The files of a form that was filled in: uploads of its session. What names one that isn't there is a problem of its field,
 * and the others come with the message that goes on, so that they are read like any file. Never reads one.
 */
interface FormFile {
  readonly field: string;
  readonly upload: string;
  readonly name: string;
}

/** Values that fit the form. */
function filesIn({ fields }: FormSchema, values: Json): FormFile[] {
  const filled = values as Readonly<
    Record<string, { readonly upload: string; readonly name: string } | null>
  >;
  return fields.flatMap(({ name: field, type }) => {
    const file = type === "file" && Object.hasOwn(filled, field) ? filled[field] : null;
    return file?.upload === undefined ? [] : [{ field, upload: file.upload, name: file.name }];
  });
}

/** The values with what the uploads themselves say of name, kind and size, instead of what the person's client says. */
async function resolveFormFiles(
  store: Store,
  ref: SessionRef,
  schema: FormSchema,
  values: Json,
): Promise<{ readonly values: Json; readonly problems: readonly FormProblem[] }> {
  const problems: FormProblem[] = [];
  const settled: Record<string, Json> = {};
  for (const { field, upload: id } of filesIn(schema, values)) {
    const upload = await store.uploads.get(ref, id);
    if (upload?.isComplete !== true) problems.push({ field, problem: "not_uploaded" });
    else settled[field] = { upload: id, name: upload.name, media_type: upload.mediaType, size: upload.size };
  }
  return { values: { ...(values as { readonly [field: string]: Json }), ...settled }, problems };
}

function formFiles(schema: FormSchema, values: Json): FileRef[] {
  return filesIn(schema, values).map(({ upload, name }) => ({ url: uploadUrl(upload), name }));
}
