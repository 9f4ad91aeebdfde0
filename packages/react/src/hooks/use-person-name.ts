/** What a person is called, by id; "" for who has no name here. */
import { useShared } from "../context.ts";

export function usePersonName(id: string | null): string {
  const { people } = useShared();
  return id !== null && Object.hasOwn(people, id) ? (people[id] ?? "") : "";
}
