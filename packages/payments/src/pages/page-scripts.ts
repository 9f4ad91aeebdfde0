/**
 * `SUBMIT_WHEN_VISIBLE` and `POLL_STATUS` are the scripts of the payment pages. Constants.
 * Invariant: a script contains no value and reads what it needs from `data-` attributes. A form is sent only when a
 * user can see the page, so a prefetched or prerendered page changes nothing. Every page also works without its script.
 */
import { Html } from "./html.ts";

/**
 * Sends the form of the page once the page is visible. After the back button it waits for the user, who would otherwise
 * be unable to leave the provider's page.
 */
export const SUBMIT_WHEN_VISIBLE = new Html(`
(() => {
  const form = document.querySelector("form");
  const button = document.querySelector("button");
  if (form === null || button === null) return;
  let isSent = false;
  form.addEventListener("submit", (event) => {
    if (isSent) event.preventDefault();
    isSent = true;
    button.disabled = true;
  });
  addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    isSent = false;
    button.disabled = false;
  });
  const [navigation] = performance.getEntriesByType("navigation");
  if (navigation !== undefined && navigation.type === "back_forward") return;
  let isDone = false;
  const send = () => {
    if (isDone || isSent || document.prerendering || document.visibilityState !== "visible") return;
    isDone = true;
    form.requestSubmit(button);
  };
  document.addEventListener("prerenderingchange", send);
  document.addEventListener("visibilitychange", send);
  send();
})();
`);

/** Polls the stored status of the payment, and loads the page again when it has changed. */
export const POLL_STATUS = new Html(`
(() => {
  const { statusUrl, pageUrl, status } = document.querySelector("main").dataset;
  const endAt = Date.now() + 20 * 60 * 1000;
  let delayMs = 1500;
  const poll = async () => {
    if (document.visibilityState === "visible") {
      try {
        const response = await fetch(statusUrl, { cache: "no-store", credentials: "omit" });
        if (response.ok && (await response.json()).status !== status) {
          location.replace(pageUrl);
          return;
        }
      } catch {}
      delayMs = Math.min(delayMs * 1.25, 10000);
    }
    if (Date.now() < endAt) setTimeout(poll, delayMs);
  };
  setTimeout(poll, delayMs);
})();
`);
