/**
 * `SessionCommands` sends the commands of one session: over the transport if the protocol has the command, otherwise as
 * an HTTP request.
 * Invariant: it has no state. The changes of a command arrive in the state of the session.
 */
import type { Json, QuestionAnswer } from "@turnstream/protocol";
import type { RestReply } from "@turnstream/protocol/schema";
import { jsonInit } from "../http/api.ts";
import type { TransportCommand } from "../transport/transport.ts";
import type { SessionContext } from "./session-outbox.ts";
import { outboxKey, tryStorage } from "../outbox/storage.ts";
import { loadOnDemand } from "../load-on-demand.ts";
import type { DraftContext } from "./draft.ts";
import type { ApprovalDecision, PaymentPage, UploadedFile, UploadOptions } from "./session.ts";

type FormValues = Readonly<Record<string, Json>>;

type WithoutSession<Command> = Command extends unknown ? Omit<Command, "session_id"> : never;

export class SessionCommands {
  readonly id: string;
  readonly gatewayUrl: string;
  readonly #context: SessionContext;
  /** The path below /api/v1. */
  readonly #path: string;

  constructor(id: string, context: SessionContext) {
    this.id = id;
    this.gatewayUrl = context.url;
    this.#context = context;
    this.#path = `/sessions/${encodeURIComponent(id)}`;
  }

  stop(turnId?: string): Promise<void> {
    return this.#send({ type: "stop", ...(turnId === undefined ? {} : { turn_id: turnId }) });
  }

  async loadDraft(): Promise<string> {
    // A remembered user may be an earlier one of this browser, whose text must not be shown.
    await this.#context.identity.confirmed;
    const { readDraft } = await loadOnDemand(this.#context.api.report);
    return readDraft(this.#draft());
  }

  saveDraft(text: string): void {
    if (!this.#context.identity.isConfirmed) return;
    const draft = this.#draft();
    // A draft that can't be stored is only lost with the page.
    loadOnDemand(this.#context.api.report).then(
      ({ writeDraft }) => writeDraft(draft, text),
      () => {},
    );
  }

  #draft(): DraftContext {
    const { url, env, identity, api } = this.#context;
    return {
      env,
      key: outboxKey(url, identity.name ?? "", this.id),
      attempt: (access) => tryStorage(api.report, access),
    };
  }

  async retry(turnId: string): Promise<void> {
    const { api, env } = this.#context;
    const headers = { "idempotency-key": env.createId() };
    const path = `${this.#path}/turns/${encodeURIComponent(turnId)}/retry`;
    await this.#context.track(api.json(path, { method: "POST", headers }));
  }

  decideApproval(approvalKey: string, decision: ApprovalDecision): Promise<void> {
    return this.#send({ type: "decide", approval_key: approvalKey, ...decision });
  }

  answerQuestion(questionKey: string, answers: readonly QuestionAnswer[]): Promise<void> {
    return this.#send({ type: "answer", approval_key: questionKey, answers });
  }

  dismissQuestion(questionKey: string, reason?: string): Promise<void> {
    return this.#send({
      type: "dismiss",
      approval_key: questionKey,
      ...(reason === undefined ? {} : { reason }),
    });
  }

  submitForm(formId: string, values: FormValues): Promise<void> {
    return this.#send({ type: "submit", form_request_id: formId, values });
  }

  declineForm(formId: string, reason?: string): Promise<void> {
    return this.#send({
      type: "decline",
      form_request_id: formId,
      ...(reason === undefined ? {} : { reason }),
    });
  }

  cancelPayment(paymentId: string): Promise<void> {
    return this.#send({ type: "cancel_payment", payment_request_id: paymentId });
  }

  refreshPayment(paymentId: string): Promise<void> {
    return this.#send({ type: "refresh_payment", payment_request_id: paymentId });
  }

  async listPayments(before?: number): Promise<PaymentPage> {
    const query = before === undefined ? "" : `?before=${before}`;
    return (await this.#context.api.json(`${this.#path}/payments${query}`)) as PaymentPage;
  }

  async saveFormDraft(formId: string, values: FormValues): Promise<void> {
    const { api, track } = this.#context;
    await track(api.json(this.#draftPath(formId), jsonInit("PUT", { values })));
  }

  async loadFormDraft(formId: string): Promise<FormValues | null> {
    const { draft } = (await this.#context.api.json(this.#draftPath(formId))) as RestReply<"draft">;
    return (draft?.values ?? null) as FormValues | null;
  }

  async uploadFile(file: Blob, options: UploadOptions): Promise<UploadedFile> {
    const { api, env, track } = this.#context;
    const upload = async (): Promise<UploadedFile> => {
      const { uploadFile } = await loadOnDemand(api.report);
      return await uploadFile(api, this.id, file, options, env.createId()).catch((error: unknown) => {
        throw api.report.error(error);
      });
    };
    return await track(upload());
  }

  #draftPath(formId: string): string {
    return `${this.#path}/interactions/${encodeURIComponent(formId)}/draft`;
  }

  async #send(command: WithoutSession<TransportCommand>): Promise<void> {
    const { transport, track } = this.#context;
    await track(transport.command({ ...command, session_id: this.id }));
  }
}
