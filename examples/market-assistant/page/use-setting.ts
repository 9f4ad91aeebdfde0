/** `useSetting` stores a choice of the user in the browser and shares it between tabs. Defaults are not stored. */
import { useEffect, useState } from "react";

export function useSetting<T extends string>(
  name: string,
  choices: readonly T[],
  otherwise: T,
): [T, (next: T) => void] {
  const key = `market-assistant/${name}`;
  const read = (): T => choices.find((choice) => choice === localStorage.getItem(key)) ?? otherwise;
  const [value, setValue] = useState(read);
  useEffect(() => {
    const changed = (event: StorageEvent): void => {
      if (event.key === key) setValue(read());
    };
    window.addEventListener("storage", changed);
    return () => window.removeEventListener("storage", changed);
  });
  const choose = (next: T): void => {
    localStorage.setItem(key, next);
    setValue(next);
  };
  return [value, choose];
}
