//! `docs/evidence.md`: a loop from its start to its end.

use super::{Sample, Screen, check};

pub(super) const SAMPLES: &[Sample] = &[
    ("evidence-loop", whole),
    ("evidence-try", tried),
    ("evidence-checkpoints", checkpoints),
    ("evidence-blocked", blocked),
];

const START: &str = "\"greet by name\" --ac \"it greets=sh greet.sh\" --ac \"by name=sh greet.sh Ann | grep -q Ann\"";

/// A project with a script that greets nobody by name, and a loop that shall change that.
fn started() -> Screen {
    let screen = Screen::new();
    screen.world.write("greet.sh", "echo Hello\n");
    screen.world.type_command("ralph", START);
    screen
}

const TESTS: &str = "for test in tests/*; do
    n=$((n + 1))
    if sh $test; then echo \"ok $n - $test\"; else echo \"not ok $n - $test\"; failed=1; fi
done
echo \"1..$n\"
exit ${failed:-0}
";

/// A loop over a project whose tests pass, and the model's change, which no test sees.
fn unseen() -> Screen {
    let mut screen = Screen::new();
    screen.world.write("greet.sh", "echo Hello\n");
    screen.world.write("tests/greets.sh", "test \"$(sh greet.sh)\" = \"Hello\"\n");
    screen.world.write("test.sh", TESTS);
    screen.types("/ralph \"greet by name\" --ac \"tests=sh test.sh\"");
    screen.world.write("greet.sh", "echo Hello $1\n");
    screen
}

fn sees_the_change(screen: &Screen) {
    screen.world.write("tests/names.sh", "test \"$(sh greet.sh Ann)\" = \"Hello Ann\"\n");
}

fn whole() -> String {
    let mut screen = unseen();
    screen.stops("RALPH_COMPLETE");
    sees_the_change(&screen);
    screen.stops("RALPH_COMPLETE");
    screen.text()
}

fn tried() -> String {
    let mut screen = Screen::of(unseen().world);
    sees_the_change(&screen);
    screen.runs("ralph try");
    screen.text()
}

fn checkpoints() -> String {
    let mut screen = started();
    screen.world.write("greet.sh", "echo Hello $1\n");
    screen.printed("ralph verify");
    screen.runs("ralph checkpoint");
    screen.text()
}

fn blocked() -> String {
    let mut screen = started();
    let said = screen.world.ralph(&["blocked", "Create an API key and put it into .env"]);
    assert!(said.success, "{said:?}");
    screen.show("$ ralph blocked 'Create an API key and put it into .env'\n");
    screen.show(&said.text);
    screen.stops("A key is missing.");
    screen.text()
}

#[test]
fn the_guide_to_evidence_shows_what_appears() {
    check("docs/evidence.md");
}
