use super::*;

const QUESTION_TEXT: &str = "ARCHITECT_QUESTION:\n- Topic: Security\n- Context: login\n- Files to examine: src/a.rs, `src/b.rs`\n\
                             - Specific Question: Who holds the key?";
const ANSWER_TEXT: &str = "ARCHITECT_ANSWER:\n- Topic: Security\n- Analysis: read it\n- Recommendation: a vault\n\
                           - Trade-offs: one more part\n- References: src/a.rs:3";
const REJECT: &str = "CRITIC_FEEDBACK:\n- Verdict: REJECT\n- Critical Issues:\n  1. T-2 has no test; add one\n  2. `x` is gone\n\
                      - Minor Issues:\n  1. a name\n- Questions for Architect (if any):\n  1. Is a lock needed?";

const HASH: &str = "0123456789ab";

/// Adds the digits of the hash to each feedback in the message.
fn hashed(message: &str) -> String {
    let after = |head: &str| format!("{head}\n- Plan hash: {HASH}\n");
    let message = message.replace("CRITIC_FEEDBACK:\n", &after("CRITIC_FEEDBACK:"));
    message.replace("**CRITIC_FEEDBACK**\n", &after("**CRITIC_FEEDBACK**"))
}

fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(|one| (*one).to_owned()).collect()
}

#[track_caller]
fn ready(message: &str, expected: Option<Result<&str, &str>>) {
    let found = plan_ready(message);
    match (found, expected) {
        (None, None) => {}
        (Some(Ok(path)), Some(Ok(wanted))) => assert_eq!(path, wanted, "{message}"),
        (Some(Err(why)), Some(Err(wanted))) => assert!(why.contains(wanted), "{why}"),
        (found, _) => panic!("{message}: {found:?}"),
    }
}

#[test]
fn only_a_head_of_a_block_stands_without_its_colon() {
    for (line, mark, expected) in [
        ("**CRITIC_FEEDBACK**", "CRITIC_FEEDBACK", Some("")),
        ("CRITIC_FEEDBACK: x", "CRITIC_FEEDBACK", Some("x")),
        ("CRITIC_FEEDBACK x", "CRITIC_FEEDBACK", None),
        ("PLAN_READY", "PLAN_READY", None),
        ("Topic", "Topic", None),
        ("Topic x", "Topic", None),
        ("Topic: x", "Topic", Some("x")),
    ] {
        assert_eq!(starts_with_mark(line, mark), expected, "{line}");
    }
    assert_eq!(items("1. a\n. b\n2) c"), ["a . b", "c"]);
}

#[test]
fn the_last_plan_ready_names_the_plan() {
    for message in [
        "PLAN_READY: .omc/plans/a.md",
        "**PLAN_READY:** `.omc/plans/a.md`",
        "- `PLAN_READY: .omc/plans/a.md`",
        "```\nPLAN_READY: .omc/plans/a.md\n```",
        "PLAN_READY: .omc/plans/old.md\n\nand then\nPLAN_READY:.omc/plans/a.md\n",
    ] {
        ready(message, Some(Ok(".omc/plans/a.md")));
    }
    ready("I will end with PLAN_READY: .omc/plans/a.md", None);
    ready("> PLAN_READY: .omc/plans/a.md", None);
    ready("PLAN_READY soon", None);
    for message in ["PLAN_READY:", "PLAN_READY: <path>", "PLAN_READY: .omc/plans/[feature].md"] {
        ready(message, Some(Err("Write the plan's path")));
    }
}

#[test]
fn questions_are_read_in_the_forms_that_models_write() {
    let expected = Exchange {
        short: "Security: Who holds the key?".into(),
        whole: "Security: Who holds the key? (context: login; files to examine: `src/a.rs`, `src/b.rs`)".into(),
    };
    let marked = "### ARCHITECT_QUESTION\n**Topic:** Security\n* **Context**: login\n- Files to examine:\n  - src/a.rs\n  - `src/b.rs` (new)\n\n\
                  - specific question: Who holds\n  the key?\n\nThat is all.";
    for message in [QUESTION_TEXT, &format!("```\n{QUESTION_TEXT}\n```\nbye"), marked] {
        assert_eq!(questions(message), Ok(vec![expected.clone()]), "{message}");
    }
    let two = format!("{QUESTION_TEXT}\n\n{QUESTION_TEXT}\nPLAN_READY: .omc/plans/a.md");
    assert_eq!(questions(&two).unwrap().len(), 2);
    assert_eq!(questions("no question"), Ok(Vec::new()));
}

#[track_caller]
fn lacks<T: std::fmt::Debug>(read: Result<T, Vec<String>>, expected: &[&str]) {
    let wrong = read.unwrap_err();
    assert_eq!(wrong.len(), expected.len(), "{wrong:?}");
    for (said, words) in wrong.iter().zip(expected) {
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn what_a_question_or_an_answer_lacks_is_named() {
    lacks(questions("ARCHITECT_QUESTION:\n- Topic: x"), &["`Context:`", "`Files", "`Specific"]);
    lacks(
        questions(&QUESTION_TEXT.replace("src/a.rs, `src/b.rs`", "[specific paths]")),
        &["`Files to examine:` is missing"],
    );
    lacks(answers("All is well."), &["`ARCHITECT_ANSWER:` with"]);
    lacks(answers(&ANSWER_TEXT.replace("src/a.rs:3", "")), &["`References:`"]);
    assert!(answers(ANSWER_TEXT).unwrap()[0].whole.ends_with("references: src/a.rs:3)"));
}

#[track_caller]
fn verdict_is(message: &str, okay: bool) -> CriticFeedback {
    let read = feedback(&hashed(message)).unwrap_or_else(|wrong| panic!("{message}: {wrong:?}"));
    assert_eq!((read.okay, read.judged.as_str()), (okay, HASH), "{message}");
    read
}

#[test]
fn a_rejection_carries_its_issues_and_questions() {
    let read = verdict_is(REJECT, false);
    assert_eq!(read.critical, words(&["T-2 has no test; add one", "`x` is gone"]));
    assert_eq!(read.minor, words(&["a name"]));
    assert_eq!(read.questions, words(&["Is a lock needed?"]));
    let prose = format!("{REJECT}\n\nSo much for that.\n");
    assert_eq!(verdict_is(&prose, false).questions, words(&["Is a lock needed?"]));
    let fenced = format!("```\n{}\n```", REJECT.replace("1. Is a lock needed?", "none"));
    assert_eq!(verdict_is(&fenced, false).questions, words(&[]));
    let wrapped = REJECT.replace("; add one", "\n     and should have one");
    assert_eq!(verdict_is(&wrapped, false).critical[0], "T-2 has no test and should have one");
}

#[test]
fn an_approval_is_the_one_word() {
    for message in [
        "CRITIC_FEEDBACK:\n- Verdict: OKAY",
        "**CRITIC_FEEDBACK**\n**Verdict:** OKAY\n- Critical Issues: none\n- Minor Issues:\n  1. a name",
        "CRITIC_FEEDBACK:\n- Verdict: okay.\n- Questions for Architect (if any):\n  none",
        "CRITIC_FEEDBACK:\n- Verdict: OKAY\n\nOKAY",
        "CRITIC_FEEDBACK:\n- Verdict: OKAY\n- Strengths: clear\n- Critical Issues: None found.",
        "CRITIC_FEEDBACK:\n- Verdict: OKAY\n\nThe plan is sound.",
    ] {
        verdict_is(message, true);
    }
}

#[test]
fn a_verdict_says_which_text_it_is_about() {
    let whole = HASH.repeat(5);
    for (said, judged) in [
        (HASH, HASH),
        ("`0123456789ab`", HASH),
        ("**0123456789AB** (.omc/plans/a.md)", HASH),
        ("0123456789ab.\n- Plan hash: `0123456789ab`", HASH),
        (&whole, &whole),
    ] {
        for message in [
            format!("CRITIC_FEEDBACK:\n- Verdict: OKAY\n- Plan hash: {said}\n\nOKAY"),
            format!("**CRITIC_FEEDBACK**\n**Plan hash:** {said}\nVERDICT: OKAY"),
            format!("{REJECT}\n- Plan hash: {said}\n\nSo much for that."),
        ] {
            let read = feedback(&message).unwrap_or_else(|wrong| panic!("{message}: {wrong:?}"));
            assert_eq!(read.judged, judged, "{message}");
        }
    }
    for said in [
        "",
        "- Plan hash:",
        "- Plan hash: 0123456789a",
        "- Plan hash: 0123456789ax",
        "- Plan hash: none",
        "- Plan hash: 0123456789ab\n- Plan hash: 0123456789ac",
        "PLAN_READY: .omc/plans/a.md\n- Plan hash: 0123456789ab",
    ] {
        lacks(
            feedback(&format!("CRITIC_FEEDBACK:\n- Verdict: OKAY\n{said}")),
            &["judged text is unknown"],
        );
        lacks(feedback(&format!("{REJECT}\n{said}")), &["judged text is unknown"]);
    }
    for message in ["Good.\n\nOKAY", "**OKAY**", "VERDICT: OKAY", "Plan hash: 0123456789ab\nOKAY"] {
        lacks(feedback(message), &["in `CRITIC_FEEDBACK:`, write `- Plan hash:`"]);
    }
}

#[test]
fn of_two_verdicts_the_last_counts() {
    let okay = "CRITIC_FEEDBACK:\n- Verdict: OKAY";
    verdict_is(&format!("{REJECT}\n\n{okay}"), true);
    verdict_is(&format!("{okay}\n\n{REJECT}"), false);
}

#[test]
fn what_is_ambiguous_is_no_verdict() {
    for message in [
        "CRITIC_FEEDBACK:\n- Verdict: OKAY, if T-2 is split",
        "CRITIC_FEEDBACK:\n- Verdict: OKAY\n  provided that T-2 is split",
        "CRITIC_FEEDBACK:\n- Verdict: NOT OKAY",
        "CRITIC_FEEDBACK:\n- Verdict: OKAY or REJECT",
        "CRITIC_FEEDBACK:\n- Verdict: OKAY\n- Verdict: REJECT",
        "CRITIC_FEEDBACK:\n- Verdict: OKAY\n\nREJECT",
        &format!("{REJECT}\n\nOKAY"),
    ] {
        lacks(feedback(&hashed(message)), &["The verdict is ambiguous"]);
    }
    for message in [
        "",
        "The plan is OKAY",
        "It is okay",
        "okay",
        "> OKAY",
        "```\nOKAY\n```",
        "OKAY\nbut for one thing",
        "I would write VERDICT: OKAY",
        "CRITIC_FEEDBACK:\n- Critical Issues:\n  1. x",
    ] {
        lacks(feedback(&hashed(message)), &["verdict is missing"]);
    }
    lacks(feedback("REJECT"), &["needs reasons"]);
    let said = |message: &str| feedback(&hashed(message));
    lacks(said("CRITIC_FEEDBACK:\n- Verdict: REJECT"), &["at least one numbered item"]);
    lacks(
        said(
            "CRITIC_FEEDBACK:\n- Verdict: REJECT\n- Critical Issues:\n  1. [Issue with specific fix required]",
        ),
        &["at least one numbered item"],
    );
    lacks(said(&REJECT.replace("REJECT", "OKAY")), &["contradicts critical issues"]);
    lacks(
        said("CRITIC_FEEDBACK:\n- Verdict: OKAY\n- Questions for Architect:\n  1. a?"),
        &["contradicts questions for the architect"],
    );
    lacks(
        feedback("CRITIC_FEEDBACK:\n- Verdict: REJECT"),
        &["at least one", "judged text is unknown"],
    );
}
