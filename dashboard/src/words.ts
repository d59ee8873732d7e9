// What codes of logs and tables mean, in words. Tables show these; CSV has the codes.

const WORDS: Record<string, string> = {
  // Causes of waste: docs/waste.md.
  retry: "retried requests",
  cache_model_switch: "cache lost: other model",
  cache_expired: "cache expired",
  cache_prefix_changed: "prompt began differently",
  cache_missed: "cache missed",
  premium_context: "long-context surcharge",
  repeated_call: "repeated calls",
  failed_call: "failed calls",
  cache_write_unused: "cache written, never read",
  after_last_edit: "work after the last edit",
  output_carried: "results carried in the context",
  // Kinds of events.
  permission_denial: "permission denied",
  // Kinds of errors.
  auth: "not logged in",
  rate_limit: "rate limit",
  context_overflow: "context too long",
  max_turns: "limit of turns",
  // How far tokens can be trusted.
  lower_bound: "lower bound",
};

/** A code in words; one without an entry has spaces for its underscores. */
export const inWords = (code: string | null): string => (code === null ? "" : (WORDS[code] ?? (/^[a-z]+(_[a-z]+)+$/.test(code) ? code.replaceAll("_", " ") : code)));
