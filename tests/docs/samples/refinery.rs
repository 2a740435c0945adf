//! `docs/refinery.md`: a plan that settles, and one round that says less than it changes.

use super::{Sample, Screen, check};

pub(super) const SAMPLES: &[Sample] = &[("refine-status", status), ("refine-trace", trace)];

/// A client that is a script: which round it is, the file to write, and how to end.
const CLIENT: &str = r#"#!/bin/sh
[ "$1" = --version -o "$1" = /cost ] && echo '2.1.328 (Claude Code)' && exit
n=$(($(cat "$HOME/n" 2>/dev/null || echo 0) + 1))
echo $n >"$HOME/n"
plan=$(printf '%s\n' "$2" | sed -n 's/^Plan: `\(.*\)`$/\1/p')
printf '%s\n' "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s-$n\"}"
ended() {
  i=0; while [ $i -lt $2 ]; do echo "round $n line $i" >>"$plan"; i=$((i + 1)); done
  printf '%s\n' "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"session_id\":\"s-$n\",\"result\":\"$4CHANGES: $1\nSUMMARY: $3\"}"
}
case $n in
"#;

/// After a refinement whose rounds do this.
fn refined(rounds: &str, most: u32) -> Screen {
    let mut screen = Screen::new();
    let plan: String = (0..40).map(|line| format!("{line}\n")).collect();
    screen.world.write("docs/plan.md", &plan);
    screen.world.write("../home/bin/claude", &format!("{CLIENT}{rounds}\nesac\n"));
    let client = screen.world.root().join("home/bin/claude");
    screen.printed(&format!("chmod +x '{}'", client.display()));
    screen.world.set("RALPH_CLAUDE", client.to_str().unwrap());
    let plan = "--plan docs/plan.md --permission-mode acceptEdits --no-notify";
    screen.printed(&format!("ralph refine loop {plan} --max-iterations {most}"));
    screen
}

fn status() -> String {
    let mut screen = refined(
        "1) ended 5 9 'split the migration, named the rollback';;\n2) ended 3 4 'added the failing cases';;\n\
         3) ended 2 2 'named the flag';;\n4) ended 1 1 'corrected a name';;\n*) ended 0 1 'nothing left to change';;",
        10,
    );
    screen.runs("ralph refine status");
    screen.text()
}

fn trace() -> String {
    let mut screen = refined(
        "1) ended 2 4 'two' '- split the migration into two steps\\n- name the rollback\\n\\n';;\n*) ended 0 40 'wording';;",
        2,
    );
    screen.runs("ralph explain --id plan");
    screen.text()
}

#[test]
fn the_guide_to_refinement_shows_what_appears() {
    check("docs/refinery.md");
}
