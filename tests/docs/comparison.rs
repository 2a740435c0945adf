//! The comparison can be checked: each line of it has a link, each link of that kind a target, and each
//! part says where the others are better.

use super::{read, root};

fn page() -> String {
    read(&root().join("docs/comparison.md"))
}

#[test]
fn each_line_that_claims_something_shows_where_it_is_from() {
    let text = page();
    let tables = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| |"));
    let claims: Vec<&str> = tables.filter(|line| !line.starts_with("|---")).collect();
    assert!(claims.len() >= 15, "{}", claims.len());
    for line in claims {
        let says_nothing = line.ends_with("nothing of its own |")
            || line.contains("what the client's own agents do")
            || line.contains("this repository");
        assert!(
            line.contains("](") || line.contains("][") || line.contains("(*run*)") || says_nothing,
            "{line}"
        );
    }
}

#[test]
fn each_named_link_has_a_target_and_each_source_a_commit() {
    let text = page();
    let targets: Vec<(&str, &str)> =
        text.lines().filter_map(|line| line.strip_prefix('[')?.split_once("]: ")).collect();
    for name in
        text.split("][").skip(1).filter_map(|rest| rest.split_once(']')).map(|(name, _)| name)
    {
        assert!(targets.iter().any(|(known, _)| *known == name), "[{name}] leads nowhere");
    }
    for (name, target) in targets {
        assert!(text.contains(&format!("][{name}]")), "[{name}] is not used");
        let commit = target.split_once("/blob/").and_then(|(_, rest)| rest.split('/').next());
        let is_fixed = commit.is_some_and(|commit| {
            commit.len() == 40 && commit.chars().all(|letter| letter.is_ascii_hexdigit())
        });
        assert!(is_fixed || !target.contains("github.com"), "{target} may change");
    }
}

/// What the brief of the comparison asks for, as the rows name it.
const POINTS: [&str; 8] = [
    "plan file",
    "fresh session per task",
    "proof",
    "review",
    "notifications",
    "sandbox",
    "cost limit",
    "resume after a kill",
];

#[test]
fn each_point_about_us_names_a_test_that_exists() {
    let text = page();
    let targets: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| line.strip_prefix('[')?.split_once("]: ../tests/"))
        .collect();
    let tests: Vec<&(&str, &str)> =
        targets.iter().filter(|(name, _)| name.starts_with("t-")).collect();
    for (name, target) in &tests {
        let (file, test) = target.split_once('#').unwrap_or_else(|| panic!("[{name}]: {target}"));
        let code = read(&root().join("tests").join(file));
        assert!(code.contains(&format!("fn {test}()")), "[{name}]: there is no `{test}` in {file}");
    }
    for point in POINTS {
        let row = text.lines().find(|line| line.starts_with(&format!("| {point} |")));
        let ours = row.unwrap_or_else(|| panic!("no row for {point}")).split('|').nth(2).unwrap();
        let is_shown = tests.iter().any(|(name, _)| ours.contains(&format!("][{name}]")));
        assert!(is_shown, "{point}: {ours}");
    }
}

#[test]
fn a_case_is_named_as_its_file_and_holds_for_us() {
    let conformance = read(&root().join("docs/reference/conformance.md"));
    let text = page();
    let cases: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| line.strip_prefix('[')?.split_once("]: ../tests/conformance/cases/"))
        .filter_map(|(name, file)| Some((name, file.strip_suffix(".json")?)))
        .collect();
    assert!(cases.len() >= 8, "{cases:?}");
    for (name, case) in cases {
        let word = case.rsplit('/').next().unwrap();
        assert!(text.contains(&format!("[`{word}`][{name}]")), "{case} is named otherwise");
        let row = conformance.lines().find(|line| line.starts_with(&format!("| `{case}` |")));
        let ours = row.expect(case).split('|').nth(3).unwrap().trim().to_owned();
        assert!(ours.starts_with("holds"), "{case}: {ours}");
    }
}

#[test]
fn each_part_says_where_the_others_are_better() {
    let text = page();
    for part in text.split("\n## ").skip(1) {
        let (heading, body) = part.split_once('\n').unwrap();
        assert!(body.contains("**Where they are better.**"), "{heading}");
    }
}
