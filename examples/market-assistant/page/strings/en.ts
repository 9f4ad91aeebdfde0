/** The page's strings in English. */
import type { PageStrings } from "./strings.ts";

export const en: PageStrings = {
  name: "Market assistant",
  tagline: "Ask about the market or your portfolio, or place an order. Choose a suggestion to start.",
  analyst: "Analyst",
  placeholder: "Message Market assistant…",
  suggestions: "Suggestions",
  share: "Share",
  shows: {
    market: "Groups of steps, citations, a table",
    buy: "Approval before it trades",
    portfolio: "A question when the request isn't clear",
    chart: "A chart",
    analyst: "A sub-agent, citations",
    scan: "A long task that can be stopped",
    forecast: "An error and a retry",
    account: "A form",
    file: "A file",
  },
  untitled: "New conversation",
  menu: "Open the list",
  closeMenu: "Close the list",
  language: "Language",
  theme: { system: "Theme: system", light: "Theme: light", dark: "Theme: dark" },
  invented: "All figures are invented.",
};
