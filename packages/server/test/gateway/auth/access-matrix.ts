/**
 * `ROUTE_ACCESS` and `COMMAND_ACCESS` list who may do what, as data: each route and each socket command with the scope
 * that it needs and the resource that it acts on. `expectedOutcome` derives what each actor gets.
 * Invariant: a test compares the keys with the route table and the command schemas, so a new one must be listed here.
 */
import type { SocketCommand } from "@turnstream/protocol/schema";
import type { Scope } from "../../../src/gateway/auth/access.ts";
import { ALL_SCOPES } from "../all-routes.ts";

/**
 * - `session`: one session. For other users it doesn't exist.
 * - `user`: data of the caller. Every user has their own.
 * - `tenant`: data of the caller's tenant. Every tenant has its own.
 * - `link`: the URL or a signature is the permission. Credentials don't matter.
 */
type Resource = "session" | "user" | "tenant" | "link";

export type Outcome = "allowed" | "unauthenticated" | "forbidden" | "not found";

/** Whose credentials an actor presents. */
export type Credentials = "invalid" | "of another user" | "of another tenant" | "of the owner";

export interface Access {
  readonly scope: Scope | null;
  /** A second scope that it needs. */
  readonly also?: Scope;
  readonly resource: Resource;
}

/** @param scopes the scopes of the credentials */
export function expectedOutcome(
  { scope, also, resource }: Access,
  credentials: Credentials,
  scopes: readonly Scope[] = ALL_SCOPES,
): Outcome {
  if (scope === null) return "allowed";
  if (credentials === "invalid") return "unauthenticated";
  if (!scopes.includes(scope) || (also !== undefined && !scopes.includes(also))) return "forbidden";
  return resource === "session" && credentials !== "of the owner" ? "not found" : "allowed";
}

const read = (resource: Resource): Access => ({ scope: "read", resource });
const write = (resource: Resource): Access => ({ scope: "write", resource });
const decide: Access = { scope: "decide", resource: "session" };
const knowledge: Access = { scope: "knowledge", resource: "tenant" };
const webhooks: Access = { scope: "webhooks", resource: "tenant" };
const admin: Access = { scope: "admin", resource: "tenant" };
const payments: Access = { scope: "payments", resource: "tenant" };
const link: Access = { scope: null, resource: "link" };
const INTERACTION = "/sessions/{session}/interactions/{interaction}";
const PAYMENT = "/sessions/{session}/payments/{payment}";

export const ROUTE_ACCESS: Readonly<Record<string, Access>> = {
  "POST /tokens": { scope: "tokens", resource: "tenant" },
  "POST /sign-in": link,
  "POST /tickets": read("user"),
  "GET /agents": read("user"),
  "POST /sessions": write("user"),
  "GET /sessions": read("user"),
  "GET /sessions/{session}": read("session"),
  "PATCH /sessions/{session}": write("session"),
  "DELETE /sessions/{session}": write("session"),
  "POST /sessions/{session}/messages": write("session"),
  "POST /chats/{session}/messages": write("session"),
  "DELETE /sessions/{session}/messages/{message}": write("session"),
  "GET /sessions/{session}/events": read("session"),
  "POST /sessions/{session}/shares": { scope: "share", resource: "session" },
  "GET /sessions/{session}/shares": { scope: "share", resource: "session" },
  "DELETE /sessions/{session}/shares/{share}": { scope: "share", resource: "session" },
  "GET /shares": { scope: "share", resource: "user" },
  "GET /shares/{token}": link,
  "POST /shares/{token}/fork": write("tenant"),
  "GET /sessions/{session}/history": read("session"),
  "GET /sessions/{session}/snapshot": read("session"),
  "GET /sessions/{session}/turns": read("session"),
  "GET /sessions/{session}/turns/{turn}": read("session"),
  "GET /sessions/{session}/turns/{turn}/end-state": { scope: "debug", resource: "session" },
  "POST /sessions/{session}/stop": write("session"),
  "POST /sessions/{session}/turns/{turn}/stop": write("session"),
  "POST /sessions/{session}/turns/{turn}/retry": write("session"),
  "GET /sessions/{session}/interactions": read("session"),
  [`GET ${INTERACTION}`]: read("session"),
  [`POST ${INTERACTION}/decide`]: decide,
  [`POST ${INTERACTION}/answer`]: decide,
  [`POST ${INTERACTION}/dismiss`]: decide,
  [`POST ${INTERACTION}/submit`]: decide,
  [`POST ${INTERACTION}/decline`]: decide,
  [`GET ${INTERACTION}/draft`]: read("session"),
  [`PUT ${INTERACTION}/draft`]: decide,
  "GET /sessions/{session}/allowances": read("session"),
  "DELETE /sessions/{session}/allowances/{agent}/{tool}": decide,
  "GET /sessions/{session}/payments": read("session"),
  [`GET ${PAYMENT}`]: read("session"),
  [`POST ${PAYMENT}/refresh`]: read("session"),
  [`POST ${PAYMENT}/cancel`]: decide,
  "GET /payments": payments,
  "GET /payments/{payment}": payments,
  "POST /payments/{payment}/resolve": payments,
  "GET /payments/checkout/{token}": link,
  "POST /payments/checkout/{token}": link,
  "GET /payments/return/{token}": link,
  "POST /payments/return/{token}": link,
  "GET /payments/status/{token}": link,
  "POST /payments/notify/{provider}": link,
  "POST /sessions/{session}/files": write("session"),
  "POST /sessions/{session}/uploads": write("session"),
  "POST /sessions/{session}/uploads/{file}/complete": write("session"),
  "GET /sessions/{session}/files/{file}": read("session"),
  "GET /blobs/{token}": link,
  "GET /knowledge": knowledge,
  "GET /knowledge/{base}/objects": knowledge,
  "POST /knowledge/{base}/objects": knowledge,
  "DELETE /knowledge/{base}/objects/{object}": knowledge,
  "DELETE /knowledge/{base}": knowledge,
  "GET /memories": read("user"),
  "PATCH /memories/{memory}": write("user"),
  "DELETE /memories/{memory}": write("user"),
  "DELETE /memories": write("user"),
  "POST /webhooks": webhooks,
  "GET /limits": read("user"),
  "GET /limits/tenant": admin,
  "PUT /limits/tenant": admin,
  "GET /limits/users": admin,
  "PUT /limits/users": admin,
  "GET /limits/users/{user}": admin,
  "PUT /limits/users/{user}": admin,
  "GET /usage": read("user"),
  "GET /usage/tenant": admin,
  "GET /webhooks": webhooks,
  "DELETE /webhooks/{webhook}": webhooks,
  "GET /webhooks/{webhook}/deliveries": webhooks,
  "POST /webhooks/{webhook}/deliveries/{delivery}/replay": webhooks,
};

type CommandType = SocketCommand["type"];

export const COMMAND_ACCESS: Readonly<Record<CommandType, Access>> = {
  subscribe: read("session"),
  unsubscribe: read("session"),
  ping: read("user"),
  send: write("session"),
  stop: write("session"),
  decide,
  answer: decide,
  dismiss: decide,
  submit: decide,
  decline: decide,
  cancel_payment: decide,
  refresh_payment: read("session"),
};

/** One valid command of each type, and the `send` that decides a form, with the access that it needs. */
export function sampleCommands(session_id: string): readonly (readonly [Access, object])[] {
  const [approval_key, form_request_id, payment_request_id] = ["k", "f", "p"];
  const send = { type: "send", session_id, client_message_id: "m", text: "hi" };
  const commands: readonly { readonly type: CommandType; readonly [field: string]: unknown }[] = [
    { type: "ping" },
    { type: "unsubscribe", session_id },
    { type: "subscribe", session_id },
    { ...send, type: "send" },
    { type: "stop", session_id },
    { type: "decide", session_id, approval_key, decision: "approve" },
    { type: "answer", session_id, approval_key, answers: [{ question: "q", selected: [] }] },
    { type: "dismiss", session_id, approval_key },
    { type: "submit", session_id, form_request_id, values: {} },
    { type: "decline", session_id, form_request_id },
    { type: "cancel_payment", session_id, payment_request_id },
    { type: "refresh_payment", session_id, payment_request_id },
  ];
  const deciding = { ...send, client_message_id: "n", resume_form_request_id: form_request_id };
  return [
    ...commands.map((one) => [COMMAND_ACCESS[one.type], one] as const),
    [{ ...decide, also: "write" }, deciding],
  ];
}
