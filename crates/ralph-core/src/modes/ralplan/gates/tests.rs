use super::*;

const BLOCK: &str = "```json ralph-plan\n{\"acceptance_criteria\":[{\"id\":\"AC-1\",\"description\":\"3 tests pass\",\
    \"verification_command\":\"cargo test login\"}],\n\"task_graph\":[{\"id\":\"T-1\",\"name\":\"add it\",\"deps\":[],\
    \"files\":[\"src/a.rs\"],\"completion_condition\":\"the form is there\"}]}\n```\n";

/// True for the files of the test project.
fn exists(path: &str) -> bool {
    ["src", "src/a.rs", "docs", "docs/x y.md", "Cargo.toml", "src/a"]
        .contains(&path.trim_end_matches('/'))
}

/// Checks the gates that this text fails together with a valid machine-readable part.
#[track_caller]
fn check_text(text: &str, expected: &[&str]) {
    check_whole(&format!("{text}\n\n{BLOCK}"), expected);
}

#[track_caller]
fn check_whole(text: &str, expected: &[&str]) {
    let failed = check(text, exists).into_iter().map(|one| one.to_string());
    // The tests of `sections` cover which sections a plan has.
    let failed: Vec<String> = failed.filter(|said| !said.contains("he section `")).collect();
    assert_eq!(failed.len(), expected.len(), "{text}: {failed:#?}");
    for (said, words) in failed.iter().zip(expected) {
        assert!(said.contains(words), "{said} has not {words}");
    }
}

#[test]
fn a_sound_plan_fails_nothing() {
    check_text("# Improve the login\n\nAdd a form to `src/a.rs:12` and src/a.rs:40-44.", &[]);
}

#[test]
fn a_plan_without_its_sections_fails_and_each_is_named() {
    let said = |text: &str| -> Vec<String> {
        check(&format!("{text}\n\n{BLOCK}"), exists).iter().map(Failed::to_string).collect()
    };
    let four = "## Requirements summary\nA form.\n## Acceptance criteria\nIt is there.\n## Steps\nAdd it.\n## Verification\nSee AC-1.\n";
    let found = said(four);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("The section `Risks` is missing: write `## Risks`"), "{found:?}");
    assert_eq!(said(&format!("{four}\n## Risks\nIt is slow.\n")), Vec::<String>::new());
    assert_eq!(said("Add a form.").len(), 5);
}

#[test]
fn an_empty_plan_and_one_without_its_machine_readable_part_fail() {
    check_whole(" \n", &["The plan is empty"]);
    check_whole("Add a form.", &["no machine-readable part with criteria and tasks; write it at"]);
    check_whole("Add.\n```json ralph-plan\n{\"task_graph\"", &["line 2: the plan is not JSON"]);
    check_whole("Add.\n```json\n{}\n```", &["line 2: the plan has neither"]);
}

#[test]
fn a_file_that_is_cited_exists_or_is_marked_new() {
    check_text(
        "Change `src/b.rs`.\n\nAnd src/c.rs:3.",
        &["line 1: `src/b.rs`", "line 3: `src/c.rs`"],
    );
    check_text("Change `src/b.rs` (new) and later `src/b.rs:3`.", &[]);
    check_text("Make `src/b/` (new folder): `src/b/c.rs`, `./src/b/d.rs`.", &[]);
    check_text("Make **`src/b.rs`** (NEW), `src/d.rs (new)`, src/e.rs:1 (new).", &[]);
    check_text("Change `src/b.rs` and `src/b.rs`.", &["line 1: `src/b.rs` does not exist"]);
    check_text("Change `src/missing` and `nowhere.toml`.", &["`src/missing`", "`nowhere.toml`"]);
    check_text("Make `docs/a b.md` (new) and `docs/c d.md`.", &["`docs/c d.md` does not"]);
    check_text("Read `docs/x y.md`, `Cargo.toml`, `src/`, `src/a`.", &[]);
}

#[test]
fn what_only_looks_like_a_path_is_passed_over() {
    for text in [
        "Answer `GET /api/users` and `/api/users/:id` as `application/json`.",
        "Merge `origin/main`; see `github.com/a/b.rs`, `https://x.y/z.md`.",
        "Run `cargo test -p a src/b.rs`, `npm run x/y.ts`, `./x y/z.md`.",
        "Use `@scope/pkg.js`, `Vec::new`, `user.name`, `a.b()`, `src/**/*.rs`, `-x/y.rs`.",
        "> quoted `src/b.rs`",
        "```\n`src/b.rs`\n```",
        "At 12:30, as of 1.2:3, a ratio of 3:1.",
    ] {
        check_text(text, &[]);
    }
}

#[test]
fn vague_words_are_named_with_their_line() {
    check_text(
        "Fine.\n- Improve the speed.\n2. Handle errors properly.\n\nAdd tests as needed, etc.",
        &["line 2: `improve`", "line 3: `properly`", "line 5: `etc`"],
    );
    check_text("### Task 3: Optimize the loop", &["line 1: `optimize`"]);
    check_text("Step 2. It should be better.", &["`better`"]);
    check_text("Do T-1, where  necessary.", &["`where necessary`"]);
    check_text("Decide the name: TBD", &["`tbd`"]);
}

#[test]
fn a_number_or_a_command_makes_a_word_checkable() {
    for text in [
        "1. Improve p95 from 300 ms to 200 ms.",
        "Make it faster: `cargo bench login` shows it.",
        "Rename `improve` and call `optimize`.",
        "> Improve it all",
        "```\nimprove\n```",
        "The letter reads well.",
    ] {
        check_text(text, &[]);
    }
    check_text("Improve `src/a.rs`.", &["`improve`"]);
}

#[track_caller]
fn check_block(from: &str, to: &str, expected: &[&str]) {
    let block = BLOCK.replace(from, to);
    assert_ne!(block, BLOCK, "{from}");
    check_whole(&format!("Add `src/new.rs` (new).\n\n{block}"), expected);
}

#[test]
fn criteria_are_measurable_and_have_commands_that_can_fail() {
    check_block("cargo test login", "", &["line 3: acceptance_criteria[0].verification_command"]);
    check_block("cargo test login", "true", &["`true` proves nothing"]);
    check_block("3 tests pass", "login is better", &["line 3: AC-1: `better`"]);
    check_block("3 tests pass", "login takes at most 200 ms, which is better", &[]);
    check_block("{\"id\":\"AC-1\"", "{\"id\":7", &["acceptance_criteria[0]"]);
}

#[test]
fn tasks_say_what_to_do_and_when_they_are_done() {
    check_block("the form is there", " ", &["T-1 has no `completion_condition`"]);
    check_block("the form is there", "it works properly", &["T-1: `properly`"]);
    check_block("add it", "improve it", &["T-1: `improve`"]);
    check_block("src/a.rs", "src/b.rs", &["T-1 changes `src/b.rs`"]);
    check_block("src/a.rs", "src/new.rs", &[]);
    check_block("src/a.rs", "src/**", &[]);
}

#[test]
fn tasks_make_a_graph_without_cycles() {
    check_block(
        "\"deps\":[]",
        "\"deps\":[\"T-1\"]",
        &["line 3: task_graph[0].deps: T-1 depends on itself"],
    );
    check_block("\"deps\":[]", "\"deps\":[\"T-9\"]", &["T-9, which does not exist"]);
}

#[test]
fn both_lists_are_needed() {
    check_whole(
        "```json\n{\"task_graph\":[{\"name\":\"a\",\"completion_condition\":\"b\"}]}\n```",
        &["no `acceptance_criteria`"],
    );
    let criteria =
        "{\"acceptance_criteria\":[{\"description\":\"a\",\"verification_command\":\"make t\"}]}";
    check_whole(&format!("```json\n{criteria}\n```"), &["no `task_graph`"]);
}

#[test]
fn the_form_that_is_shown_is_a_sound_one() {
    let json = &HOW[HOW.find('{').unwrap()..];
    let text = format!("Make `src/login.ts` (new).\n```json ralph-plan\n{json}\n```");
    check_whole(&text, &[]);
}

#[test]
fn very_many_faults_are_bounded() {
    let text = "Improve it.\n".repeat(200);
    let failed = check(&format!("{text}{BLOCK}"), exists);
    assert_eq!((failed.len(), failed[30].what.as_str()), (31, "175 more of this kind."));
}

#[test]
fn a_place_is_taken_off_a_path_and_nothing_else_is() {
    for (word, expected) in [
        ("src/a.rs:12", "src/a.rs"),
        ("src/a.rs:12-20", "src/a.rs"),
        ("src/a.rs:12:3", "src/a.rs"),
        ("src/a.rs:L3,5", "src/a.rs"),
        ("src/a.rs#L12-L20", "src/a.rs"),
        ("src/a.rs:x", "src/a.rs:x"),
        ("src/a.rs:12x", "src/a.rs:12x"),
        ("src/a.rs:-", "src/a.rs:-"),
        ("src/a.rs:", "src/a.rs:"),
        ("src/a.rs", "src/a.rs"),
    ] {
        assert_eq!(without_place(word), expected, "{word}");
    }
}

#[test]
fn the_files_that_a_plan_cites_are_found_in_whole() {
    let cited = |text: &str| -> Vec<(usize, String, bool)> {
        cited_paths(text, exists).into_iter().map(|one| (one.line, one.path, one.new)).collect()
    };
    let of = |line, path: &str, new| (line, path.to_owned(), new);
    for (text, expected) in [
        ("src/a.rs", vec![]),
        ("see src/a.rs:3.", vec![of(1, "src/a.rs", false)]),
        ("(src/b.rs:3) (new)", vec![of(1, "src/b.rs", true)]),
        ("x\n`src/b.rs` **(NEW)**", vec![of(2, "src/b.rs", true)]),
        ("`src/b.rs (new file)`", vec![of(1, "src/b.rs", true)]),
        ("`src/b.rs`, a new one", vec![of(1, "src/b.rs", false)]),
        ("`a.rs` `b` `npm run x/y.ts` `./x y/z.md`", vec![of(1, "a.rs", false)]),
        (
            "`/api/users` `/x/y.rs` `origin/main` `src/main`",
            vec![of(1, "/x/y.rs", false), of(1, "src/main", false)],
        ),
        ("`github.com/x.rs` `.github/x.yaml`", vec![of(1, ".github/x.yaml", false)]),
        (
            "`docs/x y.md` `-a/b.rs` `@a/b.rs` `a//b.rs` `.../.rs`",
            vec![of(1, "docs/x y.md", false)],
        ),
        ("`a.rs", vec![]),
        (
            "> `src/b.rs`\n```\n`src/b.rs`\n```\n~~~\n`src/b.rs`\n```\n~~~\n`src/c.rs`",
            vec![of(9, "src/c.rs", false)],
        ),
        ("````\n```\n`src/b.rs`\n````\n`src/c.rs`", vec![of(5, "src/c.rs", false)]),
        ("```\n``` x\n`src/b.rs`\n```\n`src/c.rs`", vec![of(5, "src/c.rs", false)]),
    ] {
        assert_eq!(cited(text), expected, "{text}");
    }
}

#[test]
fn a_path_from_the_top_of_the_file_system_needs_an_ending() {
    assert!(!is_path("/api/users", |_| true) && is_path("api/users", |_| true));
    assert!(is_path("/api/users.rs", |_| false));
}

#[test]
fn a_vague_word_is_accepted_beside_a_number_or_a_command() {
    for (line, expected) in [
        ("Improve it", Some("improve")),
        ("it is optimised", Some("optimised")),
        ("a user-friendly form", Some("user-friendly")),
        ("betterment", None),
        ("the better one", Some("better")),
        ("handle it as\tneeded", Some("as needed")),
        ("as needed, and so on", Some("as needed")),
        ("`improve` it", None),
        ("improve it by 3 ms", None),
        ("improve it by 3.", None),
        ("3 ms improve it", None),
        ("3. improve it", Some("improve")),
        ("- 1. improve it", Some("improve")),
        ("2) improve it", Some("improve")),
        ("improve step 3", Some("improve")),
        ("improve it, see section 3", Some("improve")),
        ("improve it with `npm test`", None),
        ("improve it with `./x y`", None),
        ("improve it with `npm`", Some("improve")),
        ("improve it with `Big thing`", Some("improve")),
        ("nothing", None),
    ] {
        assert_eq!(vague_word(line).as_deref(), expected, "{line}");
    }
}

#[test]
fn at_most_thirty_gates_are_named_and_the_others_counted() {
    let failed = |n: usize| {
        let text = "Improve it\n".repeat(n);
        let whole = "## Requirements summary\na\n## Acceptance criteria\na\n## Steps\na\n## Risks\na\n\
                     ## Verification\na\n";
        check(&format!("{text}{whole}{BLOCK}"), exists)
    };
    assert_eq!((failed(30).len(), failed(31).len()), (30, 31));
    assert_eq!(failed(31)[30].to_string(), "1 more of this kind.");
    assert_eq!(
        failed(1)[0].to_string(),
        "line 1: `improve` cannot be checked; give a number, or the command that shows it"
    );
}
