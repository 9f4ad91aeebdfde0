/** Tests which HTTP requests replace the commands of a socket. */
import { describe, expect, test } from "vitest";
import type { Api } from "../../src/http/api.ts";
import { sendCommand } from "../../src/http/commands-chunk.ts";
import type { TransportCommand } from "../../src/transport/transport.ts";

async function send(command: TransportCommand, reply: unknown) {
  const requests: unknown[] = [];
  const json = (path: string, { method, body }: RequestInit = {}): Promise<unknown> => {
    requests.push([method, path, typeof body === "string" ? JSON.parse(body) : null]);
    return Promise.resolve(reply);
  };
  const ack = await sendCommand({ json } as unknown as Api, command);
  return { requests, ack };
}

describe("a command over HTTP", () => {
  test.each([
    ["cancel_payment", "cancel", "cancelled"],
    ["refresh_payment", "refresh", "processing"],
  ] as const)(
    "S13 %s names the payment in its path, and returns its status",
    async (type, action, status) => {
      const command = { type, session_id: "ses/1", payment_request_id: "pay 1" } as const;
      const { requests, ack } = await send(command, { payment: { status } });
      expect(requests).toEqual([["POST", `/sessions/ses%2F1/payments/pay%201/${action}`, {}]]);
      expect(ack).toEqual({ payment_status: status });
    },
  );

  test("a form names its request in its path", async () => {
    const command = { type: "submit", session_id: "s", form_request_id: "f", values: { a: 1 } } as const;
    const { requests } = await send(command, {});
    expect(requests).toEqual([["POST", "/sessions/s/interactions/f/submit", { values: { a: 1 } }]]);
  });
});
