/** Tests that commands take effect once, and that a refused command returns an error code. */
import { beforeEach, describe, expect, test } from "vitest";
import type { Command, CommandContext } from "../../src/gateway/command.ts";
import { executeCommand, toMessageId } from "../../src/gateway/execute-command.ts";
import { CallerLimiter } from "../../src/gateway/limits/caller-limiter.ts";
import { uploadFile } from "../../src/session/blobs/upload.ts";
import { DECISIONS_CHANNEL, STOPS_CHANNEL, TURNS_CHANNEL } from "../../src/session/signal-channels.ts";
import type { SessionRef } from "../../src/util/refs.ts";
import { systemEnv } from "../../src/util/env.ts";
import { testCaller, requestInteraction, createTestSession } from "./pending-interactions.ts";
import { createMemoryBackend } from "./test-server.ts";
import { startTurn } from "../store/start-turn.ts";

const ignore = (): void => undefined;

type Without<T> = T extends unknown ? Omit<T, "session_id"> : never;

describe("executeCommand (W16)", () => {
  let parts: CommandContext;
  let ref: SessionRef;
  let woken: string[];
  beforeEach(async () => {
    const backend = createMemoryBackend();
    const callerLimits = { env: systemEnv, callerLimits: {}, reportSecurityEvent: ignore };
    const limiter = new CallerLimiter({ ...backend, ...callerLimits });
    parts = { ...backend, limiter, commands: {}, env: systemEnv, onError: ignore };
    await parts.store.tenants.create({ id: testCaller.tenant, name: "Acme" });
    ref = await createTestSession(parts);
    await parts.store.agents.register([{ name: "broker", label: "", description: "", inputs: ["text"] }]);
    woken = [];
    for (const channel of [STOPS_CHANNEL, DECISIONS_CHANNEL])
      parts.signals.listen(channel, () => woken.push(channel));
    parts.signals.listen(TURNS_CHANNEL, (agent) => woken.push(agent));
  });
  const run = (command: Without<Command>) =>
    executeCommand(parts, testCaller, ref, { ...command, session_id: ref.session });

  test("sends a message with its files and its agent once, however often it is repeated", async () => {
    const send = {
      type: "send",
      client_message_id: "m-1",
      text: "VNM?",
      content_urls: ["https://x.test/a.pdf"],
      agent_id: "broker",
      display_mode: "chat",
    } as const;
    const acks = await Promise.all([run(send), run(send), run({ ...send, text: "other" })]);
    expect(new Set(acks.map((ack) => ack.user_message_id))).toEqual(new Set(["c.m-1"]));
    expect(await parts.store.queuedMessages.list(ref)).toMatchObject([
      { id: "c.m-1", text: "VNM?", by: "an", files: [{ url: "https://x.test/a.pdf" }] },
    ]);
    const started = await startTurn(parts.store, ref, { agents: ["broker"] });
    expect(started?.row.options).toEqual({ agent: "broker", mode: "chat" });
    await expect.poll(() => woken).toContain("broker");
    expect(await run(send)).toEqual({ user_message_id: "c.m-1" });
    expect(await parts.store.queuedMessages.list(ref)).toEqual([]);
  });

  test("S12 refuses a message for an agent that is not registered, with the names of those that are", async () => {
    const send = { type: "send", client_message_id: "m-1", text: "VNM?", agent_id: "unknown" } as const;
    await expect(run(send)).rejects.toMatchObject({
      userMessage: 'agent_id must be the name of a registered agent (broker), got "unknown"',
    });
    expect(await parts.store.queuedMessages.list(ref)).toEqual([]);
    await run({ ...send, agent_id: "broker" });
    await parts.store.agents.remove("broker");
    // A repeat of an accepted message is no second message, so it is not refused.
    expect(await run({ ...send, agent_id: "broker" })).toEqual({ user_message_id: "c.m-1" });
    await expect(run({ ...send, client_message_id: "m-2", agent_id: "broker" })).rejects.toMatchObject({
      userMessage: expect.stringContaining("no worker has registered its agents yet"),
    });
  });

  test("adds the name of an upload to the message, and nothing of another session's upload", async () => {
    const body = (async function* () {
      yield new TextEncoder().encode("a,b");
    })();
    const options = { id: "u-1", name: "q3.csv", mediaType: "text/csv", body, userId: "an" };
    const { url } = await uploadFile(parts, ref, options);
    await run({ type: "send", client_message_id: "m", text: "", content_urls: [url, `${url}x`] });
    const [message] = await parts.store.queuedMessages.list(ref);
    expect(message?.files).toEqual([
      { url, name: "q3.csv", media_type: "text/csv", size: 3 },
      { url: `${url}x` },
    ]);
  });

  test("never gives a client's message the id of a server message, whatever the length of its id", () => {
    const long = "x".repeat(256);
    const ids = ["after.f1", "c.m", long, `${long.slice(1)}y`, toMessageId(long)].map(toMessageId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[ch]\..{1,254}$/);
  });

  test("stops the running turn, and only the one that it names", async () => {
    expect(await run({ type: "stop" })).toEqual({ receipt: "over" });
    await run({ type: "send", client_message_id: "m", text: "x" });
    const turn_id = (await startTurn(parts.store, ref))?.row.turn ?? "";
    expect(await run({ type: "stop", turn_id: "t0" })).toEqual({ receipt: "over" });
    expect(woken).not.toContain("stops");
    expect(await run({ type: "stop", turn_id })).toEqual({ receipt: "stopping", turn_id });
    expect(await run({ type: "stop" })).toEqual({ receipt: "already", turn_id });
    await expect.poll(() => woken).toContain("stops");
    expect((await parts.store.running.get(ref))?.stop).toMatchObject({ by: "an" });
  });

  test("decides once, and a later decision fails with the current status", async () => {
    const key = await requestInteraction(parts, ref, "approval", { digest: "sha256:1" });
    const decide = { type: "decide", approval_key: key, decision: "approve" } as const;
    await expect(run({ ...decide, digest: "sha256:2" })).rejects.toMatchObject({
      code: "INTERACTION_MISMATCH",
    });
    expect(await run({ ...decide, digest: "sha256:1", always: true })).toEqual({});
    await expect.poll(() => woken).toContain("decisions");
    await expect(run({ ...decide, decision: "reject", reason: "no" })).rejects.toMatchObject({
      code: "INTERACTION_CLOSED",
      message: "This approval is already approved and can't be changed.",
    });
    expect(await parts.store.allowances.list(ref)).toMatchObject([{ tool: "trade", by: "an" }]);
    expect(await parts.store.interactions.changes(ref, key)).toMatchObject([
      { status: "approved", by: "an" },
    ]);
    const notes = await parts.store.audit.list(testCaller.tenant, { after: 0, limit: 10 });
    const note = notes.find(({ action }) => action === "approval.approved");
    expect(JSON.parse(note?.detail ?? "null")).toMatchObject({ from: "c1" });
  });

  test("refuses a decision after the deadline", async () => {
    const key = await requestInteraction(parts, ref, "approval", { deadlineMs: 0 });
    await expect(
      run({ type: "decide", approval_key: key, decision: "edit", args: { count: 2 } }),
    ).rejects.toMatchObject({ code: "INTERACTION_CLOSED", message: expect.stringMatching(/deadline/) });
  });

  test("edits, answers and dismisses", async () => {
    const edited = await requestInteraction(parts, ref, "approval");
    await run({ type: "decide", approval_key: edited, decision: "edit", args: { count: 2 } });
    expect((await parts.store.interactions.get(ref, edited))?.status).toBe("edited");
    const [answered, dismissed] = [
      await requestInteraction(parts, ref, "question"),
      await requestInteraction(parts, ref, "question"),
    ];
    const answers = [{ question: "meal", selected: ["dinner"] }];
    await run({ type: "answer", approval_key: answered, answers });
    await run({ type: "dismiss", approval_key: dismissed, reason: "later" });
    const rows = await parts.store.interactions.list(ref);
    expect(rows.map(({ status }) => status)).toEqual(["edited", "answered", "dismissed"]);
    await expect(run({ type: "answer", approval_key: "nothing", answers })).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
  });

  test("submits and declines forms, and starts the next turn only if requested", async () => {
    const [submitted, declined, silent] = [
      await requestInteraction(parts, ref, "form"),
      await requestInteraction(parts, ref, "form"),
      await requestInteraction(parts, ref, "form"),
    ];
    await expect(run({ type: "submit", form_request_id: submitted, values: {} })).rejects.toMatchObject({
      code: "INVALID",
    });
    await run({ type: "submit", form_request_id: submitted, values: { email: "a@x.test" } });
    await run({ type: "decline", form_request_id: declined, reason: "no" });
    await run({ type: "decline", form_request_id: silent, go_on: false });
    expect((await parts.store.queuedMessages.list(ref)).map(({ resumes }) => resumes)).toEqual([
      submitted,
      declined,
    ]);
    const again = run({ type: "decline", form_request_id: submitted });
    await expect(again).rejects.toMatchObject({ code: "INTERACTION_CLOSED" });
  });

  test("submits a form with a message that continues from it", async () => {
    const form = await requestInteraction(parts, ref, "form");
    const send = { type: "send", client_message_id: "m", text: "Done." } as const;
    await run({ ...send, resume_form_request_id: form, form_values: { email: "a@x.test" } });
    expect((await parts.store.interactions.get(ref, form))?.status).toBe("submitted");
    await expect(
      run({ ...send, client_message_id: "n", resume_form_request_id: "nothing" }),
    ).rejects.toMatchObject({ code: "NOT_FOUND" });
    const late = { resume_form_request_id: form, form_values: { email: "b@x.test" } };
    await expect(run({ ...send, client_message_id: "o", ...late })).rejects.toMatchObject({
      code: "INTERACTION_CLOSED",
      message: expect.stringContaining("already submitted") as string,
    });
  });
});
