// Numbers for people. What is unknown is a word, never 0.

import { isKnown } from "./data";

export { visible } from "./visible";

export const UNKNOWN = "unknown";

/** Made once: making one takes longer than all the numbers of a page. */
const digits = (least: number, most: number) => new Intl.NumberFormat("en-US", { minimumFractionDigits: least, maximumFractionDigits: most });
const plain = digits(0, 0);
const exact = digits(0, 3);
const dollars = [2, 3, 4].map((it) => digits(it, it));

/** US dollars, with the digits that matter. */
export function money(value: number): string {
  if (!isKnown(value)) return UNKNOWN;
  const size = Math.abs(value);
  if (size > 0 && size < 0.00005) return `${value < 0 ? "> −" : "< "}$0.0001`;
  return `$${dollars[size === 0 || size >= 1 ? 0 : size >= 0.01 ? 1 : 2].format(value)}`;
}

/** US dollars on an axis: no more digits than its labels need. */
export function axisMoney(value: number): string {
  const size = Math.abs(value);
  return size >= 1000 ? `$${scaled(value, 1000, ["", "k", "M"])}` : `$${Number(value.toPrecision(2))}`;
}

/** An amount that may be a lower bound. */
export const atLeast = (isLowerBound: boolean, value: number): string => (isLowerBound && isKnown(value) ? `≥ ${money(value)}` : money(value));

export function count(value: number): string {
  return isKnown(value) ? plain.format(value) : UNKNOWN;
}

/** `1 session`, `1,234 sessions`. */
export const counted = (value: number, noun: string): string => `${count(value)} ${noun}${value === 1 ? "" : "s"}`;

/** A number that is no count. */
export function number(value: number): string {
  return exact.format(value);
}

function scaled(value: number, base: number, units: string[]): string {
  let size = Math.abs(value);
  let at = 0;
  while (at + 1 < units.length && size >= base * 0.99995) {
    size /= base;
    at++;
  }
  const digits = at === 0 || size >= 99.95 ? 0 : 1;
  return `${value < 0 ? "-" : ""}${size.toFixed(digits)}${units[at]}`;
}

/** A count in short: 3.1M. */
export function short(value: number): string {
  return isKnown(value) ? scaled(value, 1000, ["", "k", "M", "B", "T"]) : UNKNOWN;
}

export function bytes(value: number): string {
  return isKnown(value) ? scaled(value, 1000, [" B", " kB", " MB", " GB", " TB"]) : UNKNOWN;
}

export function percent(value: number): string {
  return isKnown(value) ? `${(value * 100).toFixed(1)} %` : UNKNOWN;
}

/** Milliseconds in short: 4m 10s. */
export function duration(ms: number): string {
  if (!isKnown(ms)) return UNKNOWN;
  const seconds = Math.floor(ms / 1000);
  const two = (it: number) => String(it).padStart(2, "0");
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (seconds < 60) return `${(ms / 1000).toFixed(1)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${two(seconds % 60)}s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)}h ${two(Math.floor(seconds / 60) % 60)}m`;
  return `${Math.floor(seconds / 86400)}d ${two(Math.floor(seconds / 3600) % 24)}h`;
}

/** A local minute. */
export function minute(value: number): string {
  return isKnown(value) ? new Date(value * 60000).toISOString().slice(0, 16).replace("T", " ") : UNKNOWN;
}

/** The beginning of a name. */
export const start = (text: string, longest: number): string => (text.length <= longest ? text : `${text.slice(0, longest - 1)}…`);

/** The end of a path, which distinguishes it better than its beginning. */
export function pathEnd(text: string, longest = 32): string {
  return text.length <= longest ? text : `…${text.slice(-(longest - 1))}`;
}
