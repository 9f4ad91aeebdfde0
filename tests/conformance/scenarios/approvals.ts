/** Scenarios of approvals inside their group: approved, edited, rejected and timed out. */
import type { ApprovalAction, ArgumentField } from "@turnstream/protocol";
import { Story } from "./story.ts";

type Place = ReturnType<Story["place"]>;

function parseInput(text: string): ApprovalAction["input"] {
  return JSON.parse(text) as ApprovalAction["input"];
}

function request(
  log: Story,
  key: string,
  call: string,
  action: ApprovalAction,
  editable: boolean,
  more: { always?: true } = {},
): Place {
  const on = log.place();
  const due = { timeout_seconds: 300, deadline: log.now + 300_000 };
  log.add({
    type: "approval.request",
    ...on,
    key,
    call,
    actions: [action],
    editable,
    ...due,
    digest: `d_${key}`,
    ...more,
  });
  return on;
}

const BOOKING_FIELDS: readonly ArgumentField[] = [
  {
    name: "room",
    label: "会议室",
    type: "select",
    options: [
      { value: "A", label: "A 室" },
      { value: "B", label: "B 室" },
    ],
  },
  { name: "people", label: "人数", type: "number", unit: "人" },
];

/** Two calls in one group: the first is approved, also for later calls; the second is edited. */
export function approvedAndEdited(): Story {
  const log = new Story().session("ses_mail", 106);
  log.begin("给王老师发邮件，并订明天的会议室").openGroup();
  const mail = log.call("send_email", ['{"to":"wang@', 'example.com"}'], { label: "发邮件" });
  const sending = { name: "send_email", label: "发邮件给王老师", input: { to: "wang@example.com" } };
  const first = request(log, "ses_mail_1", mail, sending, false, { always: true });
  log.wait(9);
  log.add({ type: "approval.update", ...first, version: 1, by: "usr_an", status: "approved", always: true });
  log.result(mail, "send_email", "已发送 ✉️");
  const firstArguments = '{"room":"A","people":12}';
  const booking = log.call("book_room", [firstArguments], { label: "订会议室" });
  const second = request(
    log,
    "ses_mail_2",
    booking,
    { name: "book_room", input: parseInput(firstArguments), fields: BOOKING_FIELDS },
    true,
  );
  log.wait(31);
  log.add({
    type: "approval.update",
    ...second,
    version: 1,
    by: "usr_an",
    reason: "A 太小了",
    status: "edited",
    actions: [{ name: "book_room", input: parseInput('{"room":"B","people":12}'), fields: BOOKING_FIELDS }],
  });
  log.result(booking, "book_room", "B 室已订").closeGroup("发了邮件，订了会议室");
  log.text(["邮件已发，B 室已订好。"], { final: true }).end();
  return log;
}

/** The user rejects one approval, the other times out. Each tool ends with an error and the agent continues. */
export function rejectedAndTimedOut(): Story {
  const log = new Story().session("ses_files", 107);
  log.begin("Clean up my disk").openGroup();
  const remove = log.call("delete_files", ['{"path":"/tmp/old"}']);
  const path = { name: "delete_files", input: { path: "/tmp/old" } };
  const first = request(log, "ses_files_1", remove, path, true);
  log.wait(15);
  const reason = "Not that folder!";
  log.add({ type: "approval.update", ...first, version: 1, by: "usr_an", reason, status: "rejected" });
  log.result(remove, "delete_files", "rejected: Not that folder!", { status: "error" });
  log.closeGroup("Could not delete").openGroup();
  const empty = log.call("empty_bin", ["{}"]);
  const second = request(log, "ses_files_2", empty, { name: "empty_bin", input: {} }, true);
  log.wait(300);
  log.add({ type: "approval.update", ...second, version: 1, status: "timed_out" });
  log.result(empty, "empty_bin", "not approved in time", { status: "error" }).closeGroup("Waited in vain");
  log.text(["I changed nothing."], { final: true }).end();
  return log;
}
