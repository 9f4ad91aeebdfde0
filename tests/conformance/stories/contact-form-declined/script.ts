/** The same form, declined: the next turn starts by itself and continues without it. Data only. */
import { contactForm } from "../contact-form/script.ts";
import type { Story } from "../story.ts";

const { agent } = contactForm;
const [first = []] = agent.answers;

export const contactFormDeclined: Story = {
  ...contactForm,
  name: "contact-form-declined",
  agent: { ...agent, name: "declined-agent", answers: [first, [{ text: "好的,不用填表。" }]] },
  form: { draft: { email: "an@" }, bad: { email: "" }, finally: { decline: "不想留資料" } },
};
