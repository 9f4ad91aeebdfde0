/** `h` creates an element, and `button` and `labelled` create controls, for the page without a framework. */

/** @param name the tag and class, such as `p.note` */
export function h(name: string, props: object = {}, ...children: (Node | string)[]): HTMLElement {
  const [tag = "", className = ""] = name.split(".");
  const element = Object.assign(document.createElement(tag), { className, ...props });
  element.append(...children);
  return element;
}

export function button(text: string, onclick: () => unknown): HTMLElement {
  return h("button", { type: "button", onclick }, text);
}

export function labelled(text: string, input: HTMLElement): HTMLElement {
  return h("label", {}, `${text} `, input);
}
