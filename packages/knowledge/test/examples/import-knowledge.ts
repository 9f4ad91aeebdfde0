/** `importFaq` imports texts into a knowledge base. Printed in docs/knowledge.md. */
import { importKnowledge } from "@turnstream/knowledge";
import type { Store } from "@turnstream/server";

export function importFaq(store: Store, tenant: string, faq: ReadonlyMap<string, string>) {
  const files = [...faq].map(([question, answer], n) => ({
    id: `faq/${n}.md`,
    title: question,
    url: `https://acme.example/faq#${n}`,
    read: async () => `# ${question}\n\n${answer}`,
  }));
  // Writes only changed objects. `prune` removes objects that are not in `files`.
  return importKnowledge(store, { tenant, base: "faq", files, prune: true });
}
