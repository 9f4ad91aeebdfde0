/** Tests `createFormStore` and the rules of its values, as a page without a framework uses them. */
import { checkForm, type FormField, type FormSchema, type Json } from "@turnstream/protocol";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createStaticSession } from "../../src/static-session.ts";
import { createFormStore } from "../../src/view/form-store.ts";
import * as form from "../../src/view/form-values.ts";

const field = (name: string, type: FormField["type"], more: Partial<FormField> = {}): FormField => ({
  name,
  label: name,
  type,
  required: true,
  ...more,
});

const schema: FormSchema = {
  id: "f",
  title: "F",
  fields: [
    field("name", "text", { max: 5 }),
    field("age", "number", { min: 18 }),
    field("mail", "email", { required: false }),
  ],
};

describe("values of a form", () => {
  test("contain numbers as numbers, and no empty fields", () => {
    let filling = form.setValue(form.setValue(form.EMPTY_FORM, "name", "An"), "age", "20");
    filling = form.setValue(filling, "mail", "");
    expect(form.toValues(filling, schema)).toEqual({ name: "An", age: 20 });
    expect(form.checkValues(filling, schema)).toEqual([]);
    expect(checkForm(schema, form.toValues(filling, schema))).toEqual([]);
    expect(form.checkValues(form.setValue(filling, "age", "2o"), schema)).toEqual([
      { field: "age", problem: "wrong_type" },
    ]);
  });

  test("restoreDraft keeps what the user has typed, and skips values that don't fit the schema", () => {
    const typed = form.setValue(form.EMPTY_FORM, "name", "Bo");
    const restored = form.restoreDraft(typed, schema, { name: "An", age: 3, mail: "half@", odd: 1 });
    expect(form.toValues(restored, schema)).toEqual({ name: "Bo", mail: "half@" });
    expect(form.toDraft(form.setValue(typed, "age", "x"), schema)).toEqual({ name: "Bo" });
  });
});

function open(draft: Readonly<Record<string, Json>> | null = null) {
  const commands: unknown[][] = [];
  const server = { isBroken: false };
  const session = createStaticSession([], {
    onCommand: (name, args) => {
      commands.push([name, ...args]);
      if (server.isBroken) throw new Error("refused");
      return name === "loadFormDraft" ? draft : undefined;
    },
  });
  const store = createFormStore(session, { form: "form-1", schema });
  return { store, commands, server };
}

describe("createFormStore", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("loads the draft with its first listener, and only then", async () => {
    const { store, commands } = open({ name: "An", age: 3 });
    expect(commands).toEqual([]);
    const seen: Json[] = [];
    const end = store.subscribe(({ values }) => seen.push(values.get("name") ?? null));
    store.subscribe(() => {});
    await vi.advanceTimersByTimeAsync(0);
    expect([...store.get().values]).toEqual([["name", "An"]]);
    expect(commands).toEqual([["loadFormDraft", "form-1"]]);
    expect(seen).toEqual([null, "An"]);
    expect(store.get()).toBe(store.get());
    end();
    store.setValue("name", "Bo");
    expect(seen).toEqual([null, "An"]);
  });

  test("saves the last of several changes after 0.8 s, or at once if the page is hidden", async () => {
    const { store, commands } = open();
    store.setValue("name", "A");
    await vi.advanceTimersByTimeAsync(700);
    store.setValue("name", "An");
    await vi.advanceTimersByTimeAsync(700);
    expect(commands).toEqual([]);
    expect(store.get().isDraftSaved).toBe(false);
    await vi.advanceTimersByTimeAsync(100);
    expect(commands).toEqual([["saveFormDraft", "form-1", { name: "An" }]]);
    expect(store.get().isDraftSaved).toBe(true);
    store.saveDraft();
    expect(commands).toHaveLength(1);
    store.setValue("age", "20");
    expect(store.get().isDraftSaved).toBe(false);
    store.saveDraft();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(commands.slice(1)).toEqual([["saveFormDraft", "form-1", { name: "An", age: 20 }]]);
  });

  test("shows the problem of a field after the user left it, and all problems after a submit, which sends nothing", async () => {
    const { store, commands } = open();
    store.setValue("age", "3");
    expect(store.get().problems.size).toBe(0);
    store.leaveField("age");
    expect([...store.get().problems.keys()]).toEqual(["age"]);
    expect(store.get().problemCount).toBe(0);
    await store.submit();
    expect([...store.get().problems.keys()]).toEqual(["name", "age"]);
    expect(store.get().problemCount).toBe(2);
    expect(commands).toEqual([]);
    store.setValue("name", "An");
    store.setValue("age", "30");
    expect(store.get().problemCount).toBe(0);
  });

  test.each(["submit", "decline"] as const)("saves no draft during or after %s", async (action) => {
    const { store, commands } = open();
    store.setValue("name", "An");
    store.setValue("age", "20");
    await (action === "submit" ? store.submit() : store.decline("no"));
    store.saveDraft();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(commands).toEqual([
      action === "submit"
        ? ["submitForm", "form-1", { name: "An", age: 20 }]
        : ["declineForm", "form-1", "no"],
    ]);
  });

  test("saves the draft after all if the server refuses the form, and ignores a draft that can't be saved", async () => {
    const { store, commands, server } = open();
    store.setValue("name", "An");
    store.setValue("age", "20");
    server.isBroken = true;
    await expect(store.submit()).rejects.toThrow("refused");
    await vi.advanceTimersByTimeAsync(800);
    expect(commands.map(([name]) => name)).toEqual(["submitForm", "saveFormDraft"]);
    expect(store.get().isDraftSaved).toBe(false);
    server.isBroken = false;
    await store.decline();
    expect(commands.at(-1)).toEqual(["declineForm", "form-1"]);
  });
});
