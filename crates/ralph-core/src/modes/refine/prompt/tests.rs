use super::*;
use crate::modes::refine::tests::Dice;
use crate::modes::refine::{contract, ideas};

fn text(prompt: Prompt) -> &'static str {
    macro_rules! file {
        ($name:literal) => {
            include_str!(concat!("../../../../../ralph/prompts/", $name, ".md"))
        };
    }
    match prompt {
        Prompt::BeadRefiner => file!("bead-refiner"),
        Prompt::PlanImprover => file!("plan-improver"),
        Prompt::IdeaWizard => file!("idea-wizard"),
        Prompt::ContextLoader => file!("context-loader"),
        Prompt::PostContext => file!("post-context"),
        Prompt::Synthesizer => file!("synthesizer"),
        Prompt::RobotMode => file!("robot-mode"),
    }
}

fn reads(template: &str, given: &[(&str, &str)]) -> String {
    render(template, given).unwrap_or_else(|flaws| panic!("{template}: {flaws:?}"))
}

#[test]
fn a_value_is_text_whatever_it_holds() {
    for value in [
        "a|b", "a&b", "&", "\\1", "{{x}}", "$1", "${B}", "$${B}", "${A}", "}", "${", "$", "`x`",
        "a\nb", "$(rm)", "",
    ] {
        let given = [("A", value), ("B", "other")];
        assert_eq!(reads("1 ${A} 2 ${A}$", &given), format!("1 {value} 2 {value}$"));
        assert_eq!(reads("${A}${B}", &given), format!("{value}other"));
    }
}

#[test]
fn any_order_of_texts_and_variables_is_filled_in_once() {
    // Pieces of a template, and what each renders to.
    const PIECES: [(&str, &str); 10] = [
        ("${A}", "${B}|&"),
        ("${B}", "$${A}\n$"),
        ("$${", "${"),
        ("}", "}"),
        ("{{", "{{"),
        ("\n", "\n"),
        ("A", "A"),
        ("é", "é"),
        ("|", "|"),
        ("& ", "& "),
    ];
    let given = [("A", "${B}|&"), ("B", "$${A}\n$")];
    let mut dice = Dice(0xface);
    for _ in 0..20_000 {
        let pieces: Vec<_> = (0..dice.roll(12)).map(|_| PIECES[dice.roll(PIECES.len())]).collect();
        let template: String = pieces.iter().map(|(written, _)| *written).collect();
        let expected: String = pieces.iter().map(|(_, comes)| *comes).collect();
        assert_eq!(reads(&template, &given), expected, "{template:?}");
    }
}

#[test]
fn what_is_no_variable_is_text() {
    for template in ["", "$", "$A", "{A}", "$ {A}", "{{A}}", "$(A)", "a $1 | & \\n", "$\n{A}"] {
        assert_eq!(reads(template, &[("A", "x")]), template);
    }
    assert_eq!(reads("$${A} $${ $$${A}", &[("A", "x")]), "${A} ${ $${A}");
    assert_eq!(reads("a\r\n${A}\r\n", &[("A", "x")]), "a\r\nx\r\n");
}

#[track_caller]
fn refused(template: &str, expected: &[&str]) {
    let flaws = render(template, &[("A", "x"), ("B", "y")]).expect_err(template);
    assert_eq!(flaws, expected, "{template}");
}

#[test]
fn names_that_are_not_given_are_errors_and_all_are_named() {
    refused(
        "a\n${C} ${A}\n${a}${A }",
        &[
            "line 2: `${C}` is not a variable of this prompt; there are `${A}`, `${B}`",
            "line 3: `${a}` is not a variable of this prompt; there are `${A}`, `${B}`",
            "line 3: `${A }` is not a variable of this prompt; there are `${A}`, `${B}`",
        ],
    );
    refused("${}", &["line 1: `${}` is not a variable of this prompt; there are `${A}`, `${B}`"]);
    let open = "line 1: `${` has no `}` on its line; write `$${` for the two letters";
    refused("${A\n}", &[open]);
    refused("x ${", &[open]);
    let none = render("${A}", &[]).unwrap_err();
    assert!(none[0].ends_with("there are none"), "{none:?}");
}

/// The prompt with each variable in angle brackets.
fn shown(prompt: Prompt) -> String {
    let values: Vec<String> = prompt.variables().iter().map(|name| format!("<{name}>")).collect();
    let given: Vec<(&str, &str)> =
        prompt.variables().iter().copied().zip(values.iter().map(String::as_str)).collect();
    reads(text(prompt), &given)
}

#[test]
fn each_prompt_uses_all_of_its_variables_and_no_other() {
    for prompt in Prompt::ALL {
        let shown = shown(prompt);
        for name in prompt.variables() {
            assert!(shown.contains(&format!("<{name}>")), "{}: {name}", prompt.name());
        }
        assert!(!shown.contains("${"), "{}", prompt.name());
    }
}

/// The last code block of a prompt, with its fences.
fn last_block(text: &str) -> String {
    let start = text.trim_end().strip_suffix("```").expect("it ends with a block").rfind("```");
    text[start.unwrap()..].to_owned()
}

#[test]
fn each_prompt_ends_with_the_contract_as_the_parser_reads_it() {
    for prompt in Prompt::ALL {
        let (name, shown) = (prompt.name(), shown(prompt));
        let block = last_block(&shown);
        assert_eq!(block, format!("```\n{}\n```\n", contract::FORM), "{name}");
        // The form sent back unchanged reports nothing.
        assert_eq!(contract::read(&shown).flaws().len(), 2, "{name}");
        let filled = block.replace("{number}", "4").replace("{one-line summary of changes}", "all");
        let said = contract::read(&format!("What I did.\n\n{filled}"));
        assert_eq!((said.changes, said.summary), (Ok(4), Ok("all".to_owned())), "{name}");
        // The prompt says what to count, under the label's own name.
        assert!(shown.contains("`CHANGES` is"), "{name}");
    }
}

#[test]
fn an_answer_to_the_idea_wizard_is_read_as_tasks_and_as_a_round() {
    let shown = shown(Prompt::IdeaWizard);
    let from = shown.find("```jsonl").unwrap();
    let answer =
        shown[from..].replace("{number}", "1").replace("{one-line summary of changes}", "x");
    let found = ideas::read(&answer).unwrap();
    assert_eq!(found.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), ["IDEA-1"]);
    assert_eq!(contract::read(&answer).changes, Ok(1));
}

#[test]
fn rounds_are_told_what_they_need_to_settle() {
    for prompt in [Prompt::BeadRefiner, Prompt::PlanImprover] {
        let shown = shown(prompt);
        assert!(shown.contains("A round that finds nothing is a good round."), "{}", prompt.name());
        assert!(shown.contains("<ROUND> of at most <MAX_ROUNDS>"), "{}", prompt.name());
    }
}

#[test]
fn what_a_projects_text_lacks_is_appended_and_a_text_that_cannot_be_used_is_named() {
    for prompt in Prompt::ALL {
        let (name, own) = (prompt.name(), text(prompt));
        assert_eq!(prompt.flaws(own), Vec::<String>::new(), "{name}");
        assert_eq!(prompt.completed(own.to_owned(), own), own, "{name}");
        for line in contract::FORM.lines() {
            let completed = prompt.completed(own.replace(line, ""), own);
            assert!(contract::lacking(&completed).is_empty(), "{name}: {completed}");
        }
        let flaws = prompt.flaws("/ralph-cancel ${HOME}\0\n");
        assert!(flaws.iter().any(|flaw| flaw.contains("takes for a command")), "{flaws:?}");
        assert!(flaws.iter().any(|flaw| flaw.contains("NUL")), "{flaws:?}");
        let unknown = "line 1: `${HOME}` is not a variable of this prompt";
        assert!(flaws.iter().any(|flaw| flaw.starts_with(unknown)), "{flaws:?}");
        assert_eq!(prompt.flaws(" \n"), ["it is empty"]);
    }
    for (prompt, lacks) in [
        (Prompt::PlanImprover, "${PLAN_FILE}"),
        (Prompt::IdeaWizard, "```jsonl"),
        (Prompt::IdeaWizard, "${TASKS}"),
        (Prompt::BeadRefiner, "${TASKS}"),
    ] {
        let own = text(prompt).replace(lacks, "");
        assert!(prompt.completed(own, text(prompt)).contains(lacks), "{lacks}");
    }
}
