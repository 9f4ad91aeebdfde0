/** `announcements` are the English texts that the page without a framework announces to screen readers. */
import type { AnnouncementOptions } from "@turnstream/client/view";

export const announcements: AnnouncementOptions = {
  strings: {
    started: (agent) => `${agent} is working.`,
    needsApproval: (what) => `Your approval is needed: ${what}.`,
    needsAnswer: (what) => `A question for you: ${what}`,
    needsForm: (what) => `A form to fill in: ${what}.`,
    needsPayment: (what) => `A payment is due: ${what}.`,
    paymentChanged: (what, status) => `Payment for ${what}: ${status}.`,
    done: (agent) => `${agent} is done.`,
    stopped: "Stopped.",
    failed: (what) => `Failed. ${what}`,
  },
  agentName: (id) => id,
  describeStatus: (status) => status,
  describeError: (notice) => notice?.text ?? "",
};
