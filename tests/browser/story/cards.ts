/** Functions such as `approve`, `answer` and `fillForm` use cards and the composer by mouse, as a user does. */
import type { Choice } from "@turnstream/conformance/stories/story.ts";
import { en } from "@turnstream/react";
import type { Locator } from "playwright-core";
import type { Tab } from "../tab.ts";

type Values = Readonly<Record<string, string | number>>;
type Answers = Extract<Choice, { readonly answers: unknown }>["answers"];

const { cards: strings, thread } = en;

/** Returns the waiting card of this kind. */
export function findCard({ page }: Tab, kind: "approval" | "question" | "form"): Locator {
  return page.locator(`.ts-card[data-card=${kind}][data-waiting]`);
}

export async function stop({ page }: Tab): Promise<void> {
  await page.locator(".ts-composer").getByRole("button", { name: thread.stop }).click();
}

export async function attach(
  { page }: Tab,
  { name, bytes }: { readonly name: string; readonly bytes: Uint8Array },
): Promise<void> {
  const mimeType = name.endsWith(".png") ? "image/png" : "application/pdf";
  const file = { name, mimeType, buffer: Buffer.from(bytes) };
  await page.locator(".ts-composer input[type=file]").setInputFiles(file);
  // The send button is enabled after the upload.
  await page.locator(".ts-composer .ts-send:enabled").waitFor();
}

export async function approve(tab: Tab): Promise<void> {
  await press(findCard(tab, "approval"), strings.approve);
}

export async function edit(tab: Tab, input: Values): Promise<void> {
  const card = findCard(tab, "approval");
  await press(card, strings.edit);
  for (const [name, value] of Object.entries(input)) await fieldOf(card, name).fill(String(value));
  await press(card, strings.approveEdited);
}

export async function reject(tab: Tab, reason: string): Promise<void> {
  const card = findCard(tab, "approval");
  await press(card, strings.reject);
  await card.getByLabel(strings.reason).fill(reason);
  await press(card, strings.confirmReject);
}

/** The n-th question has the id `q<n>`, and its n-th option `o<n>`. */
export async function answer(tab: Tab, answers: Answers): Promise<void> {
  const card = findCard(tab, "question");
  for (const { question, selected, text } of answers) {
    const asked = card.locator("fieldset").nth(Number(question.slice(1)) - 1);
    for (const option of selected)
      await asked
        .locator(".ts-option input")
        .nth(Number(option.slice(1)) - 1)
        .check();
    if (text !== undefined) await asked.getByLabel(strings.freeText).fill(text);
  }
  await press(card, strings.answer);
}

export async function fillForm(tab: Tab, values: Values): Promise<void> {
  const card = findCard(tab, "form");
  for (const [name, value] of Object.entries(values)) await fieldOf(card, name).fill(String(value));
}

/** Returns the values of the form's fields, by name. */
export async function readForm(tab: Tab, names: readonly string[]): Promise<Values> {
  const card = findCard(tab, "form");
  const values = names.map(async (name) => [name, await fieldOf(card, name).inputValue()] as const);
  return Object.fromEntries(await Promise.all(values));
}

export async function untilDraftSaved(tab: Tab): Promise<void> {
  await findCard(tab, "form").getByText(strings.draftSaved).waitFor();
}

export async function submitForm(tab: Tab): Promise<void> {
  await press(findCard(tab, "form"), strings.submit);
}

export async function untilProblemShown(tab: Tab): Promise<void> {
  await findCard(tab, "form").locator("[aria-invalid=true]").first().waitFor();
}

export async function declineForm(tab: Tab, reason: string): Promise<void> {
  const card = findCard(tab, "form");
  await press(card, strings.decline);
  await card.getByLabel(strings.reason).fill(reason);
  await press(card, strings.decline);
}

async function press(card: Locator, name: string): Promise<void> {
  await card.getByRole("button", { name, exact: true }).click();
}

/** `max_price` has the label “Max price”. */
function fieldOf(card: Locator, name: string): Locator {
  return card.getByLabel(new RegExp(`^${name.replaceAll("_", " ")}`, "i"));
}
