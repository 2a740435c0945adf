//! The words by which plans name their sections, tasks, dependencies and urgency.

/// What a section of a plan is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlanSection {
    /// Commands that show that the work is done.
    Commands,
    /// Conditions for the whole plan or for one task.
    Acceptance,
    /// Files of a task.
    Files,
    /// Work that need not be done.
    Optional,
    /// Work for a person.
    Manual,
    /// What the plan is about.
    Overview,
    Other,
}

impl PlanSection {
    /// What a heading or a label names.
    pub(super) fn of(heading: &str) -> PlanSection {
        let words = plain(heading);
        let is = |names: &[&str]| names.contains(&words.as_str());
        let has = |part: &str| words.split(' ').any(|word| word == part);
        if has("manual") || words.starts_with("post completion") || words.starts_with("external") {
            return PlanSection::Manual;
        }
        let proves =
            ["validation", "validate", "verification", "verify", "test", "testing", "check"];
        let proves = proves.iter().chain(&["quality", "acceptance", "ci", "lint", "build"]);
        if (has("commands") || has("command")) && proves.into_iter().any(|word| has(word))
            || is(&["validation", "verification", "verify", "validate", "how to verify"])
            || is(&["checks", "quality gates", "quality checks", "validation steps", "commands"])
        {
            return PlanSection::Commands;
        }
        if is(&["acceptance", "acceptance criteria", "success criteria", "completion criteria"])
            || is(&["exit criteria", "definition of done", "done when", "done criteria"])
        {
            return PlanSection::Acceptance;
        }
        if is(&["files", "files to change", "files to modify", "files involved", "changed files"]) {
            return PlanSection::Files;
        }
        if has("optional") || has("someday") || words.starts_with("nice to have") {
            return PlanSection::Optional;
        }
        if is(&["future", "future work", "future enhancements", "later", "out of scope", "ideas"]) {
            return PlanSection::Optional;
        }
        if is(&["overview", "goal", "goals", "objective", "summary", "description"]) {
            return PlanSection::Overview;
        }
        PlanSection::Other
    }
}

/// True for a heading that promises commands and nothing else.
pub(super) fn promises_commands(heading: &str) -> bool {
    plain(heading).contains("command")
}

/// Letters and digits in lower case, joined by single spaces; `N.` before them is dropped.
fn plain(text: &str) -> String {
    let spaced: String = text
        .chars()
        .map(|letter| if letter.is_alphanumeric() { letter.to_ascii_lowercase() } else { ' ' })
        .collect();
    let mut words: Vec<&str> = spaced.split_whitespace().collect();
    if words.len() > 1 && words[0].bytes().all(|digit| digit.is_ascii_digit()) {
        words.remove(0);
    }
    words.join(" ")
}

/// The label and the name of a task's heading: `2a` and `Add it` of `Task 2a: Add it`.
pub(super) fn task_heading(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches(['*', '_']);
    let rest = ["Task", "Iteration", "Step"].into_iter().find_map(|word| {
        text.get(..word.len()).filter(|start| start.eq_ignore_ascii_case(word))?;
        text[word.len()..].strip_prefix([' ', '#', '-'])
    })?;
    let rest = rest.trim_start_matches([' ', '#']);
    let end = rest.find(|end: char| end == ':' || end.is_whitespace()).unwrap_or(rest.len());
    let label = rest[..end].trim_end_matches(['.', ')', '*', '_']);
    let is_label = |letter: char| letter.is_alphanumeric() || matches!(letter, '.' | '-' | '_');
    let counts = label.chars().any(|digit| digit.is_ascii_digit()) || matches!(label, "N" | "N-1");
    if label.len() > 16 || !counts || !label.chars().all(is_label) {
        return None;
    }
    let name = rest[end..].trim_start_matches([':', ' ', '-', '–', '—', '*', '_']);
    Some((label, name.trim_end_matches(['*', '_']).trim()))
}

/// The id and the name of a task that begins with an id: `US-001: …`, `**T1.2**: …`, `1.2 …`.
pub(super) fn leading_id(text: &str) -> Option<(&str, &str)> {
    let bare = text.trim_start_matches(['*', '_', '`', '[']);
    let end =
        bare.find(|end: char| !(end.is_ascii_alphanumeric() || matches!(end, '.' | '-' | '_')))?;
    let (id, after) = bare.split_at(end);
    let rest = after.trim_start_matches(['*', '_', '`', ']']);
    let counts = id.bytes().any(|digit| digit.is_ascii_digit());
    let is_number = id.contains('.') && id.bytes().all(|one| one.is_ascii_digit() || one == b'.');
    let rest = match rest.strip_prefix(':') {
        Some(rest) => rest,
        None if is_number && rest.starts_with(' ') => rest,
        None => return None,
    };
    let name = rest.trim_start_matches(['*', '_', ' ']);
    (counts && id.len() <= 16 && !name.is_empty()).then(|| (id.trim_end_matches('.'), name))
}

/// The rank of a section's urgency, the most urgent first; `None` if the heading does not say.
pub(super) fn urgency(heading: &str) -> Option<u32> {
    let words = plain(heading);
    let words: Vec<&str> = words.split(' ').collect();
    let number = |word: &&str| word.strip_prefix('p').unwrap_or(word).parse().ok();
    if let Some(at) = words.iter().position(|word| *word == "priority") {
        let after = words.get(at + 1).and_then(number);
        return after.or_else(|| words.iter().find_map(|word| rank(word)));
    }
    match words.as_slice() {
        [word] => rank(word),
        [word, ..] if word.len() == 2 && word.starts_with('p') => number(word),
        _ => None,
    }
}

fn rank(word: &str) -> Option<u32> {
    Some(match word {
        "critical" | "urgent" | "blocker" | "p0" => 0,
        "high" | "p1" => 1,
        "medium" | "normal" | "p2" => 2,
        "low" | "p3" => 3,
        _ => return None,
    })
}

/// The names after `depends on`, `dependencies:`, `deps:` or `blocked by`; empty if the line says
/// nothing of the kind.
pub(super) fn dependencies(line: &str) -> Vec<String> {
    let lower = line.to_ascii_lowercase();
    let bare = lower.replace(['*', '_'], " ");
    let found = ["depends on", "dependencies:", "dependencies :", "deps:", "blocked by"]
        .into_iter()
        .find_map(|words| bare.find(words).map(|at| at + words.len()));
    let Some(at) = found else { return Vec::new() };
    // The replacements keep each byte where it was.
    let said = line.get(at..).unwrap_or_default();
    let said = said.trim_start_matches([':', ' ', '*', '_']);
    let said = &said[..said.find([')', ']', ';']).unwrap_or(said.len())];
    let names = said.split([',', '&']).flat_map(|part| part.split(" and "));
    let names = names.map(|name| name.trim().trim_matches(['*', '_', '`', '.', '#', ' ']));
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_known_by_any_of_its_names() {
        for (heading, expected) in [
            ("Validation Commands", PlanSection::Commands),
            ("🧪 Test commands:", PlanSection::Commands),
            ("4. Verification", PlanSection::Commands),
            ("Quality Gates", PlanSection::Commands),
            ("Manual verification", PlanSection::Manual),
            ("Post-Completion", PlanSection::Manual),
            ("Success criteria (wrong place)", PlanSection::Other),
            ("Success criteria", PlanSection::Acceptance),
            ("Definition of Done", PlanSection::Acceptance),
            ("Nice to Have", PlanSection::Optional),
            ("Low Priority / Optional", PlanSection::Optional),
            ("Testing Strategy", PlanSection::Other),
            ("Overview", PlanSection::Overview),
            ("**Files:**", PlanSection::Files),
        ] {
            assert_eq!(PlanSection::of(heading), expected, "{heading}");
        }
    }

    #[test]
    fn a_tasks_heading_has_a_number_and_a_name() {
        for (heading, expected) in [
            ("Task 1: Add it", Some(("1", "Add it"))),
            ("Iteration 2a - Add it", Some(("2a", "Add it"))),
            ("**Task 2.5: Add it**", Some(("2.5", "Add it"))),
            ("TASK #3 — Add it", Some(("3", "Add it"))),
            ("Task 4", Some(("4", ""))),
            ("Task 1. Add it", Some(("1", "Add it"))),
            ("Task N-1: Verify", Some(("N-1", "Verify"))),
            ("Task list", None),
            ("Tasks", None),
            ("Steps to reproduce", None),
        ] {
            assert_eq!(task_heading(heading), expected, "{heading}");
        }
    }

    #[test]
    fn an_id_before_a_task_is_its_id() {
        for (text, expected) in [
            ("US-001: show it", Some(("US-001", "show it"))),
            ("**T1.2**: show it", Some(("T1.2", "show it"))),
            ("**T-3: show it", Some(("T-3", "show it"))),
            ("1.2 show it", Some(("1.2", "show it"))),
            ("3 apples", None),
            ("note: show it", None),
            ("utf8: ", None),
            ("http://x.y: z", None),
        ] {
            assert_eq!(leading_id(text), expected, "{text}");
        }
    }

    #[test]
    fn urgency_and_dependencies_are_stated_in_words() {
        for (heading, expected) in [
            ("🔴 High Priority (MANDATORY)", Some(1)),
            ("Priority 4: Authentication", Some(4)),
            ("P0 blockers", Some(0)),
            ("Low", Some(3)),
            ("High-level design", None),
            ("Notes", None),
        ] {
            assert_eq!(urgency(heading), expected, "{heading}");
        }
        for (line, expected) in [
            ("**Depends on:** Task 1, Task 2.", vec!["Task 1", "Task 2"]),
            ("add it (depends on T-1 and T-2) soon", vec!["T-1", "T-2"]),
            ("Dependencies: none", vec!["none"]),
            ("Blocked by `US-001`", vec!["US-001"]),
            ("independent", vec![]),
        ] {
            assert_eq!(dependencies(line), expected, "{line}");
        }
    }
}
