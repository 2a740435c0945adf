//! Finds the commands in the lines of a plan, and tells them from prose.

/// A command, and what the plan says about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlanCommand {
    pub(super) command: String,
    /// Empty if the plan says nothing.
    pub(super) about: String,
}

/// Programs that begin a command written without backticks. A word that is not here may still be
/// one; then the line is read as prose and shown.
const RUNNERS: [&str; 49] = [
    "bash",
    "biome",
    "bundle",
    "bun",
    "cargo",
    "cmake",
    "composer",
    "ctest",
    "deno",
    "docker",
    "dotnet",
    "eslint",
    "git",
    "go",
    "golangci-lint",
    "gradle",
    "grep",
    "jest",
    "just",
    "make",
    "mix",
    "mvn",
    "mypy",
    "ninja",
    "node",
    "npm",
    "npx",
    "php",
    "pip",
    "pnpm",
    "poetry",
    "prettier",
    "pyright",
    "pytest",
    "python",
    "python3",
    "rake",
    "rspec",
    "ruby",
    "ruff",
    "sh",
    "swift",
    "task",
    "terraform",
    "tox",
    "tsc",
    "uv",
    "vitest",
    "yarn",
];

/// Words that a command line hardly has and a sentence often does.
const PROSE: [&str; 18] = [
    "a", "an", "are", "be", "every", "is", "it", "its", "must", "should", "sure", "that", "the",
    "through", "to", "with", "works", "your",
];

/// What a sentence adds to a command that must succeed.
const SUCCEEDS: [&str; 18] = [
    "passes",
    "pass",
    "succeeds",
    "succeed",
    "exits 0",
    "exits with 0",
    "exit with 0",
    "is green",
    "is clean",
    "runs clean",
    "completes",
    "works",
    "must pass",
    "passes without errors",
    "reports no errors",
    "runs without errors",
    "passes with no errors",
    "returns 0",
];

/// The commands of an item below a heading of commands; empty for prose.
pub(super) fn of_item(text: &str) -> Vec<PlanCommand> {
    let text = text.trim();
    let spans = spans(text);
    let Some(first) = spans.first() else {
        let bare = text.strip_prefix("$ ").unwrap_or(text).trim();
        return match text.starts_with("$ ") || is_bare_command(bare) {
            true => vec![PlanCommand { command: bare.to_owned(), about: String::new() }],
            false => Vec::new(),
        };
    };
    let before = text[..first.start].trim().trim_matches(['*', '_', ' ']);
    let is_label = before.is_empty()
        || before.ends_with(':') && before.len() <= 60
        || matches!(before.to_ascii_lowercase().as_str(), "run" | "execute" | "then" | "and");
    if !is_label {
        return Vec::new();
    }
    // `a` and `b`: all of them; `a` - checks `b`: only the first.
    let mut taken = 1;
    while taken < spans.len() {
        let between = text[spans[taken - 1].end..spans[taken].start].trim();
        if !matches!(between, "and" | "," | ", and" | "&&" | "then" | ", then" | ";" | "+") {
            break;
        }
        taken += 1;
    }
    let after = text[spans[taken - 1].end..].trim();
    let after = after.trim_start_matches(['-', '–', '—', ':', '(', '#', ' ', '→']);
    let label = if before.ends_with(':') { before.trim_end_matches(':') } else { "" };
    let about = [label, after.trim_end_matches([')', '.'])];
    let about: Vec<&str> = about.into_iter().filter(|part| !part.is_empty()).collect();
    let about = if taken == 1 { about.join(": ") } else { String::new() };
    let found = spans[..taken].iter().map(|span| span.text.trim()).filter(|text| !text.is_empty());
    found.map(|command| PlanCommand { command: command.to_owned(), about: about.clone() }).collect()
}

/// The command of a condition that says that it passes: `` `make check` passes ``.
pub(super) fn that_passes(text: &str) -> Option<PlanCommand> {
    let text = text.trim().trim_end_matches('.');
    let about = text.to_owned();
    if let [span] = spans(text).as_slice()
        && span.start == 0
        && (span.text.contains(' ') || is_bare_command(span.text))
        && (span.end == text.len() || says_success(&text[span.end..]))
    {
        return Some(PlanCommand { command: span.text.trim().to_owned(), about });
    }
    let command = SUCCEEDS.iter().find_map(|words| text.strip_suffix(words))?.trim_end();
    let is_command = is_bare_command(command) && command.contains(' ');
    is_command.then(|| PlanCommand { command: command.to_owned(), about })
}

fn says_success(rest: &str) -> bool {
    let rest = rest.trim().trim_end_matches(['.', '!']).to_ascii_lowercase();
    SUCCEEDS.contains(&rest.as_str())
}

fn is_bare_command(text: &str) -> bool {
    let mut words = text.split_whitespace().skip_while(|word| is_assignment(word));
    let Some(first) = words.next() else { return false };
    let is_program =
        RUNNERS.contains(&first) || first.starts_with("./") || first.starts_with("bin/");
    is_program && !words.any(|word| PROSE.contains(&word.trim_end_matches([',', '.'])))
}

/// True for `NAME=value` before a command.
fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    !name.is_empty() && name.bytes().all(|letter| letter.is_ascii_uppercase() || letter == b'_')
}

/// A span of inline code.
struct Span<'a> {
    /// Where its backticks begin, in bytes.
    start: usize,
    /// Where its backticks end.
    end: usize,
    text: &'a str,
}

fn spans(text: &str) -> Vec<Span<'_>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find('`') {
        let start = from + at;
        let length = text[start..].len() - text[start..].trim_start_matches('`').len();
        let fence = &text[start..start + length];
        let inside = &text[start + length..];
        let Some(end) = inside.find(fence) else { break };
        found.push(Span { start, end: start + length + end + length, text: &inside[..end] });
        from = start + length + end + length;
    }
    found
}

/// A line of a block of code that is no command of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnreadableLine {
    pub(super) number: usize,
    pub(super) what: &'static str,
}

/// The commands of a block of code, one on each line, each with the number of its line.
///
/// `cd`, `export` and `source` hold for the lines after them.
pub(super) fn of_block(
    lines: &[(usize, &str)],
) -> Result<Vec<(usize, PlanCommand)>, UnreadableLine> {
    let (mut found, mut setup) = (Vec::new(), Vec::<String>::new());
    let mut comment = String::new();
    let mut lines = lines.iter();
    while let Some(&(number, line)) = lines.next() {
        let mut line = line.trim().trim_start_matches("$ ").to_owned();
        while line.ends_with('\\') {
            line.pop();
            let Some((_, next)) = lines.next() else { break };
            line = format!("{} {}", line.trim_end(), next.trim());
        }
        if let Some(words) = line.strip_prefix('#') {
            comment = words.trim().to_owned();
            continue;
        }
        if line.is_empty() {
            continue;
        }
        if spans_lines(&line) {
            let what = "the command goes on over several lines; put it into a script and name that";
            return Err(UnreadableLine { number, what });
        }
        let (command, about) = match line.split_once(" # ") {
            Some((command, about)) if !command.contains(['\'', '"']) => {
                (command.trim().to_owned(), about.trim().to_owned())
            }
            _ => (line, String::new()),
        };
        let about = if about.is_empty() { std::mem::take(&mut comment) } else { about };
        let first = command.split_whitespace().next().unwrap_or_default();
        if matches!(first, "cd" | "export" | "source" | "." | "set") && !command.contains("&&") {
            setup.push(command);
            continue;
        }
        let command = setup.iter().chain([&command]).map(String::as_str).collect::<Vec<_>>();
        found.push((number, PlanCommand { command: command.join(" && "), about }));
    }
    Ok(found)
}

/// True for a line that needs those after it: a loop, a function, a document of its own.
fn spans_lines(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let has = |word: &str| words.iter().any(|one| one.trim_end_matches(';') == word);
    let opens = |word: &str, end: &str| words.first() == Some(&word) && !has(end);
    line.contains("<<")
        || line.ends_with('{')
        || opens("if", "fi")
        || opens("case", "esac")
        || ["for", "while", "until"].into_iter().any(|word| opens(word, "done"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(found: &[PlanCommand]) -> Vec<String> {
        found.iter().map(|one| format!("{} | {}", one.command, one.about)).collect()
    }

    #[test]
    fn an_item_is_a_command_with_what_is_said_about_it() {
        for (text, expected) in [
            ("`go test ./...`", vec!["go test ./... | "]),
            ("Backend: `cargo test`", vec!["cargo test | Backend"]),
            ("`npm run build` - builds, with `tsc`.", vec!["npm run build | builds, with `tsc`"]),
            ("`npm test` and `npm run lint`", vec!["npm test | ", "npm run lint | "]),
            ("Run `make check`", vec!["make check | "]),
            ("``echo `date` > x``", vec!["echo `date` > x | "]),
            ("pnpm typecheck", vec!["pnpm typecheck | "]),
            ("CI=1 npm test", vec!["CI=1 npm test | "]),
            ("$ ./check.sh --all", vec!["./check.sh --all | "]),
            ("make sure that it works", vec![]),
            ("go through the list", vec![]),
            ("Read `a.md`, then `b.md`", vec![]),
            ("`unclosed", vec![]),
        ] {
            assert_eq!(shown(&of_item(text)), expected, "{text}");
        }
    }

    #[test]
    fn a_condition_may_be_a_command_that_passes() {
        for (text, expected) in [
            ("`npm test` passes.", Some("npm test")),
            ("`make` succeeds", Some("make")),
            ("npm run typecheck passes", Some("npm run typecheck")),
            ("`cargo test` passes on Windows too", None),
            ("`Config` passes", None),
            ("Typecheck passes", None),
        ] {
            let found = that_passes(text).map(|found| found.command);
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_block_has_a_command_on_each_line() {
        let block = [
            (4, "# Types"),
            (5, "$ npx tsc --noEmit"),
            (6, ""),
            (7, "cd web"),
            (8, "npm test -- \\"),
            (9, "  --ci  # all of them"),
        ];
        let found = of_block(&block).unwrap();
        let shown: Vec<String> = found
            .iter()
            .map(|(number, one)| format!("{number} {} | {}", one.command, one.about))
            .collect();
        assert_eq!(
            shown,
            ["5 npx tsc --noEmit | Types", "8 cd web && npm test -- --ci | all of them"]
        );
        for line in ["for x in a b; do", "cat <<EOF", "check() {", "if true; then"] {
            assert_eq!(of_block(&[(3, line)]).unwrap_err().number, 3, "{line}");
        }
        assert!(of_block(&[(1, "for x in a b; do test -f $x; done")]).is_ok());
    }
}
