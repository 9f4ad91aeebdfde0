/**
 * `installPage` gives React a document in this process: a tree of nodes without layout, so that a case renders,
 * updates and draws slices as on a page, with the CPU time of React and of our code alone.
 * Invariant: it only has what React uses to create, change and remove nodes. `changes` counts every change of the tree.
 */

class PageNode {
  readonly nodeType: number;
  readonly nodeName: string;
  readonly ownerDocument: PageDocument;
  readonly namespaceURI = "http://www.w3.org/1999/xhtml";
  readonly style: Record<string, string> = {};
  readonly attributes = new Map<string, string>();
  parentNode: PageNode | null = null;
  firstChild: PageNode | null = null;
  lastChild: PageNode | null = null;
  nextSibling: PageNode | null = null;
  previousSibling: PageNode | null = null;
  #value = "";

  constructor(nodeType: number, nodeName: string, ownerDocument: PageDocument | null) {
    this.nodeType = nodeType;
    this.nodeName = nodeName;
    this.ownerDocument = ownerDocument ?? (this as unknown as PageDocument);
  }

  get tagName(): string {
    return this.nodeName;
  }

  get nodeValue(): string {
    return this.#value;
  }

  set nodeValue(value: string) {
    this.#value = value;
    this.ownerDocument.changes++;
  }

  get textContent(): string {
    if (this.nodeType === TEXT) return this.#value;
    let text = "";
    for (let child = this.firstChild; child !== null; child = child.nextSibling) text += child.textContent;
    return text;
  }

  set textContent(text: string) {
    while (this.firstChild !== null) this.removeChild(this.firstChild);
    if (text !== "") this.appendChild(this.ownerDocument.createTextNode(text));
  }

  setAttribute(name: string, value: string): void {
    this.attributes.set(name, value);
  }

  removeAttribute(name: string): void {
    this.attributes.delete(name);
  }

  appendChild(child: PageNode): PageNode {
    return this.insertBefore(child, null);
  }

  insertBefore(child: PageNode, next: PageNode | null): PageNode {
    child.parentNode?.removeChild(child);
    const previous = next === null ? this.lastChild : next.previousSibling;
    child.parentNode = this;
    child.previousSibling = previous;
    child.nextSibling = next;
    if (previous === null) this.firstChild = child;
    else previous.nextSibling = child;
    if (next === null) this.lastChild = child;
    else next.previousSibling = child;
    this.ownerDocument.changes++;
    return child;
  }

  removeChild(child: PageNode): PageNode {
    const { previousSibling: previous, nextSibling: next } = child;
    if (previous === null) this.firstChild = next;
    else previous.nextSibling = next;
    if (next === null) this.lastChild = previous;
    else next.previousSibling = previous;
    child.parentNode = null;
    child.previousSibling = null;
    child.nextSibling = null;
    this.ownerDocument.changes++;
    return child;
  }

  addEventListener(): void {}
  removeEventListener(): void {}
}

const ELEMENT = 1;
const TEXT = 3;
const DOCUMENT = 9;

class PageDocument extends PageNode {
  changes = 0;
  readonly defaultView = globalThis;
  readonly activeElement = null;

  constructor() {
    super(DOCUMENT, "#document", null);
  }

  createElement(name: string): PageNode {
    return new PageNode(ELEMENT, name.toUpperCase(), this);
  }

  createElementNS(_space: string, name: string): PageNode {
    return new PageNode(ELEMENT, name, this);
  }

  createTextNode(text: string): PageNode {
    const node = new PageNode(TEXT, "#text", this);
    node.nodeValue = text;
    return node;
  }
}

interface Page {
  readonly document: PageDocument;
  /** Removes the document from this process, because other code looks for one to find out where it runs. */
  remove(): void;
}

/** Must run before React is loaded. React then is its production build, as on a page. */
export function installPage(): Page {
  process.env["NODE_ENV"] = "production";
  const document = new PageDocument();
  const globals = { window: globalThis, document, HTMLIFrameElement: PageDocument };
  Object.assign(globalThis, globals);
  const remove = (): void => {
    for (const name of Object.keys(globals)) Reflect.deleteProperty(globalThis, name);
  };
  return { document, remove };
}
