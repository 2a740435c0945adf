//! A project that is larger than most: what an edit costs there.

use crate::Test;
use crate::project::{Project, module};
use crate::typescript::ALL;

pub(crate) const TESTS: &[Test] =
    tests![the_second_edit_in_two_thousand_files_is_answered_at_once_and_checked_within_the_budget];

const FILES: usize = 2_000;

/// Functions in each file.
const PARTS: usize = 6;

/// After that the client ends the hook, and the model hears nothing.
const HOOK_TIMEOUT: f64 = 15.0;

fn the_second_edit_in_two_thousand_files_is_answered_at_once_and_checked_within_the_budget() {
    let modules: Vec<(String, String)> =
        (0..FILES).map(|n| (format!("src/m{n}.ts"), module(n, PARTS))).collect();
    let modules = modules.iter().map(|(path, text)| (path.as_str(), text.as_str()));
    let files: Vec<(&str, &str)> = ALL.into_iter().chain(modules).collect();
    let project = Project::of_node(&files).looping();
    let edit = |n: usize| format!("{}export const late: Late{n} = {n};\n", module(1_500, PARTS));
    let first = project.write("src/m1500.ts", &edit(1)).came_within(HOOK_TIMEOUT);
    project.late();
    let second = project.write("src/m1500.ts", &edit(2)).came_within(HOOK_TIMEOUT);
    let late = project.late();
    let is_busy = load() > 2.0 * cores();
    let result = match is_busy {
        true => "not judged: the machine is busy",
        false => "within 3 s",
    };
    println!(
        "\nproof | backpressure 2,000 files | {:.1} s first edit, {:.1} s second | {result}",
        first.took.as_secs_f64(),
        second.took.as_secs_f64()
    );
    if !is_busy {
        late.says(&["TS2304 (tsc): Cannot find name 'Late2'"]).says_nothing_of(&["did not finish"]);
        // Node starts twice for the fixers.
        second.came_within(3.0);
    }
}

/// How many processes want to run, over the last minute.
fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or_default()
}

fn cores() -> f64 {
    std::thread::available_parallelism().map_or(2.0, |n| n.get() as f64)
}
