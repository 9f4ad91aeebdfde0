/**
 * `reportRefusedSignIn` reports a refused credential to the operator. `SignInError` is the error of a refused credential,
 * with the reason for the operator.
 * Invariant: an event names a tenant, user or key only as far as a verified credential or the id in a key names it. The
 * client's message never contains the reason in more detail than before.
 */
import type { ReportSecurityEvent, SecurityEvent } from "../../util/security-event.ts";
import { RequestError } from "../errors.ts";

type SignInEvent = Extract<SecurityEvent, { readonly type: "sign_in_refused" | "signature_invalid" }>;

export class SignInError extends RequestError {
  readonly event: SignInEvent;

  /** @param message for the client */
  constructor(event: SignInEvent, message: string) {
    super("UNAUTHENTICATED", message);
    this.name = "SignInError";
    this.event = event;
  }
}

/**
 * Runs a sign-in and reports a refused credential. A request without a credential is not reported.
 * @param from the client's network address
 */
export async function reportRefusedSignIn<Result>(
  { reportSecurityEvent }: { readonly reportSecurityEvent: ReportSecurityEvent },
  from: string,
  signIn: () => Promise<Result>,
): Promise<Result> {
  try {
    return await signIn();
  } catch (error) {
    if (error instanceof SignInError) reportSecurityEvent(error.event, from);
    throw error;
  }
}
