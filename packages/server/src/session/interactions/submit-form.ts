/**
 * `submitForm` and `declineForm` decide a form; `resumeForm` does it for a message that continues from the form. They
 * do not run turns.
 *
 * Invariants: values are checked by the same rules as on the client, and file names, types and sizes come from the
 * uploads. The conditional change, its event, the audit entry and the message that starts the next turn are one commit.
 */
import { checkForm, type FileRef, type FormProblem, type FormSchema, type Json } from "@turnstream/protocol";
import { truncateText, FORM_PROBLEMS } from "@turnstream/protocol/writer";
import { StoreError } from "../../store/errors.ts";
import type { TransitionResult, Interaction } from "../../store/interactions.ts";
import type { NewMessage } from "../../store/queued-messages.ts";
import type { TurnCaller } from "../../store/running-turn.ts";
import type { SessionRef } from "../../util/refs.ts";
import { canonicalJson } from "../../store/rules/canonical-json.ts";
import type { Store } from "../../store/store.ts";
import type { CommandBackend } from "../backend.ts";
import { isJsonLongerThan } from "../../util/json.ts";
import { uploadUrl } from "../blobs/upload.ts";
import { type OwnerLimits, toTurnCaller } from "../limit-exceeded.ts";
import { MESSAGE_RELAY_MS, publishOutbox } from "../archive/relay-outbox.ts";
import { messageEvent, messageKey } from "../message-event.ts";
import { hintTurn, signalDecision } from "../signal-channels.ts";
import { InputValidationError } from "../validation-error.ts";
import { findInteraction, waitForInteraction } from "./find.ts";
import { transitionInteraction, type DecisionSource, decisionSource } from "./transition.ts";
import { defined } from "../../util/defined.ts";

/** The stored request of a form. A type, because TypeScript doesn't accept JSON as an interface. */
type StoredForm = {
  readonly schema: FormSchema;
  /** True if a running turn waits for the form and continues by itself. */
  readonly waits?: boolean;
  /** The agent of the next turn, if the form ended its turn. */
  readonly agent?: string;
  readonly mode?: "agent" | "chat";
};

interface FormAction extends DecisionSource {
  /** The key of the request: `form_request_id`. */
  readonly form: string;
  /**
   * Starts the next turn immediately. Set it to false for a client that sends its own message afterwards.
   * @default true
   */
  readonly startNextTurn?: boolean;
  /** The next turn ends at those of tokens and cost. They never refuse the form. @default no limits */
  readonly limits?: OwnerLimits;
}

export interface SubmitFormInput extends FormAction {
  readonly values: Json;
}

export interface DeclineFormInput extends FormAction {
  readonly reason?: string;
}

/** INVALID, with a problem per field. */
export class FormError extends InputValidationError {
  readonly problems: readonly FormProblem[];

  constructor(form: string, problems: readonly FormProblem[]) {
    super(
      `form ${form}`,
      problems
        .slice(0, MAX_PROBLEMS)
        .map(({ field, problem }) => `${field || "values"}: ${FORM_PROBLEMS[problem]}`)
        .join("; "),
    );
    this.name = "FormError";
    this.problems = problems;
  }
}

/** CONFLICT: the form was already decided or had expired. The submitted values are not stored. */
export class FormClosedError extends StoreError {
  readonly lost: Extract<TransitionResult, { applied: false }>;

  constructor(lost: Extract<TransitionResult, { applied: false }>) {
    super("CONFLICT", `form ${lost.current.key}`);
    this.name = "FormClosedError";
    this.lost = lost;
  }
}

/** The values and the other fields must fit into one event. */
const MAX_VALUES_BYTES = 60_000;
/** How many problems an error lists. */
const MAX_PROBLEMS = 20;
/** Files per message. */
const MAX_FILES = 100;
const MAX_REASON = 4_096;

/**
 * If several decisions arrive at the same time, one wins.
 * @throws StoreError NOT_FOUND, INVALID (`FormError`) or TOO_LARGE
 */
export function submitForm(
  backend: CommandBackend,
  ref: SessionRef,
  input: SubmitFormInput,
): Promise<TransitionResult> {
  return changeForm(backend, ref, input, (tx, interaction) =>
    submit(tx, ref, interaction, input.values, decisionSource(input)),
  );
}

export function declineForm(
  backend: CommandBackend,
  ref: SessionRef,
  input: DeclineFormInput,
): Promise<TransitionResult> {
  return changeForm(backend, ref, input, (tx, interaction) =>
    decline(tx, ref, interaction, input.reason, decisionSource(input)),
  );
}

/** Changes a form in a transaction, publishes the event, and wakes the turn that waits or the one that starts. */
export async function changeForm(
  backend: CommandBackend,
  ref: SessionRef,
  { form, userId, startNextTurn = true, limits }: FormAction,
  change: (tx: Store, interaction: Interaction) => Promise<TransitionResult>,
): Promise<TransitionResult> {
  const interaction = await findInteraction(backend.store, ref, form, "form");
  const result = await backend.store.transaction(async (tx) => {
    const changed = await change(tx, interaction);
    if (changed.applied && startNextTurn && !isWaitedFor(interaction))
      await addGoOn(tx, ref, changed, { by: userId ?? null, ...toTurnCaller(limits) });
    return changed;
  });
  await publishOutbox(backend, ref);
  if (isWaitedFor(interaction)) await signalDecision(backend, ref);
  else hintTurn(backend, { agent: storedForm(interaction).agent ?? null });
  return result;
}

/** Adds the files of the submitted form to the message. */
export async function withFormFiles<Message extends NewMessage>(
  store: Store,
  ref: SessionRef,
  message: Message,
  formValues: Json | undefined,
): Promise<Message> {
  if (message.resumes === undefined || message.resumes === null) return message;
  // Wait for the request here, because the following transaction must not wait.
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
 * Applies a message that continues from a form, in the transaction that adds the message.
 * @returns true if a running turn waits for the form
 * @throws FormClosedError if the form is already decided, unless it was submitted with the same values
 */
export async function resumeForm(tx: Store, ref: SessionRef, message: ResumingMessage): Promise<boolean> {
  const { resumes, formValues, text } = message;
  const interaction = await tx.interactions.byKey(ref, resumes);
  if (interaction === null || interaction.kind === "approval" || interaction.kind === "question")
    throw new StoreError("NOT_FOUND", `form ${resumes}`);
  // Its feature decides any other request.
  if (interaction.kind !== "form") return false;
  const who = decisionSource(message);
  if (formValues !== undefined) {
    const result = await submit(tx, ref, interaction, formValues, who);
    if (!result.applied && !(await isAsSubmitted(tx, ref, result, formValues)))
      throw new FormClosedError(result);
    // A form that is already decided doesn't change; the message only continues from it.
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
  if (isJsonLongerThan(values, MAX_VALUES_BYTES))
    throw new StoreError("TOO_LARGE", `the values of form ${interaction.key}`);
  return transitionInteraction(tx, ref, interaction, { to: "submitted", fields: { values }, ...who });
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

/** Adds the empty message that starts the next turn. Its id is derived from the form, so it is added only once. */
async function addGoOn(
  tx: Store,
  ref: SessionRef,
  { interaction, change }: Extract<TransitionResult, { applied: true }>,
  source: Pick<NewMessage, "by" | keyof TurnCaller>,
): Promise<void> {
  const { key: form } = interaction;
  const { agent, mode, schema } = storedForm(interaction);
  const { values = {} } = change.body as { readonly values?: Json };
  const files = formFiles(schema, values).slice(0, MAX_FILES);
  const options = defined({ agent, mode });
  const message = { id: `after.${form}`, text: "", files, resumes: form, options, ...source };
  if ((await tx.queuedMessages.add(ref, message)) !== "added") return;
  const { draft } = messageEvent(message);
  await tx.outbox.add(ref, { key: messageKey("m", message.id), draft, relayAfterMs: MESSAGE_RELAY_MS });
}

export function storedForm({ request }: Interaction): StoredForm {
  return request as StoredForm;
}

function isWaitedFor(interaction: Interaction): boolean {
  return storedForm(interaction).waits === true;
}

/**
 * A file field of a form: an upload of the session. A missing upload is a problem of its field. The next message
 * carries the files, so that its turn reads them.
 */
interface FormFile {
  readonly field: string;
  readonly upload: string;
  readonly name: string;
}

/** @param values values that passed `checkForm` */
function filesIn({ fields }: FormSchema, values: Json): FormFile[] {
  const filled = values as Readonly<
    Record<string, { readonly upload: string; readonly name: string } | null>
  >;
  return fields.flatMap(({ name: field, type }) => {
    const file = type === "file" && Object.hasOwn(filled, field) ? filled[field] : null;
    return file?.upload === undefined ? [] : [{ field, upload: file.upload, name: file.name }];
  });
}

/** Replaces name, type and size of each file with those of the upload, because a client's values are not trusted. */
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
