// Charts on uPlot. Each chart repeats a table next to it.

import { useLayoutEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { isKnown } from "./data";
import { axisMoney } from "./format";

/** Colours that colour-blind people can distinguish: those of Okabe and Ito, and a grey for the rest. */
export const COLORS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"];
export const REST = "#8a8f98";

/** The value of a property of CSS. */
function css(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

interface ChartProps<Shown> {
  label: string;
  height: number;
  shown: Shown;
  /** The chart is drawn again when one of these changes. */
  of: unknown[];
  /** Called once; the options call `shown` for values that change. */
  options: (shown: () => Shown) => Omit<uPlot.Options, "width" | "height">;
  data: () => uPlot.AlignedData;
  /** The lines of the box at the pointer. */
  tip?: (index: number) => string[];
  onPick?: (left: number, top: number, chart: uPlot) => void;
}

function Chart<Shown>(props: ChartProps<Shown>) {
  const place = useRef<HTMLDivElement>(null);
  const bubble = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const { label, height, of } = props;
  useLayoutEffect(() => {
    const element = place.current;
    if (!element) return;
    const cursorHook = (it: uPlot) => {
      const box = bubble.current;
      const { tip } = latest.current;
      if (!box || !tip) return;
      const index = it.cursor.idx;
      const lines = index === null || index === undefined ? [] : tip(index);
      box.hidden = lines.length === 0;
      box.replaceChildren(...lines.map((line) => Object.assign(document.createElement("div"), { textContent: line })));
      const left = it.cursor.left ?? 0;
      const isRight = left > it.width / 2;
      box.style.left = isRight ? "" : `${left + 80}px`;
      box.style.right = isRight ? `${it.width - left}px` : "";
    };
    const options = props.options(() => latest.current.shown);
    const made = new uPlot(
      {
        ...options,
        width: Math.max(element.clientWidth, 200),
        height,
        legend: { show: false },
        cursor: { drag: { x: false, y: false }, points: { show: false } },
        hooks: { ...options.hooks, setCursor: [cursorHook] },
      },
      props.data(),
      element,
    );
    chart.current = made;
    made.root.setAttribute("aria-hidden", "true");
    made.over.addEventListener("click", (event) => latest.current.onPick?.(event.offsetX, event.offsetY, made));
    const redraw = () => made.redraw();
    const resized = new ResizeObserver(() => {
      if (element.clientWidth > 0 && Math.abs(made.width - element.clientWidth) > 1) made.setSize({ width: element.clientWidth, height });
    });
    resized.observe(element);
    addEventListener("themechange", redraw);
    return () => {
      removeEventListener("themechange", redraw);
      resized.disconnect();
      made.destroy();
    };
  }, []);
  const isFirst = useRef(true);
  useLayoutEffect(() => {
    if (!isFirst.current) {
      // At once, with all else that changes; the names on the axes too, though their scales may stay.
      chart.current?.batch((it: uPlot) => {
        it.setData(props.data());
        it.redraw(true, true);
      });
    }
    isFirst.current = false;
  }, of);
  return (
    <div class="chart" role="img" aria-label={label}>
      <div ref={place} style={{ minHeight: `${height}px` }} />
      <div ref={bubble} class="tip" hidden />
    </div>
  );
}

const font = "12px system-ui, sans-serif";

function axes(x: Partial<uPlot.Axis>, y: Partial<uPlot.Axis>): uPlot.Axis[] {
  const common = { stroke: () => css("--soft"), font, ticks: { show: false } };
  return [
    { ...common, size: 34, gap: 10, grid: { show: false }, ...x },
    { ...common, size: 64, grid: { stroke: () => css("--line"), width: 1 }, ...y },
  ];
}

/** A scale of ordinals, with half a bar of space at both ends. */
function ordinal(shown: () => { names: string[] }): uPlot.Scale {
  return { time: false, range: () => [-0.6, shown().names.length - 0.4] };
}

const fromZero: uPlot.Scale = { range: (_, __, high) => [0, high > 0 ? high * 1.05 : 1] };

/** As many labels of ordinals as fit. */
function ordinals(shown: () => { names: string[] }, width: number): Partial<uPlot.Axis> {
  return {
    splits: (it) => {
      const { names } = shown();
      const every = Math.max(1, Math.ceil((names.length * width) / Math.max(it.width - 64, 1)));
      return names.map((_, at) => at).filter((at) => at % every === 0);
    },
    values: (_, splits) => splits.map((at) => shown().names[at] ?? ""),
  };
}

/** Labels of numbers. */
function numbers(shown: () => { text: (it: number) => string }): Partial<uPlot.Axis> {
  return { values: (_, splits) => splits.map((it) => shown().text(it)) };
}

const indexes = (names: string[]) => names.map((_, at) => at);
const known = (values: number[]) => values.map((it) => (Number.isNaN(it) ? null : it));

export interface Stack {
  name: string;
  color: string;
  values: number[];
}

interface StackedProps {
  label: string;
  names: string[];
  /** No more than there are colours. */
  stacks: Stack[];
  text: (it: number) => string;
  /** The labels of the axis. */
  axis: (it: number) => string;
  of: unknown[];
}

/** Bars on each other, one a period. */
export function StackedBars(props: StackedProps) {
  const { label, names, stacks, text, of } = props;
  const options = (shown: () => StackedProps) => {
    const bars = uPlot.paths.bars!({ size: [0.8, 60], align: 0 });
    // The highest first: the bars below it are drawn over it.
    const color = (_: uPlot, series: number) => shown().stacks.at(-series)?.color ?? REST;
    return {
      scales: { x: ordinal(shown), y: fromZero },
      axes: axes(ordinals(shown, 88), numbers(() => ({ text: shown().axis }))),
      series: [{}, ...COLORS.map(() => ({ fill: color, stroke: color, width: 0, paths: bars, points: { show: false } }))],
    };
  };
  const data = (): uPlot.AlignedData => {
    const sums: number[][] = [];
    let below = names.map(() => 0);
    for (const it of stacks) {
      below = it.values.map((value, at) => below[at] + (Number.isNaN(value) ? 0 : value));
      sums.push(below);
    }
    const nothing = names.map(() => null);
    return [indexes(names), ...COLORS.map((_, at) => sums.at(-1 - at) ?? nothing)];
  };
  const tip = (index: number) => {
    const lines = stacks.filter((it) => it.values[index] > 0).map((it) => `${it.name}: ${text(it.values[index])}`);
    return [names[index], ...lines.reverse()];
  };
  return <Chart label={label} height={260} shown={props} of={of} options={options} data={data} tip={tip} />;
}

interface BarsProps {
  label: string;
  names: string[];
  values: number[];
  text: (it: number) => string;
  color: (at: number) => string;
  of: unknown[];
  height: number;
}

/** One bar a bin. */
export function Bars(props: BarsProps) {
  const { label, names, values, text, of, height } = props;
  const options = (shown: () => BarsProps) => {
    const color = { unit: 3 as const, values: () => shown().values.map((_, at) => shown().color(at)) };
    const bars = uPlot.paths.bars!({ size: [0.85, 80], disp: { fill: color, stroke: color } });
    return {
      scales: { x: ordinal(shown), y: fromZero },
      axes: axes(ordinals(shown, 56), numbers(shown)),
      series: [{}, { fill: COLORS[0], stroke: COLORS[0], width: 0, paths: bars, points: { show: false } }],
    };
  };
  const data = (): uPlot.AlignedData => [indexes(names), known(values)];
  return <Chart label={label} height={height} shown={props} of={of} options={options} data={data} tip={(index) => [`${names[index]}: ${text(values[index])}`]} />;
}

export interface Line {
  name: string;
  color: string;
  values: number[];
  isDashed?: boolean;
}

export interface Mark {
  at: number;
  color: string;
}

interface LinesProps {
  label: string;
  names: string[];
  /** Always as many. */
  lines: Line[];
  text: (it: number) => string;
  range?: [number, number];
  marks?: Mark[];
  room?: number;
  of: unknown[];
  height?: number;
  spans?: boolean;
}

/** Lines over ordinals, with marks where something happened. */
export function Lines(props: LinesProps) {
  const { label, names, lines, text, range, room = 88, of, height = 200, spans = false } = props;
  const options = (shown: () => LinesProps) => ({
    scales: { x: ordinal(shown), y: range ? { range } : fromZero },
    axes: axes(ordinals(shown, room), numbers(shown)),
    series: [
      {},
      ...lines.map((it) => ({
        stroke: it.color, width: 2, spanGaps: spans, dash: it.isDashed ? [6, 4] : undefined,
        points: { show: () => shown().names.length < 120, size: 6, fill: it.color },
      })),
    ],
    hooks: {
      draw: [
        (it: uPlot) => {
          const { left, top, width, height } = it.bbox;
          for (const mark of shown().marks ?? []) {
            const x = it.valToPos(mark.at, "x", true);
            if (x < left || x > left + width) continue;
            it.ctx.fillStyle = mark.color;
            it.ctx.globalAlpha = 0.6;
            it.ctx.fillRect(x - devicePixelRatio / 2, top, devicePixelRatio, height);
            it.ctx.globalAlpha = 1;
          }
        },
      ],
    },
  });
  const data = (): uPlot.AlignedData => [indexes(names), ...lines.map((it) => known(it.values))];
  const tip = (index: number) => {
    const found = lines.filter((it) => isKnown(it.values[index]));
    return [names[index], ...found.map((it) => `${it.name}: ${text(it.values[index])}`)];
  };
  return <Chart label={label} height={height} shown={props} of={of} options={options} data={data} tip={tip} />;
}

interface ScatterProps {
  label: string;
  /** Which of all points, one at least. */
  points: Int32Array;
  bold: number[];
  /** Logarithms of all points. */
  x: Float64Array;
  y: Float64Array;
  xText: (it: number) => string;
  yText: (it: number) => string;
  onPick: (point: number) => void;
  of: unknown[];
}

/** The lowest and the highest of these points, with a margin. */
function edges(points: Int32Array, values: Float64Array): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (let at = 0; at < points.length; at++) {
    const value = values[points[at]];
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low - 0.2, high + 0.2];
}

/** Powers of ten in a range of logarithms, and some between them if there are few. */
function powers(low: number, high: number): number[] {
  const steps = high - low > 3.5 ? [1] : high - low > 1.8 ? [1, 3] : [1, 2, 5];
  const out: number[] = [];
  for (let power = Math.floor(low); power <= high; power++) out.push(...steps.map((it) => power + Math.log10(it)));
  return out.filter((it) => it >= low && it <= high);
}

/** As many splits as fit. */
function apart(splits: number[], room: number): number[] {
  const every = Math.max(1, Math.ceil(splits.length / Math.max(room, 1)));
  return splits.filter((_, at) => at % every === 0);
}

/** Points on two scales of powers of ten. Points that fall on each other are drawn once, darker. */
export function Scatter(props: ScatterProps) {
  const { label, points, x, y, xText, yText, onPick, of } = props;
  const draw = (chart: uPlot, { points, bold, x, y }: ScatterProps) => {
    const { ctx } = chart;
    const size = Math.round(4 * devicePixelRatio);
    const columns = Math.ceil(ctx.canvas.width / size) + 1;
    // Both scales are linear, so that two positions define each.
    const [x0, y0] = [chart.valToPos(0, "x", true) / size, chart.valToPos(0, "y", true) / size];
    const [dx, dy] = [chart.valToPos(1, "x", true) / size - x0, chart.valToPos(1, "y", true) / size - y0];
    const cellOf = (it: number) => Math.round(y0 + dy * y[it]) * columns + Math.round(x0 + dx * x[it]);
    const counts = new Uint32Array(columns * (Math.ceil(ctx.canvas.height / size) + 1));
    for (let at = 0; at < points.length; at++) counts[cellOf(points[at])]++;
    const marked = new Set(bold.map(cellOf));
    for (const cell of marked) counts[cell] = 0;
    ctx.fillStyle = css("--accent");
    counts.forEach((count, cell) => {
      if (count === 0) return;
      ctx.globalAlpha = Math.min(1, 0.5 + count * 0.08);
      ctx.fillRect((cell % columns) * size - size / 2, Math.floor(cell / columns) * size - size / 2, size, size);
    });
    ctx.globalAlpha = 1;
    ctx.fillStyle = COLORS[5];
    for (const cell of marked) {
      const [x, y] = [(cell % columns) * size, Math.floor(cell / columns) * size];
      // A shape of its own, not a colour alone.
      ctx.beginPath();
      ctx.moveTo(x, y - size);
      ctx.lineTo(x + size, y + size);
      ctx.lineTo(x - size, y + size);
      ctx.fill();
    }
  };
  const axis = (text: (it: number) => string): Partial<uPlot.Axis> => ({
    splits: (chart, at, low, high) => apart(powers(low, high), at === 0 ? chart.bbox.width / devicePixelRatio / 70 : chart.bbox.height / devicePixelRatio / 20),
    values: (_, splits) => splits.map((it) => text(Number((10 ** it).toPrecision(1)))),
  });
  // uPlot's own logarithmic scales do not end for some ranges: these are linear, of logarithms.
  const options = (shown: () => ScatterProps) => ({
    scales: { x: { time: false, range: () => edges(shown().points, shown().x) }, y: { range: () => edges(shown().points, shown().y) } },
    axes: axes({ ...axis(xText), grid: { show: true, stroke: () => css("--line"), width: 1 } }, axis(yText)),
    series: [{}, { paths: () => null, points: { show: false } }],
    hooks: { draw: [(chart: uPlot) => draw(chart, shown())] },
  });
  const pick = (left: number, top: number, chart: uPlot) => {
    let [best, distance] = [-1, 15 ** 2];
    for (const it of points) {
      const away = (chart.valToPos(x[it], "x") - left) ** 2 + (chart.valToPos(y[it], "y") - top) ** 2;
      if (away < distance) [best, distance] = [it, away];
    }
    if (best >= 0) onPick(best);
  };
  // The points are drawn by hand: uPlot needs none.
  return <Chart label={label} height={280} shown={props} of={of} options={options} data={() => [[0, 1], [0, 1]]} onPick={pick} />;
}

export interface QualityPoint {
  name: string;
  x: number;
  y: number;
  low: number;
  high: number;
  isOnFront: boolean;
}

interface QualityProps {
  label: string;
  /** One at least. */
  points: QualityPoint[];
  of: unknown[];
}

/** Rates against costs, with intervals as bars, names, and a line through the Pareto front. */
export function Quality(props: QualityProps) {
  const { label, of } = props;
  const draw = (chart: uPlot, { points }: QualityProps) => {
    const { ctx } = chart;
    const unit = devicePixelRatio;
    const place = (x: number, y: number): [number, number] => [chart.valToPos(Math.log10(x), "x", true), chart.valToPos(y, "y", true)];
    ctx.save();
    ctx.lineWidth = 2 * unit;
    const front = points.filter((it) => it.isOnFront).sort((a, b) => a.x - b.x);
    ctx.strokeStyle = COLORS[2];
    ctx.beginPath();
    front.forEach((it) => ctx.lineTo(...place(it.x, it.y)));
    ctx.stroke();
    ctx.font = `${12 * unit}px system-ui, sans-serif`;
    // Names that would cover another name are left out: the table below has them.
    const taken: [number, number, number][] = [];
    for (const it of points) {
      const [x, y] = place(it.x, it.y);
      const [, low] = place(it.x, it.low);
      const [, high] = place(it.x, it.high);
      ctx.strokeStyle = css("--soft");
      ctx.beginPath();
      ctx.moveTo(x, low);
      ctx.lineTo(x, high);
      for (const end of [low, high]) {
        ctx.moveTo(x - 4 * unit, end);
        ctx.lineTo(x + 4 * unit, end);
      }
      ctx.stroke();
      ctx.fillStyle = it.isOnFront ? COLORS[2] : COLORS[0];
      ctx.beginPath();
      // Points on the front are squares: a shape of their own, not a colour alone.
      if (it.isOnFront) ctx.rect(x - 5 * unit, y - 5 * unit, 10 * unit, 10 * unit);
      else ctx.arc(x, y, 5 * unit, 0, 2 * Math.PI);
      ctx.fill();
      ctx.fillStyle = css("--soft");
      const isRight = x > chart.bbox.left + chart.bbox.width * 0.7;
      ctx.textAlign = isRight ? "right" : "left";
      const width = ctx.measureText(it.name).width;
      const from = isRight ? x - 9 * unit - width : x + 9 * unit;
      const line = [-6, 14, -20, 28].map((away) => y + away * unit).find((line) =>
        !taken.some(([left, right, other]) => from < right && left < from + width && Math.abs(line - other) < 13 * unit));
      if (line === undefined) continue;
      taken.push([from, from + width, line]);
      ctx.fillText(it.name, x + (isRight ? -9 : 9) * unit, line);
    }
    ctx.restore();
  };
  const range = ({ points }: QualityProps): [number, number] => {
    const logs = points.map((it) => Math.log10(it.x));
    return [Math.min(...logs) - 0.3, Math.max(...logs) + 0.3];
  };
  const options = (shown: () => QualityProps) => ({
    scales: { x: { time: false, range: () => range(shown()) }, y: { range: (): [number, number] => [0, 1.02] } },
    axes: axes(
      {
        splits: (chart: uPlot, _: number, low: number, high: number) => apart(powers(low, high), chart.bbox.width / devicePixelRatio / 70),
        values: (_: uPlot, splits: number[]) => splits.map((it) => axisMoney(Number((10 ** it).toPrecision(1)))),
        grid: { show: true, stroke: () => css("--line"), width: 1 },
      },
      { values: (_: uPlot, splits: number[]) => splits.map((it) => `${Math.round(it * 100)} %`) },
    ),
    series: [{}, { paths: () => null, points: { show: false } }],
    hooks: { draw: [(chart: uPlot) => draw(chart, shown())] },
  });
  return <Chart label={label} height={300} shown={props} of={of} options={options} data={() => [[0, 1], [0, 1]]} />;
}
