/** A real DNS server on UDP. A test chooses the answer to each query. */
import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";

import ipaddr from "ipaddr.js";

import type { Lookup } from "../../src/safe-fetch/policy.ts";

/** @param answer returns the addresses for the nth query, all of one family */
export async function startNameServer(
  family: 4 | 6,
  answer: (n: number) => readonly string[],
): Promise<{
  readonly lookup: Lookup;
  readonly asked: () => number;
  readonly close: () => void;
}> {
  const socket = createSocket("udp4");
  let asked = 0;
  socket.on("message", (question, from) => {
    socket.send(reply(question, answer(asked++)), from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  resolver.setServers([`127.0.0.1:${socket.address().port}`]);
  return {
    lookup: (host) => (family === 4 ? resolver.resolve4(host) : resolver.resolve6(host)),
    asked: () => asked,
    close: () => socket.close(),
  };
}

function reply(question: Buffer, addresses: readonly string[]): Buffer {
  // The header and the question, without the additional records of the resolver.
  let end = 12;
  while (question[end] !== 0) end += (question[end] ?? 0) + 1;
  const asked = question.subarray(0, end + 5);
  const head = Buffer.from(asked);
  head.writeUInt16BE(0x8180, 2);
  head.writeUInt16BE(addresses.length, 6);
  head.writeUInt16BE(0, 10);
  const answers = addresses.map((address) => {
    const bytes = ipaddr.parse(address).toByteArray();
    const type = bytes.length === 4 ? 1 : 28;
    return Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, bytes.length, ...bytes]);
  });
  return Buffer.concat([head, ...answers]);
}
