/** `List` shows the states by component, with a search field. */
import { useMemo, useRef, useEffect, useState } from "react";

interface ListProps {
  readonly states: readonly string[];
  readonly picked: string;
  readonly onPick: (state: string) => void;
}

export function List({ states, picked, onPick }: ListProps) {
  const [query, setQuery] = useState("");
  const groups = useMemo(() => grouped(states, query), [states, query]);
  const current = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    // Braces, because some browsers return a promise, which React would take for a cleanup function.
    current.current?.scrollIntoView({ block: "nearest" });
  }, [picked]);
  return (
    <nav className="g-list" aria-label="States">
      <header className="g-title">
        <i aria-hidden="true" />
        Turnstream <span>gallery</span>
      </header>
      <input
        className="g-find"
        type="search"
        placeholder={`Search ${states.length} states`}
        aria-label="Find a state"
        value={query}
        onChange={({ target }) => setQuery(target.value)}
      />
      <div className="g-groups">
        {groups.length === 0 && <p className="g-none">No state has this name.</p>}
        {groups.map(([component, names]) => (
          <section key={component}>
            <h2>
              {component}
              <a
                href={`./sheet.html?component=${component}`}
                title={`All states of ${component} on one sheet`}
              >
                sheet
              </a>
            </h2>
            {names.map((name) => (
              <button
                key={name}
                ref={name === picked ? current : undefined}
                type="button"
                aria-current={name === picked ? "true" : undefined}
                onClick={() => onPick(name)}
              >
                {name.slice(component.length + 1).replaceAll("-", " ")}
              </button>
            ))}
          </section>
        ))}
      </div>
    </nav>
  );
}

function grouped(states: readonly string[], query: string): [component: string, names: string[]][] {
  const terms = query.toLowerCase().split(/\s+/);
  const groups = new Map<string, string[]>();
  for (const name of states) {
    if (!terms.every((term) => name.includes(term))) continue;
    const component = name.slice(0, name.indexOf("/"));
    groups.set(component, [...(groups.get(component) ?? []), name]);
  }
  return [...groups];
}
