/**
 * `httpRequestTool` creates the tool `http_request`, which lets a model call the HTTP services that the developer
 * allows, and no others.
 *
 * Invariant: a rule must allow the request and every redirect. The headers of a rule are added here, and responses are
 * redacted: all their values, except of common headers or under 8 characters. The user sees only the method, the host
 * and the status.
 */
import { z } from "zod";
import {
  type FetchPolicy,
  type Tool,
  tool,
  type ToolContext,
  ToolError,
  type ToolOutput,
} from "@turnstream/server";
import { defined, safeFetch, type SafeResponse } from "@turnstream/server/internal";
import { describeFetchError, isTextResponse, resolveFetchPolicy, decodeText } from "./fetch-helpers.ts";
import { checkRules, HTTP_METHODS, type HttpRule, policyFor, ruleFor } from "./http-rules.ts";

export interface HttpRequestOptions {
  /** The requests that the model may make. Everything else is refused. */
  readonly allow: readonly HttpRule[];
  /** Describes the services and their use to the model. */
  readonly description?: string;
  /** Maximum size of a response in bytes. @default 1000000 */
  readonly maxBytes?: number;
  readonly timeoutMs?: number;
}

const MAX_BYTES = 1_000_000;
const MAX_BODY = 1_000_000;
const TIMEOUT_MS = 30_000;

const input = z.object({
  url: z.string().max(8_000),
  method: z.enum(HTTP_METHODS).default("GET"),
  body: z.string().max(MAX_BODY).optional(),
  content_type: z.string().max(200).optional().describe("Of the body; application/json when absent."),
});

type Input = z.output<typeof input>;

export function httpRequestTool(options: HttpRequestOptions, fetch: FetchPolicy | undefined): Tool {
  const { allow, maxBytes = MAX_BYTES, timeoutMs = TIMEOUT_MS } = options;
  checkRules(allow);
  const services = allow.map(({ origin, methods = ["GET", "HEAD"], paths = ["/"] }) => {
    return `${methods.join(", ")} ${paths.map((path) => `${origin}${path}`).join(", ")}`;
  });
  return tool({
    description: [
      options.description ?? "Calls an HTTP service.",
      `These may be called, and no others:\n${services.join("\n")}`,
    ].join(" "),
    label: "Calling a service",
    input,
    idempotent: ({ url, method }) =>
      method === "GET" || method === "HEAD" || ruleFor(allow, url, method)?.idempotencyHeader !== undefined,
    run: (args, context) => {
      const policy = policyFor(allow, resolveFetchPolicy(fetch, context, { maxBytes, timeoutMs }));
      return request(allow, policy, args, context);
    },
  });
}

async function request(
  allow: readonly HttpRule[],
  policy: FetchPolicy,
  { url, method, body, content_type: type = "application/json" }: Input,
  context: ToolContext,
): Promise<ToolOutput> {
  const rule = ruleFor(allow, url, method);
  if (rule === undefined)
    throw new ToolError("This address may not be called.", {
      modelMessage: `${method} ${url} is not an allowed request.`,
    });
  const { headers = {}, idempotencyHeader } = rule;
  const own = typeof headers === "function" ? await headers(context) : headers;
  try {
    const answer = await safeFetch(url, {
      policy,
      signal: context.signal,
      method,
      headers: {
        accept: "application/json, text/*;q=0.9, */*;q=0.1",
        ...(body === undefined ? {} : { "content-type": type }),
        ...own,
        ...(idempotencyHeader === undefined ? {} : { [idempotencyHeader]: context.idempotencyKey }),
      },
      ...defined({ body }),
      // `safeFetch` follows a redirect with the same method or with GET, so the rules must allow both.
      mayFollow: (next) =>
        ruleFor(allow, next, method) !== undefined && ruleFor(allow, next, "GET") !== undefined,
    });
    const bytes = await answer.bytes();
    return outputOf(`${method} ${new URL(url).host}`, answer, bytes, secretsIn(own));
  } catch (error) {
    throw describeFetchError(error, "The service could not be called.");
  }
}

function outputOf(
  what: string,
  { status, mediaType, headers }: SafeResponse,
  bytes: Uint8Array,
  secrets: readonly string[],
): ToolOutput {
  const body =
    bytes.byteLength === 0 || isTextResponse(mediaType)
      ? without(secrets, decodeText(bytes, headers["content-type"] ?? ""))
      : `[${bytes.byteLength} bytes that are not text]`;
  const preview = `${what}: ${status}`;
  return { content: { status, type: mediaType, body }, blocks: [{ type: "text", text: preview }], preview };
}

const KEYS = /auth|key|token|secret|cookie|password/i;
/** Common headers. Their values occur in many responses, so redacting them would damage the text. */
const PLAIN = /^(accept.*|content-type|user-agent)$/i;
/** Redacting shorter values would damage unrelated text. */
const MIN_SECRET = 8;

/**
 * Returns the header values to redact, longest first. For headers that look like credentials it adds each word, as in
 * `Bearer …`.
 */
function secretsIn(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers)
    .filter(([name]) => !PLAIN.test(name))
    .flatMap(([name, value]) => (KEYS.test(name) ? [value, ...value.split(/\s+/)] : [value]))
    .filter((secret) => secret.length >= MIN_SECRET)
    .toSorted((a, b) => b.length - a.length);
}

/** Redacts the secrets, because some services echo the request with its headers. */
function without(secrets: readonly string[], text: string): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, "[redacted]"), text);
}
