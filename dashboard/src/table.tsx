// Tables: the numbers of each chart, and the sessions. Each can be saved as a CSV file.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { number, UNKNOWN, visible } from "./format";

export type Value = string | number | null;

export interface Column<Row> {
  title: string;
  /** Its name in CSV, with its unit: that of the report's column where there is one. */
  name: string;
  value: (row: Row) => Value;
  /** The value for people; without it, the value as it is. */
  text?: (row: Row) => string;
  /** A part of the largest value, shown as a bar. */
  bar?: (row: Row) => number;
  /** Whether its text has several lines where there is little space. */
  isWide?: boolean;
  /** Whether the table omits it: another column shows it too. */
  isOnlyCsv?: boolean;
  /** What the bar is coloured as. */
  color?: (row: Row) => string;
}

const isUnknown = (it: Value) => it === null || Number.isNaN(it);

/** Text from logs, which may be unknown. */
export function Name({ text }: { text: string | null }) {
  return text === null ? <i class="unknown">{UNKNOWN}</i> : <bdi>{visible(text)}</bdi>;
}

/** A field of RFC 4180; text that begins as a formula follows a quote, as in `agentlogs export`. */
function field(value: Value): string {
  if (isUnknown(value)) return "";
  if (typeof value === "number") return String(value);
  const harmless = /^[=+\-@\t\r]/.test(value ?? "") ? `'${value}` : (value ?? "");
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

export function csv<Row>(columns: Column<Row>[], rows: Row[]): string {
  const lines = [columns.map((it) => field(it.name)), ...rows.map((row) => columns.map((it) => field(it.value(row))))];
  return lines.map((it) => `${it.join(",")}\n`).join("");
}

export function download(name: string, text: string) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export function CsvButton<Row>({ name, columns, rows }: { name: string; columns: Column<Row>[]; rows: () => Row[] }) {
  return (
    <button type="button" class="quiet" aria-label={`Download ${name} as CSV`} onClick={() => download(`agentlogs-${name}.csv`, csv(columns, rows()))}>
      CSV
    </button>
  );
}

/** Of what is known: what is unknown comes last, whatever the order. */
function compare(a: Value, b: Value): number {
  return typeof a === "number" && typeof b === "number" ? a - b : String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0;
}

interface Props<Row> {
  name: string;
  caption: string;
  columns: Column<Row>[];
  rows: Row[];
  /** Rows at a time. */
  page?: number;
  onOpen?: (row: Row) => void;
  /** Whether a row can be opened; by default each can. */
  opens?: (row: Row) => boolean;
}

/** A table that is sorted by a click on a column's title. */
export function DataTable<Row>({ name, caption, columns: all, rows, page = 12, onOpen, opens }: Props<Row>) {
  const columns = all.filter((it) => !it.isOnlyCsv);
  const [order, setOrder] = useState<{ column: number; isDown: boolean } | null>(null);
  const [at, setAt] = useState(0);
  // Other rows are shown from the first one.
  useEffect(() => setAt(0), [rows.length]);
  let sorted = rows;
  if (order && columns[order.column]) {
    const { value } = columns[order.column];
    const sign = order.isDown ? -1 : 1;
    const valued = rows.map((row) => ({ row, value: value(row) }));
    const known = valued.filter((it) => !isUnknown(it.value)).sort((a, b) => sign * compare(a.value, b.value));
    sorted = [...known, ...valued.filter((it) => isUnknown(it.value))].map((it) => it.row);
  }
  const pages = Math.max(1, Math.ceil(sorted.length / page));
  const current = Math.min(at, pages - 1);
  const shown = sorted.slice(current * page, (current + 1) * page);
  const sort = (column: number) => {
    const isNumber = rows.some((row) => typeof columns[column].value(row) === "number");
    setOrder((it) => (it?.column === column ? { column, isDown: !it.isDown } : { column, isDown: isNumber }));
    setAt(0);
  };
  return (
    <>
      <div class="scroll" role="region" aria-label={caption} tabIndex={0}>
        <table data-name={name}>
          <caption>{caption}</caption>
          <thead>
            <tr>
              {columns.map((it, index) => (
                <th
                  scope="col"
                  class={shown.some((row) => typeof it.value(row) === "number") ? "number" : undefined}
                  aria-sort={order?.column === index ? (order.isDown ? "descending" : "ascending") : undefined}
                >
                  <button type="button" onClick={() => sort(index)}>{it.title}</button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <tr>
                {columns.map((it, index) => {
                  const cell = <Cell column={it} row={row} />;
                  const isNumber = typeof it.value(row) === "number";
                  if (index > 0) return <td class={isNumber ? "number" : it.isWide ? "wide" : undefined}>{cell}</td>;
                  return (
                    <th scope="row">
                      {onOpen && (opens?.(row) ?? true) ? <button type="button" class="link" onClick={() => onOpen(row)}>{cell}</button> : cell}
                    </th>
                  );
                })}
              </tr>
            ))}
            {shown.length === 0 && <tr><td colSpan={columns.length} class="unknown">nothing</td></tr>}
          </tbody>
        </table>
      </div>
      {pages > 1 && (
        <nav class="pages" aria-label={`Pages of ${caption}`}>
          <button type="button" class="quiet" disabled={current === 0} onClick={() => setAt(current - 1)}>Previous</button>
          <span>{current * page + 1}–{current * page + shown.length} of {number(sorted.length)}</span>
          <button type="button" class="quiet" disabled={current + 1 === pages} onClick={() => setAt(current + 1)}>Next</button>
        </nav>
      )}
    </>
  );
}

function Cell<Row>({ column, row }: { column: Column<Row>; row: Row }) {
  const value = column.value(row);
  if (isUnknown(value)) return <i class="unknown">{UNKNOWN}</i>;
  const text = column.text ? column.text(row) : null;
  const shown: ComponentChildren =
    typeof value === "number" ? <data value={String(value)}>{text ?? number(value)}</data> : (
      <bdi title={text === null ? undefined : visible(String(value))}>{visible(text ?? String(value))}</bdi>
    );
  if (!column.bar) return <>{shown}</>;
  const part = column.bar(row);
  return (
    <span class="bar">
      <span class="fill" style={{ width: `${Math.max(0, Math.min(1, part || 0)) * 100}%`, background: column.color?.(row) ?? "" }} />
      {shown}
    </span>
  );
}
