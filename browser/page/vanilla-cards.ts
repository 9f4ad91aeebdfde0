/** `drawCard` draws approvals, questions and forms for the page without a framework. */
import type { Session } from "@turnstream/client";
import { createFormStore } from "@turnstream/client/view";
import { type InteractionBlock, isPending, type Json, toolLabel } from "@turnstream/protocol";
import { button, h, labelled } from "./vanilla-elements.ts";

const nameOf = (name: string) => toolLabel({ label: "", name });
const textOf = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
const OUTCOMES: Readonly<Record<string, string>> = {
  edited: "Approved with changes",
  timed_out: "Not answered in time",
  cancelled: "No longer needed",
};

const rows = (entries: readonly (readonly [string, unknown])[]) =>
  h("dl", {}, ...entries.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, textOf(value))]));

/** Reads the fields of a card by name. A value keeps the type of the value before. */
function read(inputs: ReadonlyMap<string, HTMLInputElement>, before: Readonly<Record<string, Json>>) {
  const entries = [...inputs].map(([name, { value }]): [string, Json] => [
    name,
    typeof before[name] === "number" ? Number(value) : value,
  ]);
  return Object.fromEntries(entries.filter(([, value]) => value !== ""));
}

function askReason(card: HTMLElement, verb: string, run: (reason: string) => unknown): void {
  const reason = h("input") as HTMLInputElement;
  card.lastElementChild?.replaceWith(
    h(
      "p",
      {},
      labelled("Reason (optional)", reason),
      button(verb, () => run(reason.value)),
    ),
  );
}

const cards = new WeakMap<InteractionBlock, HTMLElement>();
/** Draws a card once for each state of its request, so that the card keeps what the user has typed. */
export function drawCard(session: Session, block: InteractionBlock): HTMLElement {
  const known = cards.get(block);
  if (known !== undefined) return known;
  const inputs = new Map<string, HTMLInputElement>();
  const input = (name: string, label: string, value: string) => {
    inputs.set(name, h("input", { value }) as HTMLInputElement);
    return labelled(label, inputs.get(name) as HTMLInputElement);
  };
  const card = h("section.ts-card");
  Object.assign(card.dataset, { card: block.kind, ...(isPending(block) && { waiting: "" }) });
  cards.set(block, card);
  if (block.kind === "approval") {
    const { key, digest } = block;
    const bound = digest === null ? {} : { digest };
    const action = (block.edited ?? block.actions)[0];
    const args = (action?.input ?? {}) as Readonly<Record<string, Json>>;
    const edit = () => {
      const fields = Object.entries(args).map(([name, value]) => input(name, nameOf(name), textOf(value)));
      const approve = () =>
        session.decideApproval(key, { decision: "edit", args: read(inputs, args), ...bound });
      card.lastElementChild?.replaceWith(h("p", {}, ...fields, button("Approve with changes", approve)));
    };
    card.append(
      h("p.ts-card-title", {}, `Allow “${toolLabel({ label: "", name: "", ...action })}”?`),
      rows(Object.entries(args).map(([name, value]) => [nameOf(name), value])),
      h(
        "p",
        {},
        button("Approve", () => session.decideApproval(key, { decision: "approve", ...bound })),
        button("Edit", edit),
        button("Reject", () =>
          askReason(card, "Reject", (reason) =>
            session.decideApproval(key, { decision: "reject", reason, ...bound }),
          ),
        ),
      ),
    );
  } else if (block.kind === "question") {
    const fields = block.questions.map(({ id, text, options, multiple, free_text }) => {
      const type = multiple ? "checkbox" : "radio";
      const choices = options.map((option) =>
        h("label.ts-option", {}, h("input", { type, name: id, value: option.id }), option.label),
      );
      return h(
        "fieldset",
        {},
        h("legend", {}, text),
        ...choices,
        ...(free_text ? [input(id, "Your own answer", "")] : []),
      );
    });
    const answers = () =>
      block.questions.map(({ id: question }, n) => {
        const chosen = [...(fields[n]?.querySelectorAll<HTMLInputElement>(".ts-option :checked") ?? [])];
        const text = inputs.get(question)?.value ?? "";
        return { question, selected: chosen.map(({ value }) => value), ...(text !== "" && { text }) };
      });
    const given = block.questions.map(({ id, text, options }) => {
      const { selected = [], text: own = "" } = block.answers?.find(({ question }) => question === id) ?? {};
      const chosen = selected.map((one) => options.find((option) => option.id === one)?.label ?? one);
      return [text, [...chosen, ...(own === "" ? [] : [own])].join(", ")] as const;
    });
    card.append(h("p.ts-card-title", {}, "Question"), ...(isPending(block) ? fields : [rows(given)]));
    card.append(button("Answer", () => session.answerQuestion(block.key, answers())));
  } else if (block.kind === "form") {
    const { schema, values } = block;
    const form = createFormStore(session, block);
    const saved = h("span", { ariaLive: "polite" });
    const fields = isPending(block) ? schema.fields.map(({ name, label }) => input(name, label, "")) : [];
    for (const [name, field] of inputs)
      field.addEventListener("input", () => form.setValue(name, field.value));
    const show = () => {
      const { values: typed, problems, isDraftSaved } = form.get();
      for (const [name, field] of inputs) {
        field.ariaInvalid = String(problems.has(name));
        field.value = textOf(typed.get(name) ?? "");
      }
      saved.textContent = isDraftSaved ? "Draft saved" : "";
    };
    const decline = () => askReason(card, "Decline", form.decline);
    card.append(h("p.ts-card-title", {}, schema.title), ...fields);
    if (values !== null)
      card.append(rows(schema.fields.map(({ name, label }) => [label, values[name] ?? "–"])));
    card.append(h("p", {}, button("Submit", form.submit), button("Decline", decline), saved));
    if (isPending(block)) form.subscribe(show);
  }
  const reason = block.reason === null || block.reason === "" ? "" : ` Reason: ${block.reason}`;
  const outcome = `${OUTCOMES[block.status] ?? nameOf(block.status)}${reason}`;
  if (!isPending(block)) card.lastElementChild?.replaceWith(h("p.ts-outcome", {}, outcome));
  return card;
}
