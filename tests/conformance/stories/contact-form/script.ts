/**
 * The contact form of 002: a thought, a call, then the form, which ends the turn. A reload shows the form with its
 * draft. The form is submitted, and the next message continues from it. Data only.
 */
import type { Story } from "../story.ts";

export const contactForm: Story = {
  name: "contact-form",
  source: "002",
  ask: "請你們跟我聯絡",
  agent: {
    name: "contact-agent",
    model: "model-002",
    requestsForms: true,
    tools: { get_hours: "查詢營業時間" },
    answers: [
      [
        { think: "需要對方的 Email。" },
        { call: "get_hours", id: "call_hours", input: { day: "today" } },
        {
          call: "request_form",
          id: "call_form",
          input: {
            id: "contact_form",
            title: "How to reach you",
            fields: [{ name: "email", label: "Email", type: "shortText", required: true }],
          },
        },
      ],
      [{ text: "收到,我們會寫信到 an@example.org。" }],
    ],
  },
  outcomes: { call_hours: { gives: "09:00-18:00", after: "tool_result.start call_hours" } },
  form: {
    draft: { email: "an@" },
    bad: { email: "" },
    finally: { submit: { email: "an@example.org" }, message: "填好了" },
  },
  reloadAt: ["thinking.delta main", "tool_result.start call_hours", "text.delta main"],
};
