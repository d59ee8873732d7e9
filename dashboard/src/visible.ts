// Control characters in names from logs, as visible text.

/** Text that shows what would act on a terminal or turn the direction of the text around. */
export function visible(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, (it) => {
    return `\\u{${it.charCodeAt(0).toString(16)}}`;
  });
}
