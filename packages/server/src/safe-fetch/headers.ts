/** Which headers go along with a request, and with where it is redirected to. Pure. */

type Headers = Readonly<Record<string, string>>;

/** The connection is ours to say something about. */
const OURS =
  /^(host|connection|keep-alive|upgrade|te|trailer|transfer-encoding|content-length|expect|accept-encoding|proxy-.*)$/;

/** What says nothing about who asks. Every other header may be a key. */
const HARMLESS = /^(accept|accept-language|user-agent)$/;

export function headersFor(given: Headers, userAgent: string): Record<string, string> {
  const headers: Record<string, string> = { "user-agent": userAgent, accept: "*/*" };
  for (const [name, value] of Object.entries(given))
    if (!OURS.test(name.toLowerCase())) headers[name.toLowerCase()] = value;
  headers["accept-encoding"] = "gzip, deflate, br";
  return headers;
}

export function withoutCredentials(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => HARMLESS.test(name.toLowerCase())));
}
