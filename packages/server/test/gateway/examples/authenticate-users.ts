/** `tokenFor` and `socketAddress` authenticate a user's browser. Printed in docs/gateway.md. */

/** Runs on your own server, for a user who has signed in there. */
export async function tokenFor(api: string, key: string, user: string): Promise<string> {
  const answer = await fetch(`${api}/api/v1/tokens`, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json" },
    body: JSON.stringify({ user_id: user, seconds: 900 }),
  });
  const { token } = (await answer.json()) as { token: string };
  return token;
}

/** Runs in the browser. The returned URL is valid for one socket and 30 seconds. */
export async function socketAddress(api: string, token: string): Promise<string> {
  const answer = await fetch(`${api}/api/v1/tickets`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
  });
  const { ticket } = (await answer.json()) as { ticket: string };
  return `${api.replace(/^http/, "ws")}/api/v1/socket?dialect=blocks&ticket=${ticket}`;
}
