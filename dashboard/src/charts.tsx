// Charts on uPlot. All of them are pictures of a table that stands beside them.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";

/** Colours that people with any sight tell apart: Okabe and Ito's, and a grey for the rest. */
export const COLORS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"];
export const REST = "#8a8f98";

/** What CSS says of a name. */
function css(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

interface ChartProps {
  label: string;
  height: number;
  /** Made anew when one of these changes. */
  of: unknown[];
  make: (width: number) => { options: uPlot.Options; data: uPlot.AlignedData };
  /** What stands under the pointer, line by line. */
  tip?: (index: number) => string[];
  onPick?: (left: number, top: number, chart: uPlot) => void;
}

export function Chart({ label, height, of, make, tip, onPick }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const bubble = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    let chart: uPlot | null = null;
    const draw = () => {
      chart?.destroy();
      const { options, data } = make(element.clientWidth);
      const cursorHook = (it: uPlot) => {
        const box = bubble.current;
        if (!box || !tip) return;
        const index = it.cursor.idx;
        const lines = index === null || index === undefined ? [] : tip(index);
        box.hidden = lines.length === 0;
        box.replaceChildren(...lines.map((line) => Object.assign(document.createElement("div"), { textContent: line })));
        const left = it.cursor.left ?? 0;
        const isRight = left > element.clientWidth / 2;
        box.style.left = isRight ? "" : `${left + 80}px`;
        box.style.right = isRight ? `${element.clientWidth - left}px` : "";
      };
      chart = new uPlot(
        {
          ...options,
          width: Math.max(element.clientWidth, 200),
          height,
          legend: { show: false },
          cursor: { drag: { x: false, y: false }, points: { show: false }, ...options.cursor },
          hooks: { ...options.hooks, setCursor: [cursorHook] },
        },
        data,
        element,
      );
      const target = chart;
      chart.root.setAttribute("aria-hidden", "true");
      if (onPick) chart.over.addEventListener("click", (event) => onPick(event.offsetX, event.offsetY, target));
    };
    draw();
    const resized = new ResizeObserver(() => {
      if (chart && element.clientWidth > 0 && Math.abs(chart.width - element.clientWidth) > 1) chart.setSize({ width: element.clientWidth, height });
    });
    resized.observe(element);
    addEventListener("themechange", draw);
    return () => {
      removeEventListener("themechange", draw);
      resized.disconnect();
      chart?.destroy();
    };
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
  const common = { stroke: css("--soft"), font, ticks: { show: false } };
  return [
    { ...common, size: 28, gap: 4, grid: { show: false }, ...x },
    { ...common, size: 64, grid: { stroke: css("--line"), width: 1 }, ...y },
  ];
}

/** So many labels of ordinals as there is room for. */
function ordinals(names: string[], room: number): Partial<uPlot.Axis> {
  return {
    splits: (it) => {
      const every = Math.max(1, Math.ceil((names.length * room) / Math.max(it.width - 64, 1)));
      return names.map((_, at) => at).filter((at) => at % every === 0);
    },
    values: (_, splits) => splits.map((at) => names[at] ?? ""),
  };
}

export interface Stack {
  name: string;
  color: string;
  values: number[];
}

/** Bars on each other, one a period. */
export function StackedBars({ label, names, stacks, text, of }: { label: string; names: string[]; stacks: Stack[]; text: (it: number) => string; of: unknown[] }) {
  const make = () => {
    const sums: number[][] = [];
    let below = names.map(() => 0);
    for (const it of stacks) {
      below = it.values.map((value, at) => below[at] + (value === value ? value : 0));
      sums.push(below);
    }
    // The highest first: each is drawn over by those that it stands on.
    const order = stacks.map((_, at) => at).reverse();
    const bars = uPlot.paths.bars!({ size: [0.8, 60], align: 0 });
    const options: uPlot.Options = {
      width: 0,
      height: 0,
      scales: { x: { time: false, range: [-0.6, names.length - 0.4] }, y: { range: (_, __, high) => [0, high > 0 ? high * 1.05 : 1] } },
      axes: axes(ordinals(names, 74), { values: (_, splits) => splits.map(text) }),
      series: [{}, ...order.map((at) => ({ label: "", fill: stacks[at].color, stroke: stacks[at].color, width: 0, paths: bars, points: { show: false } }))],
    };
    return { options, data: [names.map((_, at) => at), ...order.map((at) => sums[at])] as uPlot.AlignedData };
  };
  const tip = (index: number) => {
    const lines = stacks.filter((it) => it.values[index] > 0).map((it) => `${it.name}: ${text(it.values[index])}`);
    return [names[index], ...lines.reverse()];
  };
  return <Chart label={label} height={260} of={of} make={make} tip={tip} />;
}

/** One bar a bin. */
export function Bars({ label, names, values, text, color, of, height = 200 }: { label: string; names: string[]; values: number[]; text: (it: number) => string; color: (at: number) => string; of: unknown[]; height?: number }) {
  const make = () => {
    const bars = uPlot.paths.bars!({
      size: [0.85, 80],
      disp: {
        fill: { unit: 3, values: () => values.map((_, at) => color(at)) },
        stroke: { unit: 3, values: () => values.map((_, at) => color(at)) },
      },
    });
    const options: uPlot.Options = {
      width: 0,
      height: 0,
      scales: { x: { time: false, range: [-0.6, names.length - 0.4] }, y: { range: (_, __, high) => [0, high > 0 ? high * 1.05 : 1] } },
      axes: axes(ordinals(names, 56), { values: (_, splits) => splits.map(text) }),
      series: [{}, { fill: COLORS[0], stroke: COLORS[0], width: 0, paths: bars, points: { show: false } }],
    };
    return { options, data: [names.map((_, at) => at), values.map((it) => (it === it ? it : null))] as uPlot.AlignedData };
  };
  return <Chart label={label} height={height} of={of} make={make} tip={(index) => [`${names[index]}: ${text(values[index])}`]} />;
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

/** Lines over ordinals, with marks where something happened. */
export function Lines({ label, names, lines, text, range, marks = [], room = 74, of, height = 200, spans = false }: { label: string; names: string[]; lines: Line[]; text: (it: number) => string; range?: [number, number]; marks?: Mark[]; room?: number; of: unknown[]; height?: number; spans?: boolean }) {
  const make = () => {
    const options: uPlot.Options = {
      width: 0,
      height: 0,
      scales: { x: { time: false, range: [-0.6, names.length - 0.4] }, y: { range: range ?? ((_, __, high) => [0, high > 0 ? high * 1.05 : 1]) } },
      axes: axes(ordinals(names, room), { values: (_, splits) => splits.map(text) }),
      series: [
        {},
        ...lines.map((it) => ({
          label: "", stroke: it.color, width: 2, spanGaps: spans, dash: it.isDashed ? [6, 4] : undefined,
          points: { show: names.length < 120, size: 6, fill: it.color },
        })),
      ],
      hooks: {
        draw: [
          (it) => {
            const { left, top, width, height } = it.bbox;
            for (const mark of marks) {
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
    };
    const values = lines.map((it) => it.values.map((value) => (value === value ? value : null)));
    return { options, data: [names.map((_, at) => at), ...values] as uPlot.AlignedData };
  };
  const tip = (index: number) => {
    const known = lines.filter((it) => it.values[index] === it.values[index]);
    return [names[index], ...known.map((it) => `${it.name}: ${text(it.values[index])}`)];
  };
  return <Chart label={label} height={height} of={of} make={make} tip={tip} />;
}

export interface Point {
  x: number;
  y: number;
  isBold: boolean;
}

/** Points, one at least, on two scales of powers of ten. Points that fall on each other are drawn once, darker. */
export function Scatter({ label, points, xText, yText, onPick, of }: { label: string; points: Point[]; xText: (it: number) => string; yText: (it: number) => string; onPick: (point: number) => void; of: unknown[] }) {
  const make = () => {
    // uPlot's own logarithmic scales do not end for some ranges: these are linear, of logarithms.
    const edges = (values: number[]): [number, number] => {
      const [low, high] = values.reduce(([low, high], it) => [Math.min(low, it), Math.max(high, it)], [Infinity, -Infinity]);
      return [low - 0.2, high + 0.2];
    };
    const xs = points.map((it) => Math.log10(it.x));
    const ys = points.map((it) => Math.log10(it.y));
    const powers = (low: number, high: number) => {
      const steps = high - low > 3.5 ? [1] : high - low > 1.8 ? [1, 3] : [1, 2, 5];
      const out: number[] = [];
      for (let power = Math.floor(low); power <= high; power++) out.push(...steps.map((it) => power + Math.log10(it)));
      return out.filter((it) => it >= low && it <= high);
    };
    const axis = (text: (it: number) => string): Partial<uPlot.Axis> => ({
      splits: (_, __, low, high) => powers(low, high),
      values: (_, splits) => splits.map((it) => text(Number((10 ** it).toPrecision(1)))),
    });
    const options: uPlot.Options = {
      width: 0,
      height: 0,
      scales: { x: { time: false, range: edges(xs) }, y: { range: edges(ys) } },
      axes: axes({ ...axis(xText), grid: { show: true, stroke: css("--line"), width: 1 } }, axis(yText)),
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: {
        draw: [
          (chart) => {
            const { ctx } = chart;
            const size = Math.round(4 * devicePixelRatio);
            const columns = Math.ceil(ctx.canvas.width / size) + 1;
            const cells = new Uint16Array(columns * (Math.ceil(ctx.canvas.height / size) + 1));
            const bold: [number, number][] = [];
            // Both scales are linear: two places tell all.
            const [x0, y0] = [chart.valToPos(0, "x", true), chart.valToPos(0, "y", true)];
            const [dx, dy] = [chart.valToPos(1, "x", true) - x0, chart.valToPos(1, "y", true) - y0];
            for (let at = 0; at < points.length; at++) {
              const x = x0 + dx * xs[at];
              const y = y0 + dy * ys[at];
              if (points[at].isBold) bold.push([x, y]);
              else cells[Math.round(y / size) * columns + Math.round(x / size)]++;
            }
            ctx.fillStyle = css("--accent");
            cells.forEach((count, key) => {
              if (count === 0) return;
              ctx.globalAlpha = Math.min(1, 0.5 + count * 0.08);
              ctx.fillRect((key % columns) * size - size / 2, Math.floor(key / columns) * size - size / 2, size, size);
            });
            ctx.globalAlpha = 1;
            ctx.fillStyle = COLORS[5];
            for (const [x, y] of bold) {
              // A shape of its own, not a colour alone.
              ctx.beginPath();
              ctx.moveTo(x, y - size);
              ctx.lineTo(x + size, y + size);
              ctx.lineTo(x - size, y + size);
              ctx.fill();
            }
          },
        ],
      },
    };
    // The points are drawn by hand: uPlot needs no more than the ends.
    const ends = edges(xs);
    return { options, data: [ends, ends] as uPlot.AlignedData };
  };
  const pick = (left: number, top: number, chart: uPlot) => {
    let [best, distance] = [-1, 15 ** 2];
    points.forEach((it, at) => {
      const away = (chart.valToPos(Math.log10(it.x), "x") - left) ** 2 + (chart.valToPos(Math.log10(it.y), "y") - top) ** 2;
      if (away < distance) [best, distance] = [at, away];
    });
    if (best >= 0) onPick(best);
  };
  return <Chart label={label} height={280} of={of} make={make} onPick={pick} />;
}
