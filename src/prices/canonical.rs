//! The canonical names of models: one name for all spellings of a model. See docs/prices.md#canonical-names.
//!
//! A canonical name groups rows. It never decides a price: [`Catalog::find`](super::Catalog::find) does.

use foldhash::{HashMap, HashMapExt as _, HashSet};

use super::model_name::{ModelName, date_at_end, is_effort, is_number, maker_of, routed_host, without_mark};
use super::spelling::is_host;

/// A line of the catalog: a model at a provider, with its names.
pub(super) struct Listed<'a> {
    pub provider: &'a str,
    pub is_own: bool,
    pub model: &'a str,
    pub aliases: Vec<&'a str>,
}

/// Variants that `OpenRouter` and Ollama append to a name after a colon: they choose a host or a price, not another model.
#[rustfmt::skip]
static VARIANTS: &[&str] = &[
    "batch", "beta", "cloud", "exacto", "extended", "floor", "free", "nitro", "online", "self-moderated", "thinking",
];

/// All names of a catalog.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    /// The canonical spellings of names without the names of vendors, by [`key`].
    spellings: HashMap<String, String>,
    /// The keys of hosts' names with those of vendors, such as `nvidia/nemotron-nano-9b-v2`.
    paths: HashSet<String>,
}

impl Names {
    /// The names of these lines. Where two lines spell a name differently, the spelling of the maker applies, then that of
    /// another provider with its own price, then the most frequent one of hosts.
    pub fn new<'a>(lines: impl Iterator<Item = Listed<'a>>) -> Self {
        let is_of_maker = |line: &Listed<'_>| maker_of(&key(line.model)).is_none_or(|maker| maker == line.provider);
        let (own, built_in): (Vec<_>, Vec<_>) = lines.partition(|line| line.is_own);
        let (hosts, others): (Vec<_>, Vec<_>) = built_in.into_iter().partition(|line| is_host(line.provider));
        let (makers, others): (Vec<_>, Vec<_>) = others.into_iter().partition(is_of_maker);
        let mut names = Self::default();
        for line in makers.iter().chain(&others) {
            names.add(line);
        }
        names.add_hosts(hosts.into_iter());
        for line in &own {
            names.add_own(line);
        }
        names
    }

    /// Adds the names of a model. Those that are only another spelling of the model lead to one of them. The others, which
    /// have the same price, are models of their own.
    fn add(&mut self, line: &Listed<'_>) {
        let names = || std::iter::once(line.model).chain(line.aliases.iter().copied()).map(last_segment);
        let mut chosen = last_segment(line.model);
        let mut shorter = key(chosen);
        while let Some(length) = mark_at_end(&shorter) {
            shorter.truncate(shorter.len() - length);
            chosen = names().find(|name| key(name) == shorter).unwrap_or(chosen);
        }
        for name in names() {
            let spelling = if are_spellings(name, chosen) { chosen } else { name };
            self.spellings.entry(key(name)).or_insert_with(|| spelling.to_ascii_lowercase());
        }
    }

    fn add_hosts<'a>(&mut self, lines: impl Iterator<Item = Listed<'a>>) {
        let mut counts: HashMap<String, HashMap<String, usize>> = HashMap::new();
        for line in lines {
            for name in std::iter::once(line.model).chain(line.aliases) {
                let name = name.to_ascii_lowercase();
                let name = variant_at_end(&name).and_then(|length| name.get(..name.len() - length)).unwrap_or(&name);
                if name.contains('/') {
                    self.paths.insert(key(name));
                }
                let name = last_segment(name);
                let name = without_mark(name).unwrap_or(name);
                let key = key(name);
                // A speed is recognised on lookup.
                if !self.spellings.contains_key(&key) && !key.ends_with("-fast") {
                    *counts.entry(key).or_default().entry(name.to_owned()).or_default() += 1;
                }
            }
        }
        for (key, spellings) in counts {
            let most = spellings.into_iter().min_by_key(|(name, count)| (std::cmp::Reverse(*count), name.clone()));
            self.spellings.extend(most.map(|(name, _)| (key, name)));
        }
    }

    /// Adds the names of a user's own table that are unknown so far.
    fn add_own(&mut self, line: &Listed<'_>) {
        if self.find(line.model).is_none() {
            self.spellings.insert(key(line.model), line.model.trim().to_owned());
        }
        let Some(model) = self.find(line.model) else { return };
        for alias in &line.aliases {
            if self.find(alias).is_none() {
                self.spellings.insert(key(alias), model.clone());
            }
        }
    }

    /// The canonical name of a logged name; `None` if the catalog does not contain it. It is its own canonical name.
    pub fn find(&self, logged: &str) -> Option<String> {
        let mut found = self.find_once(logged)?;
        // A spelling can be a name with a prefix, too. Each step is shorter, so that there is an end.
        while let Some(shorter) = self.find_once(&found).filter(|next| next.len() < found.len()) {
            found = shorter;
        }
        Some(found)
    }

    fn find_once(&self, logged: &str) -> Option<String> {
        let mut name = ModelName::new(None, logged);
        let mut rest = name.text.as_str();
        while let Some(next) = without_mark(rest) {
            rest = next;
        }
        if rest.len() < name.text.len()
            && let Some(found) = self.find_once(rest)
        {
            return Some(found);
        }
        // Bedrock's `zai.glm-5.3` is not another maker's `zai-glm-5.3`.
        if !name.is_of_bedrock()
            && let Some(spelling) = self.reduce(key(&name.text))
        {
            return Some(spelling);
        }
        loop {
            if let Some(spelling) = self.find_at_bedrock(&name) {
                return Some(spelling);
            }
            if !name.simplify_start() {
                break;
            }
        }
        if let Some(spelling) = self.reduce(key(&name.text)) {
            return Some(spelling);
        }
        // A vendor that is not in the table of providers: only if a host lists the model with it.
        let mut path = key(&name.text);
        while !self.paths.contains(&path) {
            path.truncate(path.len() - part_at_end(&path)?);
        }
        self.reduce(key(last_segment(&name.text)))
    }

    /// The canonical name of a name that begins with Bedrock's vendor. Some models' own names begin with it, too: `deepseek.r1-v1:0`.
    fn find_at_bedrock(&self, name: &ModelName) -> Option<String> {
        let (vendor, model) = name.bedrock_model()?;
        let with_vendor = format!("{vendor}-{model}");
        let names = if maker_of(model).is_some() { [model, &with_vendor] } else { [&with_vendor, model] };
        names.into_iter().find_map(|name| self.reduce(key(name)))
    }

    /// The spelling of a key after all parts at its end are removed without which the name is known.
    fn reduce(&self, mut key: String) -> Option<String> {
        let mut found: Option<&String> = None;
        let mut is_followed = false;
        loop {
            if let Some(spelling) = self.spellings.get(&key) {
                found = Some(spelling);
                if !std::mem::replace(&mut is_followed, true) {
                    // Another spelling of a model: its own dates do not matter.
                    key = self::key(spelling);
                }
            } else if found.is_none()
                && let Some(base) = key.strip_suffix("-fast")
                && let Some(base) = self.reduce(base.to_owned())
            {
                // A speed, at another price.
                return Some(format!("{base}-fast"));
            }
            // The catalog knows what a name without a version means at its date: `gemini-pro-latest` is not `gemini-pro`.
            if key.ends_with("-latest") && self.spellings.contains_key(&key) {
                break;
            }
            let Some(length) = part_at_end(&key) else { break };
            key.truncate(key.len() - length);
        }
        found.cloned()
    }
}

/// The part of a name after its last slash.
fn last_segment(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// The spelling in which names are compared: lower case, with a dash for each separator. `llama3.1`, `llama-3-1` and
/// `llama-v3p1` differ only in separators, and so do the first two here.
fn key(name: &str) -> String {
    let bytes = name.trim().as_bytes();
    let mut key = Vec::with_capacity(bytes.len() + 2);
    // The letters since the last other character.
    let mut letters = 0;
    let mut before = b' ';
    for (at, byte) in bytes.iter().map(u8::to_ascii_lowercase).enumerate() {
        let is_point = byte == b'p' && before.is_ascii_digit() && bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
        if byte.is_ascii_digit() && letters >= 3 {
            key.push(b'-');
        }
        letters = if byte.is_ascii_alphabetic() && (letters > 0 || !before.is_ascii_digit()) { letters + 1 } else { 0 };
        key.push(if is_point || matches!(byte, b'.' | b' ' | b'_') { b'-' } else { byte });
        before = byte;
    }
    // Only ASCII characters were replaced, so it is valid UTF-8.
    String::from_utf8(key).unwrap_or_default()
}

/// Whether two names of one model differ only in dates, separators and the order of words: `claude-4-5-sonnet` and
/// `claude-sonnet-4-5`, but not `gpt-5` and `gpt-5-codex`, which have the same price.
fn are_spellings(a: &str, b: &str) -> bool {
    let without_marks = |name: &str| {
        let mut key = key(name);
        while let Some(length) = mark_at_end(&key) {
            key.truncate(key.len() - length);
        }
        key
    };
    let (a, b) = (without_marks(a), without_marks(b));
    let words = |key: &str| {
        let mut words: Vec<String> = key.split('-').filter(|word| *word != "0").map(str::to_owned).collect();
        words.sort_unstable();
        words
    };
    words(&a) == words(&b) || a.replace('-', "") == b.replace('-', "")
}

/// The length of a part at the end that is not a part of the name of a model, if the catalog lists both names as one model.
fn mark_at_end(key: &str) -> Option<usize> {
    let word = key.rsplit_once('-').map(|(_, word)| word)?;
    let is_mark = matches!(word, "latest" | "preview" | "beta" | "0") || is_year_and_month(word);
    is_mark.then_some(word.len() + 1).or_else(|| variant_at_end(key)).or_else(|| any_date_at_end(key))
}

/// The length of a part at the end without which a name is that of the same model, if the catalog contains it.
fn part_at_end(key: &str) -> Option<usize> {
    let behind = |start: &str| Some(key.len() - start.trim_end_matches('-').len());
    if let Some((start, size)) = key.strip_suffix(']').and_then(|key| key.rsplit_once('['))
        && is_number(size.trim_end_matches(['m', 'k']))
    {
        return behind(start);
    }
    if let Some((start, effort)) = key.strip_suffix(')').and_then(|key| key.rsplit_once('('))
        && (is_effort(effort) || is_number(effort) || effort == "thinking")
    {
        return behind(start);
    }
    if let Some((start, version)) = key.rsplit_once('@')
        && (is_number(version) || matches!(version, "default" | "latest"))
    {
        return behind(start);
    }
    if let Some((start, _)) = routed_host(key) {
        return behind(start);
    }
    if let Some(length) = variant_at_end(key).or_else(|| revision_at_end(key)).or_else(|| any_date_at_end(key)) {
        return Some(length);
    }
    let (start, word) = key.rsplit_once('-')?;
    let is_version = word.strip_prefix('v').is_some_and(is_number);
    let is_part = match (word, maker_of(key)) {
        // The last two: a number format, and Vertex' mark of other makers' models.
        ("latest" | "fp8" | "maas", _) | ("thinking", Some("anthropic" | "google")) => true,
        (_, Some("anthropic")) if is_version => true,
        (_, Some("google")) if word.len() == 3 && word.starts_with("00") && is_number(word) => true,
        (_, Some("anthropic" | "google" | "openai" | "xai")) => is_effort(word),
        _ => false,
    };
    is_part.then_some(key.len() - start.len())
}

/// The length of a [variant](VARIANTS), or of an effort, with its colon.
fn variant_at_end(key: &str) -> Option<usize> {
    let (_, variant) = key.rsplit_once(':')?;
    (VARIANTS.contains(&variant) || is_effort(variant)).then_some(variant.len() + 1)
}

/// The length of Bedrock's `-v1:0`, `-1:0` or `-v1:0:200k`.
fn revision_at_end(key: &str) -> Option<usize> {
    let (start, numbers) = key.split_once(':')?;
    if !numbers.split(':').all(|number| is_number(number.trim_end_matches('k'))) {
        return None;
    }
    let version = start.rsplit_once('-').filter(|(_, word)| is_number(word.trim_start_matches('v')));
    Some(key.len() - version.map_or(start, |(start, _)| start).len())
}

/// The length of a date with its dash: `-20250929`, `-2025-09-29`, `-09-2025`, `-05-20` or `-0528`.
fn any_date_at_end(key: &str) -> Option<usize> {
    if let Some(length) = date_at_end(key) {
        return Some(length);
    }
    let (start, last) = key.rsplit_once('-')?;
    let in_range = |word: &str, length, range: std::ops::RangeInclusive<u16>| {
        word.len() == length && is_number(word) && word.parse().is_ok_and(|number| range.contains(&number))
    };
    let is_month = |word: &str| in_range(word, 2, 1..=12);
    let is_day = |word: &str| in_range(word, 2, 1..=31);
    if last.split_at_checked(2).is_some_and(|(month, day)| is_month(month) && is_day(day)) {
        return Some(5);
    }
    let (_, before) = start.rsplit_once('-')?;
    let is_date = is_month(before) && (is_day(last) || in_range(last, 4, 2020..=2099));
    is_date.then_some(before.len() + last.len() + 2)
}

/// Whether a word is a year and a month, as Mistral dates its models: `2508`.
fn is_year_and_month(word: &str) -> bool {
    let part = |range: std::ops::Range<usize>| word.get(range).filter(|it| is_number(it))?.parse::<u8>().ok();
    word.len() == 4 && matches!((part(0..2), part(2..4)), (Some(23..=39), Some(1..=12)))
}

#[cfg(test)]
mod tests;
