/** `Switches` sets the appearance of a state: theme, language, direction and width. */
import type { Address } from "../stage/address.ts";
import { DIRECTIONS, LOCALES, THEMES } from "../stage/handle.ts";

const WIDTHS = [null, 360, 768, 1280] as const;

interface SwitchesProps {
  readonly address: Address;
  readonly onChange: (next: Partial<Address>) => void;
}

export function Switches({ address, onChange }: SwitchesProps) {
  const { theme, locale, dir, width, state } = address;
  return (
    <header className="g-bar">
      <h1>{state}</h1>
      <Switch label="Theme" values={THEMES} value={theme} onPick={(value) => onChange({ theme: value })} />
      <Switch
        label="Language"
        values={LOCALES}
        value={locale}
        onPick={(value) => onChange({ locale: value })}
      />
      <Switch
        label="Direction"
        values={DIRECTIONS}
        value={dir}
        onPick={(value) => onChange({ dir: value })}
      />
      <Switch
        label="Width"
        values={WIDTHS}
        value={width}
        formatLabel={(value) => (value === null ? "full" : String(value))}
        onPick={(value) => onChange({ width: value })}
      />
    </header>
  );
}

interface SwitchProps<Value> {
  readonly label: string;
  readonly values: readonly Value[];
  readonly value: Value;
  readonly formatLabel?: (value: Value) => string;
  readonly onPick: (value: Value) => void;
}

function Switch<Value>({ label, values, value, formatLabel = String, onPick }: SwitchProps<Value>) {
  return (
    <fieldset className="g-switch">
      <legend>{label}</legend>
      {values.map((option) => (
        <button
          key={formatLabel(option)}
          type="button"
          aria-pressed={option === value}
          onClick={() => onPick(option)}
        >
          {formatLabel(option)}
        </button>
      ))}
    </fieldset>
  );
}
