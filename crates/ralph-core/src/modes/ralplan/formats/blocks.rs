//! Labelled blocks in a message: a head such as `CRITIC_FEEDBACK:`, and the text after each label.

/// A head, and the labels below it.
pub(super) type Form = (&'static str, &'static [&'static str]);

#[derive(Debug, Clone)]
pub(super) struct LabelledBlock {
    form: Form,
    /// Index of the label and its text, in the order of the message.
    values: Vec<(usize, String)>,
}

impl LabelledBlock {
    /// Every text after this label.
    pub(super) fn all(&self, label: usize) -> impl Iterator<Item = &str> {
        self.values.iter().filter(move |(at, _)| *at == label).map(|(_, text)| text.as_str())
    }

    /// The last text after this label; empty if it is missing or still the form's placeholder.
    pub(super) fn text(&self, label: usize) -> &str {
        self.all(label).last().filter(|text| !is_placeholder(text)).unwrap_or_default()
    }

    /// The same on one line. Adds a sentence to `wrong` if the text is missing.
    pub(super) fn line(&self, label: usize, wrong: &mut Vec<String>) -> String {
        let words: Vec<&str> = self.text(label).split_whitespace().collect();
        if words.is_empty() {
            wrong.push(self.lacks(label));
        }
        words.join(" ")
    }

    /// The sentence that says that the text after this label is missing.
    pub(super) fn lacks(&self, label: usize) -> String {
        let (head, labels) = self.form;
        format!("`{}:` is missing or empty in `{head}:`.", labels[label])
    }
}

/// All blocks with this head, in the order of the message. A block ends where the next head of any
/// kind begins and at the end of a fence. A paragraph that belongs to no label ends only the text
/// of the label before it.
pub(super) fn blocks(message: &str, form: Form) -> Vec<LabelledBlock> {
    let (head, labels) = form;
    let mut found: Vec<LabelledBlock> = Vec::new();
    let (mut inside, mut open, mut blank) = (false, false, false);
    for line in message.lines() {
        let labelled = labels
            .iter()
            .enumerate()
            .find_map(|(at, label)| starts_with_mark(line, label).map(|rest| (at, rest)));
        let is_item = starts_an_item(line) || line.starts_with([' ', '\t']);
        if starts_with_mark(line, head).is_some() {
            found.push(LabelledBlock { form, values: Vec::new() });
            (inside, open) = (true, false);
        } else if HEADS.iter().any(|other| starts_with_mark(line, other).is_some())
            || (line.trim_start().starts_with("```") && open)
        {
            (inside, open) = (false, false);
        } else if let (true, Some(block), Some((at, rest))) = (inside, found.last_mut(), labelled) {
            block.values.push((at, rest.to_owned()));
            open = true;
        } else if blank && !is_item && !line.trim().is_empty() {
            open = false;
        } else if let (true, Some((_, text))) =
            (open, found.last_mut().and_then(|block| block.values.last_mut()))
        {
            text.push('\n');
            text.push_str(line);
        }
        blank = line.trim().is_empty();
    }
    found
}

const HEADS: [&str; 4] =
    ["ARCHITECT_QUESTION", "ARCHITECT_ANSWER", "CRITIC_FEEDBACK", "PLAN_READY"];

/// The text after a mark and its colon at the start of a line. Ignores emphasis, list marks,
/// heading marks and an `(if any)` before the colon.
pub(super) fn starts_with_mark<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    let line = line.trim().trim_start_matches(['-', '*', '_', '#', '`', ' ']);
    let start = line.get(..mark.len())?;
    let rest = line[mark.len()..].trim_start_matches(['*', '_', '`', ' ']);
    let rest = rest.strip_prefix("(if any)").unwrap_or(rest).trim_start_matches(['*', '_', ' ']);
    // A head may stand alone on its line; a label needs its colon.
    let after = match rest.strip_prefix(':') {
        Some(after) => after,
        None if rest.is_empty() && HEADS.contains(&mark) && mark != "PLAN_READY" => rest,
        None => return None,
    };
    start.eq_ignore_ascii_case(mark).then(|| after.trim_matches(['*', '_', ' ']))
}

/// The text up to a blank line or the next list item, on one line.
pub(super) fn paragraph(text: &str) -> String {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let ends = |line: &&str| line.trim().is_empty() || starts_an_item(line);
    let rest = lines.take_while(|line| !ends(line)).map(str::trim);
    std::iter::once(first).chain(rest).collect::<Vec<_>>().join(" ")
}

/// The items of a list, each on one line; empty for `none`.
pub(super) fn items(text: &str) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match (items.last_mut(), starts_an_item(line)) {
            (Some(item), false) => {
                item.push(' ');
                item.push_str(line.trim());
            }
            _ => items.push(without_mark(line).to_owned()),
        }
    }
    items.retain(|item| !is_nothing(item) && !is_placeholder(item));
    items
}

fn starts_an_item(line: &str) -> bool {
    without_mark(line).len() < line.trim().len()
}

/// The line without the `-`, `*`, `•`, `3.` or `3)` before it.
fn without_mark(line: &str) -> &str {
    let line = line.trim();
    let marked = line.strip_prefix(['-', '*', '•']).or_else(|| {
        let rest = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
        (rest.len() < line.len()).then_some(rest)?.strip_prefix(['.', ')'])
    });
    marked.filter(|rest| rest.is_empty() || rest.starts_with(' ')).map_or(line, str::trim)
}

fn is_nothing(item: &str) -> bool {
    let word = item.trim_matches(['*', '_', '`', '.', '(', ')', '[', ']', '-', ' ']);
    let nothing = [
        "",
        "none",
        "none found",
        "n/a",
        "nothing",
        "no",
        "no questions",
        "no issues",
        "no critical issues",
    ];
    nothing.iter().any(|none| word.eq_ignore_ascii_case(none))
}

/// The placeholders of the forms.
const PLACEHOLDERS: [&str; 14] = [
    "Architecture/Performance/Security/Pattern",
    "What we're planning",
    "specific paths",
    "What we need answered",
    "Matching topic",
    "What Architect found after reading files",
    "Specific guidance",
    "What to consider",
    "file:line citations from codebase",
    "Issue with specific fix required",
    "Nice to fix",
    "Architectural question needing expert input",
    "OKAY|REJECT",
    "OKAY or REJECT",
];

fn is_placeholder(text: &str) -> bool {
    let text = text.trim();
    let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    PLACEHOLDERS.contains(&inner)
}
