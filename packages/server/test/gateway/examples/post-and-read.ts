/** `ask` sends a message and streams the answer. Printed in docs/gateway.md. */
import { createSseParser } from "@turnstream/protocol";

export async function ask(
  api: string,
  headers: Record<string, string>,
  chat: string | number,
  message: string,
  onText: (text: string) => void,
): Promise<string> {
  const response = await fetch(`${api}/api/v1/chats/${chat}/messages`, {
    method: "POST",
    // To retry after a lost connection, send the same key again. The gateway then sends the same answer.
    headers: { ...headers, "content-type": "application/json", "idempotency-key": crypto.randomUUID() },
    body: JSON.stringify({ message, stream: true }),
  });
  if (!response.ok || response.body === null) throw new Error(await response.text());
  let answer = "";
  const parser = createSseParser(({ event, data }) => {
    if (event === "response.output_text.delta") onText(JSON.parse(data).delta);
    if (event === "response.output_text.completed") answer = JSON.parse(data).final_text;
    if (event === "response.error") throw new Error(JSON.parse(data).message);
  });
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) parser.push(text);
  return answer;
}
