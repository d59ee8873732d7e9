// The filters, which act on all of the page.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Data } from "./data";
import { choices, date, day, DIMENSIONS, NOTHING, type Dimension, type State } from "./filters";
import { Name } from "./table";

const PRESETS: [string, number | null][] = [["All", null], ["7 days", 7], ["30 days", 30], ["90 days", 90]];
/** Choices that are shown at a time; more are found by their text. */
const SHOWN = 200;

export function FilterBar({ data, state, set }: { data: Data; state: State; set: (change: Partial<State>) => void }) {
  const { days } = data;
  const isAny = state.since !== null || state.until !== null || DIMENSIONS.some((it) => state.picked[it].length > 0);
  const pick = (dimension: Dimension, indexes: number[]) => set({ picked: { ...state.picked, [dimension]: indexes } });
  return (
    <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      <label>
        From <input type="date" name="since" min={days ? date(days[0]) : undefined} max={days ? date(days[1]) : undefined}
          value={state.since === null ? "" : date(state.since)} onChange={(event) => set({ since: day(event.currentTarget.value) })} />
      </label>
      <label>
        to <input type="date" name="until" min={days ? date(days[0]) : undefined} max={days ? date(days[1]) : undefined}
          value={state.until === null ? "" : date(state.until)} onChange={(event) => set({ until: day(event.currentTarget.value) })} />
      </label>
      {days && (
        <span class="presets" role="group" aria-label="Time range">
          {PRESETS.map(([name, length]) => {
            const since = length === null ? null : data.today - length + 1;
            const isOn = state.since === since && state.until === null;
            return <button type="button" class="quiet" aria-pressed={isOn} onClick={() => set({ since, until: null })}>{name}</button>;
          })}
        </span>
      )}
      {DIMENSIONS.map((it) => choices(data, it).length > 0 && (
        <Choice dimension={it} values={choices(data, it)} picked={state.picked[it]} onPick={(indexes) => pick(it, indexes)} />
      ))}
      {isAny && (
        <button type="button" class="quiet" onClick={() => set(NOTHING)}>
          Clear filters
        </button>
      )}
    </form>
  );
}

function Choice({ dimension, values, picked, onPick }: { dimension: Dimension; values: (string | null)[]; picked: number[]; onPick: (indexes: number[]) => void }) {
  const [search, setSearch] = useState("");
  const element = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event) => {
      const it = element.current;
      if (it?.open && !(event.target instanceof Node && it.contains(event.target))) it.open = false;
    };
    const escape = (event: KeyboardEvent) => {
      const it = element.current;
      if (event.key === "Escape" && it?.open) {
        it.open = false;
        it.querySelector("summary")?.focus();
      }
    };
    addEventListener("pointerdown", close);
    addEventListener("focusin", close);
    addEventListener("keydown", escape);
    return () => {
      removeEventListener("pointerdown", close);
      removeEventListener("focusin", close);
      removeEventListener("keydown", escape);
    };
  }, []);
  const wanted = search.toLowerCase();
  const found = values.map((value, index) => ({ value, index })).filter((it) => (it.value ?? "unknown").toLowerCase().includes(wanted));
  const toggle = (index: number) => onPick(picked.includes(index) ? picked.filter((it) => it !== index) : [...picked, index]);
  return (
    <details class="choice" ref={element} data-dimension={dimension}>
      <summary class={picked.length > 0 ? "on" : undefined}>
        {dimension}
        {picked.length === 1 && <>: <Name text={values[picked[0]]} /></>}
        {picked.length > 1 && <>: {picked.length}</>}
      </summary>
      <div class="menu">
        {values.length > 8 && (
          <input type="search" placeholder={`Search ${values.length}`} aria-label={`Search ${dimension}`} value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
        )}
        <fieldset>
          <legend class="hidden">{dimension}</legend>
          {found.slice(0, SHOWN).map(({ value, index }) => (
            <label>
              <input type="checkbox" checked={picked.includes(index)} onChange={() => toggle(index)} />
              <Name text={value} />
            </label>
          ))}
          {found.length > SHOWN && <p class="note">{found.length - SHOWN} more: search for them</p>}
        </fieldset>
        {picked.length > 0 && <button type="button" class="quiet" onClick={() => onPick([])}>Any {dimension}</button>}
      </div>
    </details>
  );
}
