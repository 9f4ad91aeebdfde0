/**
 * `vectorSearch` combines a vector search with the full-text search. The vectors are in an array here; use pgvector,
 * Qdrant or similar instead. Printed in docs/knowledge.md.
 */
import { fullTextSearch, type KnowledgeHit, type KnowledgeSearch } from "@turnstream/knowledge";
import type { Store } from "@turnstream/server";
import { cosineSimilarity, embed, type EmbeddingModel } from "ai";

type Piece = Omit<KnowledgeHit, "score"> & { readonly tenant: string; readonly vector: number[] };

export function vectorSearch(model: EmbeddingModel, pieces: readonly Piece[], store: Store): KnowledgeSearch {
  const fullText = fullTextSearch(store);
  return {
    async search(query) {
      const { tenant, bases, text, limit, signal } = query;
      const { embedding } = await embed({ model, value: text, abortSignal: signal });
      const near = pieces
        // The result must not contain anything of another tenant or another base.
        .filter((piece) => piece.tenant === tenant && bases.includes(piece.base))
        .map((piece) => ({ ...piece, score: cosineSimilarity(embedding, piece.vector) }))
        .filter(({ score }) => score > 0.5)
        .toSorted((a, b) => b.score - a.score);
      const seen = new Set(near.map(({ base, object, firstLine }) => `${base} ${object} ${firstLine}`));
      const others = (await fullText.search(query)).filter(
        ({ base, object, firstLine }) => !seen.has(`${base} ${object} ${firstLine}`),
      );
      return [...near, ...others].slice(0, limit);
    },
  };
}
