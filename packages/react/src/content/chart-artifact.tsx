/**
 * `ChartArtifact` shows a chart, and the same data as a table. The chart library is loaded with the first chart.
 * Invariant: if the library can't be loaded, the table is shown instead.
 */
import type { ArtifactData } from "@turnstream/protocol";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { ArtifactFrame } from "./artifact-frame.tsx";
import { onThemeChange, readChartColors } from "./chart-colors.ts";
import { chartSeries } from "./chart-data.ts";
import { DataTable } from "./table-artifact.tsx";
import { useCardStrings } from "../hooks/use-card-strings.ts";
import { Button } from "../ui/button.tsx";

interface ChartArtifactProps {
  readonly title: string;
  readonly data: ArtifactData["chart"];
  readonly fullUrl: string;
}

export function ChartArtifact({ title, data, fullUrl }: ChartArtifactProps): ReactNode {
  const strings = useCardStrings();
  const cardStrings = strings.cards;
  const [isTable, setTable] = useState(false);
  const [hasFailed, setFailed] = useState(false);
  const series = chartSeries(data, cardStrings.value);
  const table = (
    <DataTable
      label={title || cardStrings.table}
      columns={[
        cardStrings.label,
        ...series.map(({ name }) => (data.unit === undefined ? name : `${name} (${data.unit})`)),
      ]}
      rows={data.labels.map((label, n) => [label, ...series.map(({ values }) => values[n] ?? null)])}
    />
  );
  const isChart = !isTable && !hasFailed;
  const toggle = (shows: boolean, word: string): ReactNode => (
    <Button className="ts-quiet-button" aria-pressed={isTable === shows} onClick={() => setTable(shows)}>
      {word}
    </Button>
  );
  return (
    <ArtifactFrame
      title={title}
      fallback={cardStrings.chart}
      fullUrl={fullUrl}
      side={
        !hasFailed && (
          <span className="ts-toggles">
            {toggle(false, cardStrings.showChart)}
            {toggle(true, cardStrings.showTable)}
          </span>
        )
      }
    >
      {isChart ? (
        <ChartCanvas title={title || cardStrings.chart} data={data} onFail={() => setFailed(true)} />
      ) : (
        table
      )}
      {/* For screen readers, next to the image. */}
      {isChart && <div className="ts-sr">{table}</div>}
    </ArtifactFrame>
  );
}

interface ChartCanvasProps {
  readonly title: string;
  readonly data: ArtifactData["chart"];
  readonly onFail: () => void;
}

function ChartCanvas({ title, data, onFail }: ChartCanvasProps): ReactNode {
  const strings = useCardStrings();
  const canvas = useRef<HTMLCanvasElement>(null);
  const fail = useRef(onFail);
  const valueWord = strings.cards.value;
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return undefined;
    let isHere = true;
    const undo: (() => void)[] = [];
    const clear = (): void => {
      for (const step of undo.splice(0)) step();
    };
    const draw = async (): Promise<void> => {
      const { drawChart } = await import("./chart-chunk.ts");
      const paint = (): void => {
        clear();
        if (!isHere) return;
        const colors = readChartColors(element);
        const series = chartSeries(data, valueWord);
        undo.push(drawChart(element, data, { locale: strings.locale, series, colors }));
        undo.push(onThemeChange(element, paint));
      };
      paint();
    };
    draw().catch(() => isHere && fail.current());
    return () => {
      isHere = false;
      clear();
    };
  }, [data, strings.locale, valueWord]);
  return (
    <div className="ts-chart">
      <canvas ref={canvas} role="img" aria-label={title} />
    </div>
  );
}
